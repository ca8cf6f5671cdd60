package policy

import (
	"fmt"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

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

// user is a policy with a use.
type user struct {
	use

	policy object.Ref
}

// key orders users by their uses.
func (u user) key() []byte {
	return fmt.Appendf(u.use.key(), "%s\x00%s\x00%s", u.policy.Kind, u.policy.Namespace, u.policy.Name)
}

// key is the beginning of the keys of all users with the same use.
func (u use) key() []byte { return fmt.Appendf(nil, "%s\x00%d\x00", u.of, u.among) }

// sharing counts what rules have in common, either peer by peer, where rules with equal lists count once, or what is left of their lists,
// where those with equal subjects do: equal policies share everything already.
type sharing map[intent.SetID]*common

// common is what some rules allow.
type common struct {
	users  *iradix.Tree[user] // by key
	weight uint64
}

// worth reports whether it is worth rows of its own.
func (s sharing) worth(what intent.SetID) bool {
	c := s[what]
	return c != nil && c.weight > oneRule
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
			c.users.Root().Walk(func(_ []byte, u user) bool {
				changed(u.policy)
				return false
			})
		}
	}
}

func (s sharing) add(u user) {
	c := s[u.what]
	if c == nil {
		c = &common{users: iradix.New[user]()}
		s[u.what] = c
	}
	counts := !c.has(u.use)
	c.users, _, _ = c.users.Insert(u.key(), u)
	if counts {
		c.weight += u.weight()
	}
}

func (s sharing) remove(u user) {
	c := s[u.what]
	if c == nil {
		return
	}
	users, _, had := c.users.Delete(u.key())
	if !had {
		return
	}
	if c.users = users; !c.has(u.use) {
		c.weight -= u.weight()
	}
	if users.Len() == 0 {
		delete(s, u.what)
	}
}

// has reports whether some policy has the use.
func (c *common) has(u use) bool {
	of := c.users.Root().Iterator()
	of.SeekPrefix(u.key())
	_, _, some := of.Next()
	return some
}

// weight is rounded down, so that n rules with n peers weigh at most one.
func (u use) weight() uint64 { return oneRule / uint64(u.among) } //nolint:gosec // a rule has some peers
