package render

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
)

// The order of routing rules. The kernel evaluates them by priority, those of one priority in the order in which they were made, and puts one
// without a priority before the first. What was made first differs between the replicas of a CNF, so it must not decide: each rule of an intent
// has a priority, no two rules with the same one contradict each other, and the rules of applications, for which the device takes no priority,
// come before all others, see package kernel.

// Rules without a priority get one from this range. It is before the rules of mwan3, which begin at 1001, since that is where the kernel would
// put a rule without a priority.
const (
	firstDefault = 200
	lastDefault  = 999
)

// defaultPriorities chooses the priorities of routing rules without one. They depend only on the IDs of these rules, as long as there is no
// collision, and on nothing but the intents. A rule for which none is left is not in the result.
func defaultPriorities(intents []*intent.DeviceIntent) map[intent.DeviceIntentID]int {
	const slots = lastDefault - firstDefault + 1
	taken := map[int]bool{}
	var without []*intent.DeviceIntent
	for _, e := range intents {
		switch s, ok := e.Spec.(*intent.RouteRule); {
		case !ok || e.Gone:
		case s.Priority == 0:
			without = append(without, e)
		case s.Priority >= firstDefault && s.Priority <= lastDefault:
			taken[s.Priority] = true
		}
	}
	out := map[intent.DeviceIntentID]int{}
	for _, e := range without {
		if len(taken) == slots {
			break
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(e.ID)) // never fails
		at := int(h.Sum32() % slots)
		for taken[firstDefault+at] {
			at = (at + 1) % slots
		}
		taken[firstDefault+at], out[e.ID] = true, firstDefault+at
	}
	return out
}

// ranked is a routing rule of an intent.
type ranked struct {
	kernel.Rule
	of       string // the ID of the intent
	chosen   bool   // its priority was chosen here
	from, to netip.Prefix
	value    uint64 // of marks that it matches
	mask     uint64
}

func newRanked(w *Wanted, chosen bool) *ranked {
	r := &ranked{Rule: kernel.RulesOf(w.Kind, w.Object)[0], of: w.Intent, chosen: chosen}
	r.from, r.to = kernel.Selected(r.Src), kernel.Selected(r.Dst)
	value, mask, masked := strings.Cut(r.Mark, "/")
	r.value, _ = strconv.ParseUint(value, 0, 64) // "" is 0: the kernel takes the mark 0 as any
	if r.value != 0 {
		r.mask = 1<<32 - 1
	}
	if masked {
		r.mask, _ = strconv.ParseUint(mask, 0, 64) // checked by markWord
	}
	return r
}

// meets reports whether a packet can match both rules.
func (r *ranked) meets(o *ranked) bool {
	switch {
	case r.Not && o.Not:
		return true
	case r.Not:
		return !r.selects(o)
	case o.Not:
		return !o.selects(r)
	default:
		return r.from.Overlaps(o.from) && r.to.Overlaps(o.to) && (r.value^o.value)&r.mask&o.mask == 0
	}
}

// selects reports whether the selectors of r match every packet that those of o match.
func (r *ranked) selects(o *ranked) bool {
	covers := func(a, b netip.Prefix) bool { return a.Bits() <= b.Bits() && a.Contains(b.Addr()) }
	return covers(r.from, o.from) && covers(r.to, o.to) && r.mask&^o.mask == 0 && (r.value^o.value)&r.mask == 0
}

// mistaken reports whether the kernel rejects r while it has o: it compares only the addresses that r names, and not whether a rule is
// inverted.
func (r *ranked) mistaken(o *ranked) bool {
	return r.Table == o.Table && r.Mark == o.Mark && (r.Src == "" || r.Src == o.Src) && (r.Dst == "" || r.Dst == o.Dst)
}

// precedence is the routing rules of a CNF's intents, in the order of their IDs.
type precedence struct {
	same   map[uint64][]*ranked // by priority
	chosen []*ranked            // those whose priority was chosen here
	among  []*ranked            // the others whose priority is between those
}

// conflict returns why a rule must not have its priority; nil if it may.
func (p *precedence) conflict(r *ranked) error {
	if len(p.same[r.Prio]) >= section.MostSections {
		return fmt.Errorf("priority %d: %d rules have it, and the device takes no more", r.Prio, section.MostSections)
	}
	for _, o := range p.same[r.Prio] {
		why := ""
		switch {
		case r.Rule == o.Rule:
			continue // one place, which only one can have
		case r.Table != o.Table && r.meets(o):
			why = fmt.Sprintf("both can match a packet, for the tables %s and %s, so that the order in which they are created would decide", r.Table, o.Table)
		case r.mistaken(o) || o.mistaken(r):
			why = "the kernel takes them for one rule, although they match different packets"
		default:
			continue
		}
		return fmt.Errorf("%s has priority %d too: %s; give one of them another spec.prio", o.of, r.Prio, why)
	}
	return nil
}

// add takes in a rule, and reports the rules of which only a priority that was chosen here decides which applies.
func (p *precedence) add(r *ranked) []backends.Skip {
	if p.same == nil {
		p.same = map[uint64][]*ranked{}
	}
	p.same[r.Prio] = append(p.same[r.Prio], r)
	var out []backends.Skip
	report := func(of, other *ranked) {
		if of.Table == other.Table || !of.meets(other) {
			return
		}
		first := of
		if other.Prio < of.Prio {
			first = other
		}
		out = append(out, backends.Skip{Intent: of.of, InEffect: true, Reason: fmt.Sprintf(
			"it has no spec.prio, and %s can match the same packets for another table: on every replica, %s is evaluated first, by a number that netloom chose; "+
				"set spec.prio to decide this", other.of, first.of)})
	}
	for _, o := range p.chosen {
		if r.chosen {
			report(r, o)
		} else if r.Prio >= firstDefault && r.Prio <= lastDefault {
			report(o, r)
		}
	}
	switch {
	case r.chosen:
		for _, o := range p.among {
			report(r, o)
		}
		p.chosen = append(p.chosen, r)
	case r.Prio >= firstDefault && r.Prio <= lastDefault:
		p.among = append(p.among, r)
	}
	return out
}
