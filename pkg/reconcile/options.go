package reconcile

import (
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/object"
)

// The defaults of a Loop, and those of netloom for options whose zero value has a meaning.
const (
	DefaultMaxInterval       = 5 * time.Minute
	DefaultRetryMin          = 250 * time.Millisecond
	DefaultRetryMax          = 30 * time.Second
	DefaultMaxDeleteFraction = 0.5
	DefaultMinDeleteGuard    = 3
)

// Options tune a Loop. The zero value plans as often as it is woken, never checks for drift, and keeps the rows
// of objects that were missing from the source when it began.
type Options struct {
	Target string // what the target is called in logs, metrics and status

	// MinInterval is the least time between the end of a round and the start of the next. Zero is no pause: whatever
	// happened during a round is then one next round.
	MinInterval time.Duration
	// MaxInterval is how long after a plan from read-back the next one is due, woken or not. Zero never checks for drift.
	MaxInterval time.Duration
	// RetryMin and RetryMax bound the pause after an error: it starts at RetryMin and doubles up to RetryMax. Zero takes
	// the default.
	RetryMin, RetryMax time.Duration

	// MaxDeleteFraction is the largest share, 0 to 1, of the objects of a kind that may be missing from the source when a
	// run begins, of those that the target has rows of. Beyond it their rows are kept, because a source that cannot be
	// read looks like an empty one. Zero keeps the rows of any, 1 of none.
	MaxDeleteFraction float64
	// MinDeleteGuard is how many objects of a kind must have rows in the target for the share to apply. Zero takes the
	// default.
	MinDeleteGuard int

	// Known reports whether the source has an object, even if it could not be translated; nil takes those that the snapshot has something of.
	Known func(object.Ref) bool
	// Unreadable reports whether part of the source cannot be read, so that any object may be declared there: then whatever is
	// missing when a run begins is kept, however little it is. Nil is never.
	Unreadable func() bool

	Log      logrus.FieldLogger // nil discards
	Observer Observer           // nil is none
}

// withDefaults fills in what the zero value leaves open.
func (o Options) withDefaults() Options {
	if o.RetryMin <= 0 {
		o.RetryMin = DefaultRetryMin
	}
	if o.RetryMax <= 0 {
		o.RetryMax = DefaultRetryMax
	}
	o.RetryMax = max(o.RetryMax, o.RetryMin)
	if o.MinDeleteGuard <= 0 {
		o.MinDeleteGuard = DefaultMinDeleteGuard
	}
	if o.Log == nil {
		discard := logrus.New()
		discard.SetOutput(io.Discard)
		o.Log = discard
	}
	o.Log = o.Log.WithField("target", o.Target)
	if o.Observer == nil {
		o.Observer = Observers{}
	}
	return o
}
