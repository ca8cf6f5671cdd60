package openwrt

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// The order of routing rules. The kernel evaluates them by priority, those of one priority in the order in which they were made, and puts one
// without a priority before the first. What was made first differs between the replicas of a CNF, so it must not decide: each rule of an intent
// has a priority, no two rules with the same one contradict each other, and the rules of applications, for which the device takes no priority,
// come before all others, see behind.

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
	kernelRule
	of       string // the ID of the intent
	chosen   bool   // its priority was chosen here
	from, to netip.Prefix
	value    uint64 // of marks that it matches
	mask     uint64
}

func newRanked(w *wanted, chosen bool) *ranked {
	r := &ranked{kernelRule: rulesOf(w.kind, w.object)[0], of: w.intent, chosen: chosen}
	r.from, r.to = selected(r.src), selected(r.dst)
	value, mask, masked := strings.Cut(r.mark, "/")
	r.value, _ = strconv.ParseUint(value, 0, 64) // "" is 0: the kernel takes the mark 0 as any
	if r.value != 0 {
		r.mask = 1<<32 - 1
	}
	if masked {
		r.mask, _ = strconv.ParseUint(mask, 0, 64) // checked by markWord
	}
	return r
}

// selected parses a prefix as prefixName formats it. "" is every address.
func selected(text string) netip.Prefix {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// meets reports whether a packet can match both rules.
func (r *ranked) meets(o *ranked) bool {
	switch {
	case r.not && o.not:
		return true
	case r.not:
		return !r.selects(o)
	case o.not:
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
	return r.table == o.table && r.mark == o.mark && (r.src == "" || r.src == o.src) && (r.dst == "" || r.dst == o.dst)
}

// precedence is the routing rules of a CNF's intents, in the order of their IDs.
type precedence struct {
	same   map[uint64][]*ranked // by priority
	chosen []*ranked            // those whose priority was chosen here
	among  []*ranked            // the others whose priority is between those
}

// conflict returns why a rule must not have its priority; nil if it may.
func (p *precedence) conflict(r *ranked) error {
	if len(p.same[r.prio]) >= mostSections {
		return fmt.Errorf("priority %d: %d rules have it, and the device takes no more", r.prio, mostSections)
	}
	for _, o := range p.same[r.prio] {
		why := ""
		switch {
		case r.kernelRule == o.kernelRule:
			continue // one place, which only one can have
		case r.table != o.table && r.meets(o):
			why = fmt.Sprintf("both can match a packet, for the tables %s and %s, so that the order in which they are created would decide", r.table, o.table)
		case r.mistaken(o) || o.mistaken(r):
			why = "the kernel takes them for one rule, although they match different packets"
		default:
			continue
		}
		return fmt.Errorf("%s has priority %d too: %s; give one of them another spec.prio", o.of, r.prio, why)
	}
	return nil
}

// add takes in a rule, and reports the rules of which only a priority that was chosen here decides which applies.
func (p *precedence) add(r *ranked) []backends.Skip {
	if p.same == nil {
		p.same = map[uint64][]*ranked{}
	}
	p.same[r.prio] = append(p.same[r.prio], r)
	var out []backends.Skip
	report := func(of, other *ranked) {
		if of.table == other.table || !of.meets(other) {
			return
		}
		first := of
		if other.prio < of.prio {
			first = other
		}
		out = append(out, backends.Skip{Intent: of.of, InEffect: true, Reason: fmt.Sprintf(
			"it has no spec.prio, and %s can match the same packets for another table: on every replica, %s is evaluated first, by a number that netloom chose; "+
				"set spec.prio to decide this", other.of, first.of)})
	}
	for _, o := range p.chosen {
		if r.chosen {
			report(r, o)
		} else if r.prio >= firstDefault && r.prio <= lastDefault {
			report(o, r)
		}
	}
	switch {
	case r.chosen:
		for _, o := range p.among {
			report(r, o)
		}
		p.chosen = append(p.chosen, r)
	case r.prio >= firstDefault && r.prio <= lastDefault:
		p.among = append(p.among, r)
	}
	return out
}

// behind finds the applications that the kernel does not evaluate first, by the rules that it has for each: a rule that is not an
// application's comes before one of theirs. What has no priority is put before the first rule, so writing an application again puts it there.
func (k *kernel) behind(h *inventory, of map[kernelRule]key, tables map[kernelRule]string) map[key]latecomer {
	var first kernelRule
	for r := range k.rules {
		like := kernelRule{prio: r.prio, src: r.src, table: orWord(r.table, tables[r])}
		single := selected(r.src).IsSingleIP()
		if r.prio == 0 || like.table == cnfTable && single && r.is(like) {
			continue // nothing can be before it, or it is as those of applications
		}
		if first.prio == 0 || r.prio < first.prio || r.prio == first.prio && r.String() < first.String() {
			first = r
		}
	}
	out := map[key]latecomer{}
	for r, at := range of {
		if at.kind != openwrt.Applications || first.prio == 0 || r.prio < first.prio || h.objects[at] == nil {
			continue
		}
		seen := min(k.rules[r].readings, k.rules[first].readings)
		if had, ok := out[at]; !ok || seen > had.seen {
			out[at] = latecomer{"the device has it, but the kernel evaluates another rule before it: " + first.String(), seen}
		}
	}
	return out
}

// latecomer is why an object comes too late in the order of the kernel.
type latecomer struct {
	why  string
	seen int // how many readings showed it
}
