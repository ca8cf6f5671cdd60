package firewall

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// maxAllowing is how many allow rules of policies one device may have. A device takes about 50 ms to write one.
const maxAllowing = 2000

// Rule is a rule of the firewall that enforces policies.
type Rule struct {
	Firewall openwrt.FirewallRule // its Name is made by Namer.Object for openwrt.FirewallRules
	Intent   string               // the ID of the policy to name if the device rejects the rule; any if it is for several
	Origin   string               // the source objects, for display
	Denies   bool                 // without it, something that a policy denies may pass
}

// writer collects rules. Equal ones are merged.
type writer struct {
	names   section.Namer
	bits    markBits
	marked  []zonePair // packets between these are marked
	crossed []zonePair // packets between these are dropped
	rules   map[string]*Rule
	origins map[string]map[string]bool // by rule
	skips   []backends.Skip
}

func newWriter(names section.Namer, b markBits, zones []string) *writer {
	w := &writer{names: names, bits: b, rules: make(map[string]*Rule), origins: make(map[string]map[string]bool)}
	every := Zone(names).Name
	zones = slices.Compact(slices.Sorted(slices.Values(zones)))
	for _, from := range zones {
		for _, to := range zones {
			if from != every && to != every {
				w.crossed = append(w.crossed, zonePair{from, to})
			}
		}
	}
	w.marked = w.crossed
	if slices.Contains(zones, every) {
		w.marked = []zonePair{{every, every}}
	}
	return w
}

// add adds a rule that is for some policies.
func (w *writer) add(r openwrt.FirewallRule, readable string, policies ...*intent.Policy) {
	content := openwrt.ObjectOf(r)
	r.Name = w.names.Object(openwrt.FirewallRules, fmt.Sprintf("policies %v", content), readable)
	known := w.rules[r.Name]
	if known == nil {
		known = &Rule{Firewall: r, Intent: string(policies[0].ID), Denies: r.Target == "DROP" || w.bits.isolates(r)}
		w.rules[r.Name], w.origins[r.Name] = known, make(map[string]bool)
	}
	for _, p := range policies {
		known.Intent = min(known.Intent, string(p.ID))
		w.origins[r.Name][p.Origin.String()] = true
	}
}

func (w *writer) skip(p *intent.Policy, format string, args ...any) {
	w.skips = append(w.skips, backends.Skip{Intent: string(p.ID), Reason: fmt.Sprintf(format, args...)})
}

// done lists the rules by name.
func (w *writer) done() ([]Rule, []backends.Skip) {
	var out []Rule
	for _, name := range slices.Sorted(maps.Keys(w.rules)) {
		r := w.rules[name]
		r.Origin = strings.Join(slices.Sorted(maps.Keys(w.origins[name])), ", ")
		out = append(out, *r)
	}
	slices.SortStableFunc(w.skips, func(a, b backends.Skip) int { return strings.Compare(a.Intent, b.Intent) })
	return out, w.skips
}

// affordable leaves out the policies that need the most rules, until a device may have the rest.
func (w *writer) affordable(list []*allowance) []*allowance {
	needs, total := make(map[*intent.Policy]int), 0
	for _, a := range list {
		a.each(func(traffic) {
			needs[a.policy] += len(w.marked)
			total += len(w.marked)
		})
	}
	dearest := slices.SortedFunc(maps.Keys(needs), func(p, q *intent.Policy) int {
		return cmp.Or(cmp.Compare(needs[q], needs[p]), strings.Compare(string(p.ID), string(q.ID)))
	})
	for _, p := range dearest {
		if total <= maxAllowing {
			break
		}
		w.skip(p, "it allows nothing: it would need %d rules on the device, and the limit for all policies is %d", needs[p], maxAllowing)
		total -= needs[p]
		list = slices.DeleteFunc(list, func(a *allowance) bool { return a.policy == p })
	}
	return list
}

// isolate marks and drops what is isolated in direction d.
func (w *writer) isolate(d intent.Direction, isolated map[netip.Addr][]*intent.Policy) {
	addrs := slices.SortedFunc(maps.Keys(isolated), netip.Addr.Compare)
	for _, subject := range hosts(addrs) {
		var by []*intent.Policy
		for ; len(addrs) > 0 && subject.Contains(addrs[0]); addrs = addrs[1:] {
			by = append(by, isolated[addrs[0]]...)
		}
		t := traffic{direction: d, subject: subject, ports: portMatch{proto: "all"}}
		w.mark(t, "isolate", w.bits.isolated[d], by...)
		for _, z := range w.crossed {
			r := t.rule(z)
			r.Target, r.Mark = "DROP", fmt.Sprintf("0x0/%#x", w.bits.allowed[d])
			w.add(r, t.title("deny"), by...)
		}
	}
}

// allow marks what an allowance allows.
func (w *writer) allow(a *allowance) {
	a.each(func(t traffic) { w.mark(t, "allow", w.bits.allowed[t.direction], a.policy) })
}

// deny drops what a rule denies, and marks it for rules that a person wrote to accept it.
func (w *writer) deny(a *allowance) {
	a.each(func(t traffic) {
		w.mark(t, "refuse", w.bits.denied, a.policy)
		for _, z := range w.crossed {
			r := t.rule(z)
			r.Target = "DROP"
			w.add(r, t.title("refuse"), a.policy)
		}
	})
}

// mark adds rules that set a bit in the mark of some traffic.
func (w *writer) mark(t traffic, verb string, bit uint32, policies ...*intent.Policy) {
	for _, z := range w.marked {
		r := t.rule(z)
		r.Target, r.SetXMark = "MARK", settingBit(bit)
		w.add(r, t.title(verb), policies...)
	}
}

// allowances returns those of a policy. A rule that the device cannot express allows nothing.
func (w *writer) allowances(
	s *intent.Snapshot, p *intent.Policy, isolated map[netip.Addr][]*intent.Policy,
) (list []*allowance) {
	for i := range p.Rules {
		r := &p.Rules[i]
		ports, why := portMatches(r.Ports)
		switch {
		case r.Action > intent.Allow:
			why = fmt.Sprintf("no action %s", r.Action)
		case r.Peer.Kind > intent.PeerAny:
			why = fmt.Sprintf("no kind %d of peer", r.Peer.Kind)
		}
		if why != "" {
			w.skip(p, "%s allows nothing: the device supports %s", r.Path, why)
			continue
		}
		a := &allowance{policy: p, denies: r.Action == intent.Deny, peers: peerPrefixes(s, r.Peer), ports: ports}
		addrs := subjects(s, p, r)
		if !a.denies {
			addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return isolated[a] == nil })
		}
		a.subjects = hosts(addrs)
		list = append(list, a)
	}
	return list
}
