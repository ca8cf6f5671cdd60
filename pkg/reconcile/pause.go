package reconcile

import "time"

// The bounds of the pause after a commit while changes come faster than they are written.
const (
	// LongestPause is how long after a commit a change waits at most to be written together with others.
	LongestPause = 100 * time.Millisecond
	// shortestPause is the first pause, which two changes that happen to meet cause as well.
	shortestPause = 5 * time.Millisecond
	// stormOver is after how long without a commit the next storm begins without a pause.
	stormOver = time.Second
)

// pause spaces commits in a storm, so that more changes are written together: what has come back by then is not written, and a set is
// written once for all its members that come and go. It counts from the last commit. So a change of an idle target never waits, whoever waits
// for one change before making the next never does, and no target is without a commit for longer than LongestPause and the time of a round
// because of it. All changes wait alike, those that close and those that open. The zero value does not wait.
type pause struct {
	length    time.Duration
	committed time.Time
}

// commit records that a round committed something. Met is whether changes met there: it handled several, or one that came during the round
// before. Then the pause doubles, otherwise a quarter of it goes.
func (p *pause) commit(met bool, now time.Time) {
	if now.Sub(p.committed) > stormOver {
		p.length = 0
	}
	p.committed = now
	switch {
	case met:
		p.length = min(max(2*p.length, shortestPause), LongestPause)
	case p.length >= shortestPause:
		p.length -= p.length / 4
	default:
		p.length = 0
	}
}

// ends returns before when no round begins that a change has asked for.
func (p *pause) ends() time.Time { return p.committed.Add(p.length) }
