package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/google/btree"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// oneRule is the weight of a rule. A rule with n peers contributes 1/n for each. A part that rules have in common is worth its own rows if
// it weighs more than one rule, that is, if more than n rules with n peers have it. So there are fewer shared rows than rules, and a rule
// whose peers are all shared has no rows of its own.
const oneRule = 1 << 32

// use is something that one policy allows to its subject.
type use struct {
	what  intent.SetID // see intent.SharedSet
	among int          // how many peers the rule has
	turn  uint32       // see turnOf; zero for a short list
	of    intent.SetID // uses of the same are equal: the list of a peer, the subject of a remainder
}

// wholeOf is the use of what a rule allows, or of what is left of it, by one of its subjects. It is worth sharing if policies with different
// subjects have it. Policies with the same one share what they have anyway, so a further one weighs little; but when there are many, no
// single one with another subject decides for all of them.
func wholeOf(subject, what intent.SetID) use {
	return use{what: what, among: 1, turn: math.MaxUint32, of: subject}
}

// again is how many further policies with the same subject weigh as much as the first.
const again = 8

// Rules come in classes by the length of their lists: up to 1, 2, 4, 8 … peers. What weighs for a rule are the lists that are not much
// shorter than its own, so that a change of a short list leaves long ones as they are: a change must cost no more than it has itself.
const (
	shorter = 2 // how many classes below its own weigh for a rule
	// exact are the classes in which all rules are divided at once when a part is worth it. There are at most as many of these as they have
	// peers, which are few. Longer lists take turns.
	exact = 2
)

// classOf returns the class of a list.
func classOf(among int) int { return bits.Len(uint(among - 1)) }

// turnOf derives the turn of a policy from what others cannot choose at will. It is the weight, beyond one rule, that a part has to exceed to
// be worth it for a long list: while many policies come, and a part goes from one rule to two, their lists are divided one by one. If all
// of them were at once, the next policy could undo that, and each change would cost as much as all policies together.
func turnOf(text string) uint32 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint32(sum[:])
}

// needs is the weight that a part has to exceed to be worth it for u: less than two rules.
func (u use) needs() uint64 { return oneRule + uint64(u.turn) }

// user is a policy with a use.
type user struct {
	use

	policy object.Ref
}

// less orders users of one part one after the other. It compares no more than it has to: it is called a dozen times for each use.
func (u user) less(v user) bool {
	if u.what != v.what {
		return u.what < v.what
	}
	if a, b := classOf(u.among), classOf(v.among); a != b {
		return a < b
	}
	if u.turn != v.turn {
		return u.turn < v.turn
	}
	if u.of != v.of {
		return u.of < v.of
	}
	return u.policy.Compare(v.policy) < 0
}

// sharing counts what the rules of policies have in common. A policy has a use once.
type sharing struct {
	again   uint64 // equal uses beyond the first weigh this part of it; zero if nothing
	users   *btree.BTreeG[user]
	weights map[intent.SetID]*weight // of what is used
}

// weight is what the rules weigh that share a part. Its users have the name of the part.
type weight struct {
	what  intent.SetID
	users int
	sums  []uint64 // by class
}

// of returns what weighs for the rules of a class.
func (w *weight) of(class int) uint64 {
	sum := uint64(0)
	if w != nil {
		for i := max(0, class-shorter); i < len(w.sums); i++ {
			sum += w.sums[i]
		}
	}
	return sum
}

// sharingDegree is the degree of the tree: its nodes have about as many users.
const sharingDegree = 32

func newSharing(again uint64) sharing {
	return sharing{again, btree.NewG(sharingDegree, user.less), map[intent.SetID]*weight{}}
}

// len counts what is used.
func (s sharing) len() int { return len(s.weights) }

// worth reports whether it is worth its own rows for one of its users.
func (s sharing) worth(u use) bool { return s.weights[u.what].of(classOf(u.among)) > u.needs() }

// replace replaces the uses of a policy, and calls changed for each user of what is now worth rows for it, or is no longer, in an order that
// depends on the uses alone, of a class until that returns false. It returns the new ones as they are kept.
func (s sharing) replace(policy object.Ref, old, now []use, changed func(user) bool) []use {
	if slices.Equal(old, now) {
		return old
	}
	was := make([]weight, 0, len(old)+len(now))
	for _, list := range [][]use{old, now} {
		for _, u := range list {
			before := weight{what: u.what}
			if w := s.weights[u.what]; w != nil {
				before.sums = slices.Clone(w.sums)
			}
			was = append(was, before)
		}
	}
	slices.SortFunc(was, func(a, b weight) int { return cmp.Compare(a.what, b.what) })
	was = slices.CompactFunc(was, func(a, b weight) bool { return a.what == b.what })
	for _, u := range old {
		s.remove(user{u, policy})
	}
	for i := range now {
		now[i] = s.add(user{now[i], policy})
	}
	for i := range was {
		s.tell(&was[i], changed)
	}
	return now
}

// tell calls changed for the users that need a weight between what some part had before and what it has now.
func (s sharing) tell(before *weight, changed func(user) bool) {
	what, after := before.what, s.weights[before.what]
	if after == nil {
		return // no user is left
	}
	for class := range after.sums {
		was, is := before.of(class), after.of(class)
		least, most := max(min(was, is), oneRule), max(was, is)
		if least >= 2*oneRule || most <= oneRule {
			continue // it is as worth it as before, for every turn
		}
		from := user{use: use{what: what, among: 1 << class, turn: uint32(least - oneRule)}}
		s.users.AscendGreaterOrEqual(from, func(u user) bool {
			return u.what == what && classOf(u.among) == class && u.needs() < most && changed(u)
		})
	}
}

// add returns the use as it is kept.
func (s sharing) add(u user) use {
	w := s.weights[u.what]
	if w == nil {
		w = &weight{what: u.what}
		s.weights[u.what] = w
	}
	u.what = w.what
	class := classOf(u.among)
	for len(w.sums) <= class {
		w.sums = append(w.sums, 0)
	}
	w.sums[class] += s.weightOf(u.use)
	w.users++
	s.users.ReplaceOrInsert(u)
	return u.use
}

func (s sharing) remove(u user) {
	if _, had := s.users.Delete(u); !had {
		return
	}
	w := s.weights[u.what]
	w.sums[classOf(u.among)] -= s.weightOf(u.use)
	if w.users--; w.users == 0 {
		delete(s.weights, u.what)
	}
}

// weightOf returns what one more policy with a use weighs. It is rounded down, so that n rules with n peers weigh at most one.
func (s sharing) weightOf(u use) uint64 {
	w := oneRule / uint64(u.among) //nolint:gosec // a rule has some peers
	switch {
	case !s.has(u):
		return w
	case s.again == 0:
		return 0
	default:
		return w / s.again
	}
}

// has reports whether some policy has the use.
func (s sharing) has(u use) bool {
	some := false
	s.users.AscendGreaterOrEqual(user{use: u}, func(next user) bool {
		some = next.use == u
		return false
	})
	return some
}
