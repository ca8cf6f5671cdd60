package tungstentest

import (
	"strings"
	"testing"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/tungsten"
)

// harm is one kind of damage to the first object of the owner that it can change; it returns the names of what a repair may touch,
// nil if it cannot change the object.
type harm struct {
	what string
	do   func(s *store, o *tungsten.Object) []string
}

func harms() []harm {
	rewritten := func(kind tungsten.Kind, spoil func(o *tungsten.Object) bool) func(*store, *tungsten.Object) []string {
		return func(s *store, o *tungsten.Object) []string {
			next := clone(o)
			if o.Kind != kind || !spoil(next) {
				return nil
			}
			s.put(next)
			return []string{o.Name()}
		}
	}
	return []harm{
		{"a rule opens its ports", rewritten(tungsten.KindFirewallRule, func(o *tungsten.Object) bool {
			if o.Service.Protocol == "any" {
				return false
			}
			o.Service = &tungsten.Service{Protocol: "any", SrcPorts: &tungsten.Ports{End: 65535}, DstPorts: &tungsten.Ports{End: 65535}}
			return true
		})},
		{"a rule passes what it denied", rewritten(tungsten.KindFirewallRule, func(o *tungsten.Object) bool {
			if o.ActionList.SimpleAction == "pass" {
				return false
			}
			o.ActionList = &tungsten.Actions{SimpleAction: "pass"}
			return true
		})},
		{"a rule matches any peer", rewritten(tungsten.KindFirewallRule, func(o *tungsten.Object) bool {
			if len(o.Endpoint1.Tags) == 0 {
				return false
			}
			o.Endpoint1 = &tungsten.Endpoint{Any: true}
			return true
		})},
		{"a rule loses its annotations", rewritten(tungsten.KindFirewallRule, func(o *tungsten.Object) bool {
			o.Annotations = nil
			return true
		})},
		{"a policy loses a rule", rewritten(tungsten.KindFirewallPolicy, func(o *tungsten.Object) bool {
			if len(o.FirewallRuleRefs) == 0 {
				return false
			}
			o.FirewallRuleRefs = o.FirewallRuleRefs[1:]
			return true
		})},
		{"a rule changes its place", rewritten(tungsten.KindFirewallPolicy, func(o *tungsten.Object) bool {
			if len(o.FirewallRuleRefs) == 0 {
				return false
			}
			o.FirewallRuleRefs[0] = o.FirewallRuleRefs[0].InSequence("9")
			return true
		})},
		{"a policy set loses a policy", rewritten(tungsten.KindApplicationPolicySet, func(o *tungsten.Object) bool {
			o.FirewallPolicyRefs = o.FirewallPolicyRefs[1:]
			return true
		})},
		{"a policy set loses its tag", rewritten(tungsten.KindApplicationPolicySet, func(o *tungsten.Object) bool {
			o.TagRefs = nil
			return true
		})},
		{"a tag loses its annotations", rewritten(tungsten.KindTag, func(o *tungsten.Object) bool {
			o.Annotations = nil
			return true
		})},
		{"an address group gains a prefix", rewritten(tungsten.KindAddressGroup, func(o *tungsten.Object) bool {
			subnets := append([]tungsten.Subnet{{IPPrefix: "192.0.2.0", IPPrefixLen: 24}}, o.AddressGroupPrefix.Subnet...)
			o.AddressGroupPrefix = &tungsten.Subnets{Subnet: subnets}
			return true
		})},
		{"an address group loses its prefixes", rewritten(tungsten.KindAddressGroup, func(o *tungsten.Object) bool {
			o.AddressGroupPrefix = nil
			return true
		})},
		{"a rule appears", func(s *store, o *tungsten.Object) []string {
			if o.Kind != tungsten.KindFirewallRule {
				return nil
			}
			next := clone(o)
			next.UUID, next.FQName = o.UUID[:14]+"5000-8000-000000000000", []string{o.FQName[0], o.FQName[1] + "0"}
			s.put(next)
			return []string{next.Name()}
		}},
		{"an interface loses a tag", func(s *store, o *tungsten.Object) []string {
			if o.Kind != tungsten.KindTag {
				return nil
			}
			for _, p := range s.all() {
				for i, ref := range p.TagRefs {
					if p.Kind == tungsten.KindInterface && ref.UUID == o.UUID {
						p.TagRefs = append(p.TagRefs[:i:i], p.TagRefs[i+1:]...)
						s.put(p)
						return []string{p.Name()}
					}
				}
			}
			return nil
		}},
		{"an interface gains a tag", func(s *store, o *tungsten.Object) []string {
			if o.Kind != tungsten.KindTag {
				return nil
			}
			for _, p := range s.all() {
				has := false
				for _, ref := range p.TagRefs {
					has = has || ref.UUID == o.UUID
				}
				if p.Kind == tungsten.KindInterface && !has && p.UUID != "foreign-port" {
					p.TagRefs = append(p.TagRefs, tungsten.Ref{To: o.FQName, UUID: o.UUID})
					s.put(p)
					return []string{p.Name()}
				}
			}
			return nil
		}},
	}
}

// Damage does the n-th harm to the first object that it can change.
func (t *Target) Damage(_ testing.TB, owner string, n int) (backendtest.Damage, bool) {
	if n >= len(harms()) {
		return backendtest.Damage{}, false
	}
	d := backendtest.Damage{What: harms()[n].what}
	for _, o := range t.store.all() {
		if ownedBy(owner, o) {
			if d.Names = harms()[n].do(t.store, o); d.Names != nil {
				break
			}
		}
	}
	return d, true
}

func ownedBy(owner string, o *tungsten.Object) bool {
	for _, part := range o.FQName {
		for _, prefix := range []string{"", "label=", "neutron_fwaas="} {
			if len(part) > len(prefix) && len(o.FQName) <= 2 && strings.HasPrefix(part, prefix+"netloom."+owner+".") {
				return true
			}
		}
	}
	return false
}
