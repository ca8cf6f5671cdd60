package policy

import (
	"cmp"

	"github.com/google/btree"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// oneRule is the weight of a rule. With n peers it weighs 1/n for each. What rules have in common is worth rows of its own if it weighs
// more than one rule: if more than n rules with n peers have it. So fewer rows are shared than there are rules, and a rule whose peers are
// all shared has none of its own.
const oneRule = 1 << 32

// use is something that one rule allows to its subject.
type use struct {
	what  intent.SetID // see intent.SharedSet
	of    intent.SetID // what tells rules apart: equal ones count once
	among int          // how many peers the rule has
}

// compare orders uses by what is used.
func (u use) compare(v use) int {
	return cmp.Or(cmp.Compare(u.what, v.what), cmp.Compare(u.of, v.of), cmp.Compare(u.among, v.among))
}

// weight is rounded down, so that n rules with n peers weigh at most one.
func (u use) weight() uint64 { return oneRule / uint64(u.among) } //nolint:gosec // a rule has some peers

// user is a policy with a use.
type user struct {
	use

	policy object.Ref
}

func (u user) less(v user) bool { return cmp.Or(u.compare(v.use), u.policy.Compare(v.policy)) < 0 }

// sharing counts what rules have in common, either peer by peer, where rules with equal lists count once, or what is left of their lists,
// where those with equal subjects do: equal policies share everything already.
type sharing struct {
	users   *btree.BTreeG[user]
	weights map[intent.SetID]*weight // of what is used
}

// weight is how much the rules with something weigh. Its users share its name.
type weight struct {
	what intent.SetID
	sum  uint64
}

// sharingDegree is the degree of the tree: its nodes have about as many users.
const sharingDegree = 32

func newSharing() sharing {
	return sharing{btree.NewG(sharingDegree, user.less), map[intent.SetID]*weight{}}
}

// len counts what is used.
func (s sharing) len() int { return len(s.weights) }

// worth reports whether it is worth rows of its own.
func (s sharing) worth(what intent.SetID) bool {
	w := s.weights[what]
	return w != nil && w.sum > oneRule
}

// replace replaces the uses of a policy, and calls changed for each policy with a use that is now worth rows, or is no longer.
func (s sharing) replace(policy object.Ref, old, now []use, changed func(object.Ref)) {
	was := map[intent.SetID]bool{}
	for _, list := range [][]use{old, now} {
		for _, u := range list {
			was[u.what] = s.worth(u.what)
		}
	}
	for _, u := range old {
		s.remove(user{u, policy})
	}
	for i := range now {
		now[i] = s.add(user{now[i], policy})
	}
	for what, before := range was {
		if before != s.worth(what) {
			s.each(use{what: what}, func(u user) bool {
				if u.what == what {
					changed(u.policy)
				}
				return u.what == what
			})
		}
	}
}

// each calls f with the users of a use, and of those after it, until it returns false.
func (s sharing) each(from use, f func(user) bool) {
	s.users.AscendGreaterOrEqual(user{use: from}, f)
}

// add returns the use as it is kept.
func (s sharing) add(u user) use {
	w := s.weights[u.what]
	if w == nil {
		w = &weight{what: u.what}
		s.weights[u.what] = w
	}
	u.what = w.what
	if !s.has(u.use) {
		w.sum += u.weight()
	}
	s.users.ReplaceOrInsert(u)
	return u.use
}

func (s sharing) remove(u user) {
	if _, had := s.users.Delete(u); !had || s.has(u.use) {
		return
	}
	w := s.weights[u.what]
	if w.sum -= u.weight(); w.sum == 0 {
		delete(s.weights, u.what)
	}
}

// has reports whether some policy has the use.
func (s sharing) has(u use) bool {
	some := false
	s.each(u, func(next user) bool {
		some = next.use == u
		return false
	})
	return some
}
