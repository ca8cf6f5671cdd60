package openwrt

import (
	"maps"
	"sync"
	"time"
)

// A list that does not arrive, from a device that answers other requests, is one of a package that is too large for it: each attempt ends a
// daemon of the device, without which nothing works for some seconds. So such a package is left alone for a while, whatever the interval of
// read-backs, and for good if nothing of this owner is there.

const (
	// firstRest is how long a package is left alone after the first attempt. Each further attempt doubles it, up to longestRest.
	firstRest   = time.Minute
	longestRest = 32 * time.Minute
)

const restReason = "not read for now: the device did not return the list in time, as it does when a package is too large for it"

// rests are the packages of a device that are left alone, by module. Several backends of one device may share them.
type rests struct {
	mu  sync.Mutex
	run string // of the pod: after a restart, the device has no packages
	of  map[string]*rest
}

// rest is how long a package is left alone, and whether that is over.
type rest struct {
	lasts time.Duration
	over  bool
}

func newRests() *rests { return &rests{of: map[string]*rest{}} }

// begin forgets what was known of another run of the pod.
func (r *rests) begin(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != run {
		r.run = run
		clear(r.of)
	}
}

// has reports whether a module is left alone now. Without needed, it is left alone until something is needed there.
func (r *rests) has(module string, needed bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.of[module]
	return one != nil && (!needed || !one.over)
}

// leaveAlone begins a rest of a module and returns how long it is.
func (r *rests) leaveAlone(module string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	lasts := firstRest
	if before := r.of[module]; before != nil {
		lasts = min(2*before.lasts, longestRest)
	}
	one := &rest{lasts: lasts}
	r.of[module] = one
	time.AfterFunc(lasts, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		one.over = true
	})
	return lasts
}

// settle forgets the rests of modules that could be read.
func (r *rests) settle(resting map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.of, func(module string, _ *rest) bool { return resting[module] == "" })
}
