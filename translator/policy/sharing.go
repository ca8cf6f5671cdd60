package policy

import (
	"cmp"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// oneRule is the weight of a rule. With n peers it weighs 1/n for each. What rules have in common is worth rows of its own if it weighs
// more than one rule: if more than n rules with n peers have it. So fewer rows are shared than there are rules, and a rule whose peers are
// all shared has none of its own.
const oneRule = 1 << 32

// use is something that one rule allows to its subject.
type use struct {
	what    intent.SetID // see intent.SharedSet
	subject intent.SetID
	among   int // how many peers the rule has
}

// user is a policy with a use.
type user struct {
	use

	policy object.Ref
}

func (u user) compare(o user) int {
	return cmp.Or(cmp.Compare(u.subject, o.subject), cmp.Compare(u.among, o.among), u.policy.Compare(o.policy))
}

// sharing counts what rules have in common. Rules of the same subject with as many peers count once: equal policies share everything
// already.
type sharing map[intent.SetID]*common

// common is what some rules allow.
type common struct {
	users  []user // by subject, each once
	weight uint64
}

// worth reports whether it is worth rows of its own: it weighs enough, and not for one subject alone.
func (s sharing) worth(what intent.SetID) bool {
	c := s[what]
	return c != nil && c.weight > oneRule && c.users[0].subject != c.users[len(c.users)-1].subject
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
	for _, u := range now {
		s.add(user{u, policy})
	}
	for what, before := range was {
		if c := s[what]; c != nil && before != s.worth(what) {
			for _, u := range c.users {
				changed(u.policy)
			}
		}
	}
}

func (s sharing) add(u user) {
	c := s[u.what]
	if c == nil {
		c = &common{}
		s[u.what] = c
	}
	i, found := slices.BinarySearchFunc(c.users, u, user.compare)
	if found {
		return
	}
	if !c.counts(i, u) {
		c.weight += u.weight()
	}
	c.users = slices.Insert(c.users, i, u)
}

func (s sharing) remove(u user) {
	c := s[u.what]
	if c == nil {
		return
	}
	i, found := slices.BinarySearchFunc(c.users, u, user.compare)
	if !found {
		return
	}
	c.users = slices.Delete(c.users, i, i+1)
	if !c.counts(i, u) {
		c.weight -= u.weight()
	}
	if len(c.users) == 0 {
		delete(s, u.what)
	}
}

// counts reports whether another policy has the same use. The place of u among the users is i.
func (c *common) counts(i int, u user) bool {
	return i > 0 && c.users[i-1].use == u.use || i < len(c.users) && c.users[i].use == u.use
}

// weight is rounded down, so that n rules with n peers weigh at most one.
func (u use) weight() uint64 { return oneRule / uint64(u.among) } //nolint:gosec // a rule has some peers
