package tungsten

import (
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// usage is how rules use tags, by the UUID of a tag.
type usage map[string]*tagUsage

// tagUsage is the rules that a tag is in.
type tagUsage struct {
	subject, peer [2]bool         // by direction
	ordered       bool            // in a stage where order matters
	partners      map[string]bool // the tags at the other ends of the rules
}

// usageOf reads the rules that policies of an owner refer to.
func usageOf(names namer, objects map[string]*tungsten.Object) usage {
	u := usage{}
	for _, p := range parts() {
		policy := objects[names.uuid(tungsten.KindFirewallPolicy, names.policyName(p))]
		if policy == nil {
			continue
		}
		for _, ref := range policy.FirewallRuleRefs {
			if rule := objects[ref.UUID]; rule != nil {
				u.add(names, rule, p.direction, p.stage)
			}
		}
	}
	return u
}

func (u usage) add(names namer, rule *tungsten.Object, d intent.Direction, s stage) {
	subjects, peers := tagsOfRule(names, rule, d)
	for _, t := range subjects {
		u.of(t).subject[d] = true
		u.of(t).ordered = u.of(t).ordered || s.ordered()
		for _, p := range peers {
			u.of(t).partners[p], u.of(p).partners[t] = true, true
		}
	}
	for _, t := range peers {
		u.of(t).peer[d] = true
		u.of(t).ordered = u.of(t).ordered || s.ordered()
	}
}

func (u usage) of(tag string) *tagUsage {
	if u[tag] == nil {
		u[tag] = &tagUsage{partners: map[string]bool{}}
	}
	return u[tag]
}

// has reports whether some rule uses a tag.
func (u usage) has(tag string) bool { return u[tag] != nil }

// tagsOfRule lists the UUIDs of the tags at both ends of a rule.
func tagsOfRule(names namer, rule *tungsten.Object, d intent.Direction) (subjects, peers []string) {
	from, to := tagsOfEnd(names, rule.Endpoint1), tagsOfEnd(names, rule.Endpoint2)
	if d == intent.Egress {
		return from, to
	}
	return to, from
}

func tagsOfEnd(names namer, e *tungsten.Endpoint) []string {
	if e == nil {
		return nil
	}
	var out []string
	for _, t := range e.Tags {
		out = append(out, names.uuid(tungsten.KindTag, strings.TrimPrefix(t, "global:")))
	}
	return out
}

// endsOf lists the UUIDs of the tags and address groups at both ends of a rule.
func endsOf(names namer, rule *tungsten.Object) []string {
	var out []string
	for _, e := range []*tungsten.Endpoint{rule.Endpoint1, rule.Endpoint2} {
		out = append(out, tagsOfEnd(names, e)...)
		if e != nil && e.AddressGroup != "" {
			_, name, _ := strings.Cut(e.AddressGroup, ":")
			out = append(out, names.uuid(tungsten.KindAddressGroup, name))
		}
	}
	return out
}

func passes(rule *tungsten.Object) bool {
	return rule != nil && rule.ActionList != nil && rule.ActionList.SimpleAction == "pass"
}
