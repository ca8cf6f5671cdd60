package daemon

import "time"

// How feedback is written.
const (
	statusGather   = 250 * time.Millisecond // changes within this time are one write
	statusRetryMin = time.Second
	statusRetryMax = 5 * time.Minute
)

// retry is when an object is looked at again after a write that failed.
type retry struct {
	due   time.Time
	pause time.Duration
}
