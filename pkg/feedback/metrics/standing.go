package metrics

import "sync"

// standing is what netloom_problems counts: it is zero only while all objects are understood and all targets are in sync. The zero value
// has neither problems nor targets.
type standing struct {
	mu      sync.Mutex
	objects int
	behind  map[string]bool // targets that are out of sync
	// disturbed are the targets that others changed, until that is repaired: rounds do not bring them in sync.
	disturbed map[string]bool
	// blind are the targets whose changes by others cannot be seen.
	blind map[string]bool
	set   func(float64) // the gauge
}

// found sets the number of problems with objects.
func (s *standing) found(objects int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = objects
	s.count()
}

// count sets the gauge. The lock is held.
func (s *standing) count() { s.set(float64(s.objects + len(s.behind))) }

// inSync records whether a target is in sync with a snapshot.
func (m *Metrics) inSync(target string, yes bool) {
	s := &m.standing
	s.mu.Lock()
	defer s.mu.Unlock()
	if yes && !s.disturbed[target] && !s.blind[target] {
		m.up.WithLabelValues(target).Set(1)
		delete(s.behind, target)
	} else {
		m.up.WithLabelValues(target).Set(0)
		s.behind[target] = true
	}
	s.count()
}

// unwatched removes a target that is no longer observed.
func (m *Metrics) unwatched(target string) {
	s := &m.standing
	s.mu.Lock()
	defer s.mu.Unlock()
	m.up.DeleteLabelValues(target)
	m.contested.DeleteLabelValues(target)
	delete(s.behind, target)
	delete(s.disturbed, target)
	delete(s.blind, target)
	s.count()
}

// disturb records that others changed a target, or that this is repaired: the next round in sync ends it.
func (m *Metrics) disturb(target string, yes bool) { m.unsettle(m.standing.disturbed, target, yes) }

// unsettle puts a target into a set of targets that rounds do not bring in sync, or removes it.
func (m *Metrics) unsettle(in map[string]bool, target string, yes bool) {
	s := &m.standing
	s.mu.Lock()
	if yes {
		in[target] = true
	} else {
		delete(in, target)
	}
	s.mu.Unlock()
	if yes {
		m.inSync(target, false)
	}
}
