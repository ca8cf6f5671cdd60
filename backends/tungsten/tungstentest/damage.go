package tungstentest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/tungsten"
)

// harm is one kind of damage to the first object of the owner that it can change; it returns the names of what a repair may touch,
// nil if it cannot change the object.
type harm struct {
	what string
	do   func(tb testing.TB, t *Target, o *tungsten.Object) []string
}

// rewritten rewrites an object of a kind.
func rewritten(kind tungsten.Kind, spoil func(o *tungsten.Object) bool) func(testing.TB, *Target, *tungsten.Object) []string {
	return func(tb testing.TB, t *Target, o *tungsten.Object) []string {
		tb.Helper()
		next := *o
		if o.Kind != kind || !spoil(&next) {
			return nil
		}
		fields, err := tungsten.Diff(o, &next)
		require.NoError(tb, err)
		require.NoError(tb, t.Client.Update(tb.Context(), kind, o.UUID, fields))
		return []string{o.Name()}
	}
}

func harms() []harm {
	return append(harmsToRules(), []harm{
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
			o.FirewallRuleRefs = append([]tungsten.Ref{o.FirewallRuleRefs[0].InSequence("9")}, o.FirewallRuleRefs[1:]...)
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
			subnets := []tungsten.Subnet{{IPPrefix: "192.0.2.0", IPPrefixLen: 24}}
			if o.AddressGroupPrefix != nil {
				subnets = append(subnets, o.AddressGroupPrefix.Subnet...)
			}
			o.AddressGroupPrefix = &tungsten.Subnets{Subnet: subnets}
			return true
		})},
		{"an address group loses its prefixes", rewritten(tungsten.KindAddressGroup, func(o *tungsten.Object) bool {
			had := o.AddressGroupPrefix != nil
			o.AddressGroupPrefix = nil
			return had
		})},
		{"an interface loses a tag", func(tb testing.TB, t *Target, o *tungsten.Object) []string {
			tb.Helper()
			return t.retag(tb, o, false)
		}},
		{"an interface gains a tag", func(tb testing.TB, t *Target, o *tungsten.Object) []string {
			tb.Helper()
			return t.retag(tb, o, true)
		}},
	}...)
}

func harmsToRules() []harm {
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
		{"a rule appears", func(tb testing.TB, t *Target, o *tungsten.Object) []string {
			tb.Helper()
			if o.Kind != tungsten.KindFirewallRule {
				return nil
			}
			next := *o
			next.UUID, next.FQName = "", []string{o.FQName[0], o.FQName[1] + "0"}
			t.create(tb, &next)
			return []string{next.Name()}
		}},
	}
}

// retag adds a tag to the first interface of a pod without it, or removes it from the first with it.
func (t *Target) retag(tb testing.TB, tag *tungsten.Object, gain bool) []string {
	tb.Helper()
	for _, p := range t.sorted() {
		if tag.Kind != tungsten.KindTag || p.Annotations.Get("kind") != "Pod" {
			continue
		}
		has := false
		for _, ref := range p.TagRefs {
			has = has || ref.UUID == tag.UUID
		}
		if has == gain {
			continue
		}
		link, change := tungsten.Link{From: p.Kind, UUID: p.UUID, To: tag.Kind, Target: tag.UUID}, t.Client.RemoveRef
		if gain {
			change = t.Client.AddRef
		}
		require.NoError(tb, change(tb.Context(), link))
		return []string{p.Name()}
	}
	return nil
}

// Damage does the n-th harm to the first object that it can change.
func (t *Target) Damage(tb testing.TB, owner string, n int) (backendtest.Damage, bool) {
	tb.Helper()
	if n >= len(harms()) {
		return backendtest.Damage{}, false
	}
	d := backendtest.Damage{What: harms()[n].what}
	for _, o := range t.sorted() {
		if strings.Contains(strings.Join(o.FQName, ":"), "netloom."+owner+".") {
			if d.Names = harms()[n].do(tb, t, o); d.Names != nil {
				break
			}
		}
	}
	return d, true
}
