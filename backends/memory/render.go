package memory

import (
	"fmt"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// renderSet renders a set as a row; nil has none.
func renderSet(set *intent.Set) []Row {
	if set == nil {
		return nil
	}
	addresses, members, prefixes := []string{}, []string{}, []string{}
	if set.Members != nil {
		for e := range set.Members.All() {
			members = append(members, e.Key.String())
		}
	}
	for _, a := range set.Addrs() {
		addresses = append(addresses, a.String())
	}
	for _, p := range set.Prefixes {
		prefixes = append(prefixes, p.String())
	}
	return []Row{{Kind: kindSet, Name: setName(set.ID), Fields: backends.Fields{
		"addresses": canonical(addresses),
		"members":   canonical(members),
		"prefixes":  canonical(prefixes),
	}}}
}

// renderPolicy renders a policy as rows for its rules, and one for its denials if they are logged. Traffic without a row is not allowed;
// the skips list what the policy requested beyond that.
func renderPolicy(p *intent.Policy) ([]Row, []backends.Skip) {
	if p == nil {
		return nil, nil
	}
	var rows []Row
	var skips []backends.Skip
	for i := range p.Rules {
		r := &p.Rules[i]
		fields, err := renderRule(p, i)
		if err != nil {
			skips = append(skips, backends.Skip{Intent: string(p.ID), Reason: fmt.Sprintf("%s: %v", r.Path, err)})
		}
		if fields != nil {
			rows = append(rows, Row{Kind: kindRule, Name: ruleName(p.ID, i), Fields: fields})
		}
	}
	if p.Isolates && p.Log.Deny != intent.SeverityNone {
		rows = append(rows, Row{Kind: kindIsolation, Name: refusalName(p.ID), Fields: backends.Fields{
			"direction": p.Direction.String(),
			"subject":   setName(p.Subject),
			"origin":    p.Origin.String(),
			"log":       logging(p.Log.Deny, p.Log.Rate),
		}})
	}
	return rows, skips
}

// renderRule returns the fields of the row for the i-th rule of a policy, nil if the rule cannot match anything.
func renderRule(p *intent.Policy, i int) (backends.Fields, error) {
	r := &p.Rules[i]
	if r.Action > intent.Pass {
		return nil, fmt.Errorf("unknown action %d", uint8(r.Action))
	}
	peer, set := "", ""
	switch r.Peer.Kind {
	case intent.PeerNone:
		return nil, nil
	case intent.PeerAny:
		peer = "anyone"
	case intent.PeerSet:
		peer, set = "set", setName(r.Peer.Set)
	default:
		return nil, fmt.Errorf("unknown kind of peer %d", uint8(r.Peer.Kind))
	}
	ports := []string{}
	for _, pr := range r.Ports.Ranges {
		ports = append(ports, fmt.Sprintf("%d/%d-%d", uint8(pr.Protocol), pr.First, pr.Last))
	}
	if !r.Ports.Any && len(ports) == 0 {
		return nil, nil
	}
	return backends.Fields{
		"tier":      p.Tier.String(),
		"order":     fmt.Sprintf("%05d %q %q %05d", p.Priority, p.Origin.Name, p.Origin.Kind, i),
		"action":    r.Action.String(),
		"direction": p.Direction.String(),
		"subject":   setName(p.Subject),
		"narrowed":  setName(r.Subject),
		"peer":      peer,
		"set":       set,
		"any":       r.Ports.Any,
		"ports":     canonical(ports),
		"origin":    p.Origin.String(),
		"path":      r.Path,
		"log":       logging(p.Log.Allow, p.Log.Rate),
	}, nil
}

// renderIsolation renders a direction's isolation, which exists as long as its set does.
func renderIsolation(d intent.Direction, set *intent.Set) []Row {
	if set == nil {
		return nil
	}
	return []Row{{Kind: kindIsolation, Name: isolationName(d), Fields: backends.Fields{
		"direction": d.String(),
		"subject":   setName(set.ID),
	}}}
}

func logging(s intent.Severity, rate uint32) string {
	if s == intent.SeverityNone {
		return ""
	}
	return fmt.Sprintf("%s/%d", s, rate)
}

// canonical sorts list and drops duplicates.
func canonical(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
