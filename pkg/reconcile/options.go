package reconcile

import (
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

// What a Loop does where its Options say nothing, and what netloom asks for by default where zero has a meaning.
const (
	DefaultMaxInterval       = 5 * time.Minute
	DefaultRetryMin          = 250 * time.Millisecond
	DefaultRetryMax          = 30 * time.Second
	DefaultMaxDeleteFraction = 0.5
	DefaultMinDeleteGuard    = 20
)

// Options tune a Loop. The zero value plans as often as it is woken, never checks for drift, and refuses deletes.
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

	// MaxDeleteFraction is the largest share of the owned rows that one plan may delete, and of the isolated endpoints
	// that it may open, 0 to 1. A larger plan is refused, because lost permissions look like an empty cluster. Zero
	// refuses every plan that deletes or opens, 1 none.
	MaxDeleteFraction float64
	// MinDeleteGuard is how many rows have to be owned, or endpoints isolated, for the guard to look at them at all.
	// Zero takes the default.
	MinDeleteGuard int

	Log      logrus.FieldLogger // nil discards
	Observer Observer           // nil is nobody
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
