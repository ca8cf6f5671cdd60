package policy

import (
	"cmp"

	"github.com/google/btree"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// oneRule is the weight of a rule. A rule with n peers contributes 1/n for each. A part that rules have in common is worth its own rows if
// it weighs more than one rule, that is, if more than n rules with n peers have it. So there are fewer shared rows than rules, and a rule
// whose peers are all shared has no rows of its own.
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

// sharing counts what rules have in common: either peer by peer, where rules with equal lists count once, or by the remainders of their
// lists, where rules with equal subjects count once. Equal policies already share everything.
type sharing struct {
	users   *btree.BTreeG[user]
	weights map[intent.SetID]*weight // of what is used
}

// weight is the total weight of the rules that share a part. Its users have the name of the part.
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

// worth reports whether it is worth its own rows.
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
