package confirm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/inputs/source"
)

const (
	lateAfter  = 3                // intervals
	secondLook = 10 * time.Second // at what differed: it may have been on its way
	pageSize   = 500              // objects, the number that an informer lists at once
	mostReads  = 16               // for one page, of up to 2 MiB each, see ADR 49
)

// Kind is a kind that an informer or a Reader reads. API.Follow or API.FollowReader makes one. Run is called once; the other methods are safe for concurrent use.
type Kind struct {
	api      *API
	resource string
	list     func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	lw       *cache.ListWatch
	heard    heard

	// These belong to the goroutine that compares.
	held    Held
	after   string    // the last key of the page before
	next    string    // the token of the next page; "" is the first
	suspect suspicion // of the page
	looked  time.Time // when it was read first
	back    bool      // since the API went back, not all pages have been compared

	mu        sync.Mutex
	confirmed time.Time
	fault     error
	renewals  map[source.RenewalCause]int
}

// ListWatch is what the informer has to read with.
func (k *Kind) ListWatch() *cache.ListWatch { return k.lw }

// WentBack reports whether the API went back and not everything that is held has been compared with it since: objects that are
// missing from its lists may never have been deleted.
func (k *Kind) WentBack() bool { return k.heard.isBack() }

// Proof tells how current the objects held are known to be.
func (k *Kind) Proof() source.Proof {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := source.Proof{Resource: k.resource, Confirmed: k.confirmed, Late: lateAfter * k.api.opts.Interval, Renewals: maps.Clone(k.renewals)}
	if k.fault != nil {
		out.Fault = k.fault.Error()
	}
	return out
}

// Run compares what is held with what the API has until ctx ends, about once per interval. An informer has to have listed the
// kind.
func (k *Kind) Run(ctx context.Context, held Held) {
	k.held = held
	wait := k.api.opts.Interval
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(jittered(wait)):
		}
		wait = k.look(ctx)
	}
}

// jittered spreads comparisons, a tenth to each side.
func jittered(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(rand.Int64N(int64(d)/5+1)) //nolint:gosec // no secret
}

// look compares once, and returns when to compare again.
func (k *Kind) look(ctx context.Context) time.Duration {
	began, interval := time.Now(), k.api.opts.Interval
	if k.heard.isBack() && !k.back {
		k.back, k.next, k.suspect, k.looked = true, "", suspicion{}, time.Time{}
	}
	at, promised := k.heard.last()
	if silence := began.Sub(at); promised && silence > lateAfter*interval {
		k.renew(source.RenewalSilent, fmt.Sprintf("the watch has delivered nothing for %s", silence.Round(time.Second)))
	}
	newest, why := k.api.newest(), ""
	fresh, part, err := k.pages(ctx)
	if err == nil {
		why, err = newest.goneBack(ctx, fresh.version)
	}
	switch {
	case ctx.Err() != nil:
		return interval
	case err != nil:
		k.failed(cause.Of(err))
		return interval
	case why != "":
		k.failed(errors.New(why))
		k.api.wentBack(why, nil)
		k.heard.replace(why) // even if it goes back for the second time
		return min(secondLook, interval)
	}
	if !k.compare(began, fresh, part) {
		return min(secondLook, interval)
	}
	k.after, k.next = part.upTo, part.token
	if k.next == "" && k.back {
		k.back = false
		k.heard.caughtUp()
	}
	return interval
}

// compare reports whether a page was compared and matches the objects held. Otherwise it has to be read again.
func (k *Kind) compare(began time.Time, fresh, part *page) bool {
	keys := k.held.ListKeys()
	missing := 0
	if fresh.total >= 0 {
		missing = fresh.total - len(keys)
	}
	found := k.suspect.again(part.differences(keys, k.state), missing)
	switch {
	case found.why != "":
		k.suspect = suspicion{}
		k.failed(errors.New(found.why))
		if found.older {
			k.api.wentBack("the API has gone back: "+found.why, nil)
			k.heard.replace(found.why)
		} else {
			k.renew(source.RenewalDiffers, found.why)
		}
		return false
	case k.suspect.clear():
		k.confirm(began)
	case found.settled && !k.looked.IsZero():
		k.confirm(k.looked)
	default:
		k.looked = began
		return false
	}
	k.looked, k.suspect = time.Time{}, suspicion{}
	return true
}

// state is an object as it is held.
func (k *Kind) state(key string) state {
	o, ok, err := k.held.GetByKey(key)
	if err != nil || !ok {
		return state{}
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return state{}
	}
	return state{m.GetUID(), m.GetResourceVersion()}
}

// renew causes a kind to be listed again, or only its watch to be replaced if that was silent.
func (k *Kind) renew(why source.RenewalCause, message string) {
	k.count(why)
	log := k.api.log.WithField("resource", k.resource)
	if why == source.RenewalSilent {
		log.Warn(message + ": opening another")
		k.heard.replace("")
		return
	}
	log.Warn("the objects read differ from those of the API: " + message + "; reading all objects again")
	k.heard.replace(message)
}

// confirm records that what was held at a time was what the API had.
func (k *Kind) confirm(at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.confirmed, k.fault = at, nil
}

// failed records why a comparison confirmed nothing.
func (k *Kind) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fault = err
}

func (k *Kind) count(why source.RenewalCause) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewals[why]++
}
