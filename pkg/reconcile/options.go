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
	// LongestInterval bounds how much Spare extends the interval.
	LongestInterval = 10 * time.Minute
)

// Options configure a Loop. The zero value plans as often as it is woken, never checks for drift, and keeps the rows of
// objects that were missing from the source when it began.
type Options struct {
	Target string // the target's name in logs, metrics and status

	// MinInterval is the minimum time between the end of a round and the start of the next. Zero means that a
	// change does not wait, except in a storm: once changes meet, the next round begins up to LongestPause after the last commit.
	MinInterval time.Duration
	// MaxInterval is the time between two plans from a read-back, woken or not. Zero never checks for drift.
	MaxInterval time.Duration
	// Spare spares a target that is slow. MaxInterval becomes Spare times as long as the last plan from a read-back took if that is more,
	// but not more than LongestInterval; and after a plan that failed, the pause is at least as long as that took. Zero spares none. Changes
	// are not delayed, except after a failure.
	Spare int
	// RetryMin and RetryMax bound the pause after an error: it starts at RetryMin and doubles up to RetryMax. Zero is the
	// default.
	RetryMin, RetryMax time.Duration

	// MaxDeleteFraction is the largest share, 0 to 1, of the objects of a kind with rows in the target that may be
	// missing from the source when a run begins. Beyond it their rows are kept, because a source that cannot be read
	// looks like an empty one. With zero all rows are kept, with 1 none.
	MaxDeleteFraction float64
	// MinDeleteGuard is how many objects of a kind must have rows in the target for the share to apply, except for the last
	// policies of their kind: they are kept. Zero is the default.
	MinDeleteGuard int

	// Known reports whether the source has an object, even if it could not be translated; nil knows the objects in the
	// snapshot.
	Known func(object.Ref) bool
	// Unreadable reports whether part of the source cannot be read, so that any object may be declared there: then all objects that are
	// missing when a run begins are kept, however few. Nil means never.
	Unreadable func() bool
	// Unlisted reports whether objects of a kind have not been listed since the start: then all objects of that kind that are missing when
	// a run begins are kept. Nil means never.
	Unlisted func(kind string) bool

	// Settings are those that decide on the rows of the target, by key, which a target that can keep them is to keep: see
	// backends.Recorder. Nil records nothing.
	Settings map[string]string

	Log      logrus.FieldLogger // nil discards
	Observer Observer           // nil means none
}

// withDefaults replaces zero values by their defaults.
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
