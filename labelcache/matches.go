package labelcache

import (
	"math/bits"
	"slices"
	"strings"
)

// Matches is how many endpoints a term matches, rounded up to a power of two that is at least leastMatches, so that it seldom
// changes; 0 is none.
type Matches struct {
	Term      string // see Term.ID
	Endpoints int
}

// leastMatches is what one matched endpoint is rounded up to.
const leastMatches = 64

// Matches returns the terms for which that number is another one than when it was last called, ordered by ID. A term that is no
// longer part of any set is not reported.
func (c *Cache) Matches() []Matches {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Matches
	for _, t := range c.resized {
		t.resized = false
		if now := rounded(t.matches); now != t.reported && c.termByID[t.id] == t {
			t.reported = now
			out = append(out, Matches{t.id, now})
		}
	}
	c.resized = nil
	slices.SortFunc(out, func(a, b Matches) int { return strings.Compare(a.Term, b.Term) })
	return out
}

// Matching returns that number of a term as Matches last reported it; 0 if it has not.
func (c *Cache) Matching(term string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.termByID[term]; t != nil {
		return t.reported
	}
	return 0
}

// matched records that an endpoint more matches t, or one less if by is -1.
func (c *Cache) matched(t *term, by int) {
	t.matches += by
	if !t.resized && rounded(t.matches) != t.reported {
		t.resized = true
		c.resized = append(c.resized, t)
	}
}

func rounded(n int) int {
	switch {
	case n == 0:
		return 0
	case n <= leastMatches:
		return leastMatches
	default:
		return 1 << bits.Len(uint(n-1))
	}
}
