package intent

import "slices"

// Ahead is the beginning of a set that no policy of the snapshot refers to, because the policy that needs it is still to come. A target
// may write it in advance, so that little is left to write once the policy is there. It has no meaning for verdicts.
type Ahead struct {
	Set   *Set // with all of its prefixes, but without members
	Ready int  // how many of its prefixes to write, from the first on
}

// Ahead lists the beginnings of sets of later snapshots. The list must not be changed.
func (s *Snapshot) Ahead() []Ahead { return s.ahead }

// SetAhead replaces the beginnings of sets of later snapshots. The list must not be changed afterwards.
func (b *Builder) SetAhead(list []Ahead) {
	b.ahead = list
	b.change.Ahead = !sameAhead(list, b.from.ahead)
}

// sameAhead reports whether two lists announce the same.
func sameAhead(a, b []Ahead) bool {
	return slices.EqualFunc(a, b, func(x, y Ahead) bool { return x.Set.ID == y.Set.ID && x.Ready == y.Ready })
}
