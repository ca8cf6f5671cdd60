package tungsten

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Fields are the fields of one update, by name. Each replaces the field as a whole; the others stay.
type Fields map[string]json.RawMessage

// identity lists the fields that never change after an object was created.
var identity = []string{"uuid", "fq_name", "parent_type", "parent_uuid"} //nolint:gochecknoglobals // a constant table

// cleared returns the value that removes a field. The server fails on null for lists and maps, and on [] for the others.
func cleared(field string) json.RawMessage {
	switch {
	case strings.HasSuffix(field, "_refs"):
		return json.RawMessage(`[]`)
	case field == "annotations":
		return json.RawMessage(`{"key_value_pair":[]}`)
	case field == "address_group_prefix":
		return json.RawMessage(`{"subnet":[]}`)
	case field == "service_group_firewall_service_list":
		return json.RawMessage(`{"firewall_service":[]}`)
	case field == "match_tags":
		return json.RawMessage(`{"tag_list":[]}`)
	default:
		return json.RawMessage(`null`)
	}
}

// Diff returns the fields that an update of have must carry so that it becomes want: none if they are equal. Fields that the
// server computes are not compared, nor is the order of references, annotations and prefixes.
func Diff(have, want *Object) (Fields, error) {
	h, err := have.stored()
	if err != nil {
		return nil, err
	}
	w, err := want.stored()
	if err != nil {
		return nil, err
	}
	out := make(Fields)
	for name, value := range w {
		if !bytes.Equal(h[name], value) {
			out[name] = value
		}
	}
	for name := range h {
		if _, wanted := w[name]; !wanted {
			out[name] = cleared(name)
		}
	}
	for _, name := range identity {
		delete(out, name)
	}
	return out, nil
}

// Names lists the fields in order.
func (f Fields) Names() []string {
	out := make([]string, 0, len(f))
	for name := range f {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// stored returns the fields of o that a client decides, encoded in a canonical order.
func (o *Object) stored() (Fields, error) {
	raw, err := json.Marshal(o.canonical())
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", o.Kind, o.Name(), err)
	}
	var f Fields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", o.Kind, o.Name(), err)
	}
	return f, nil
}

// canonical is a copy of o without what the server computes, with everything that has no order sorted.
func (o *Object) canonical() *Object {
	c := *o
	c.IDPerms, c.TagTypeID, c.TagID, c.AllApplications, c.AddressGroupRefs = nil, "", "", false, nil
	c.InterfaceBackRefs, c.InstanceIPBackRefs, c.FloatingIPBackRefs = nil, nil, nil
	if c.Kind == KindFirewallRule {
		c.TagRefs = nil
	}
	c.Endpoint1, c.Endpoint2 = c.Endpoint1.canonical(), c.Endpoint2.canonical()
	for _, refs := range []*[]Ref{
		&c.TagRefs, &c.ServiceGroupRefs, &c.FirewallRuleRefs, &c.FirewallPolicyRefs, &c.VirtualMachineRefs, &c.VirtualNetworkRefs,
		&c.InterfaceRefs, &c.ProjectRefs, &c.LoadBalancerRefs, &c.ListenerRefs, &c.GlobalVRouterRefs,
	} {
		*refs = slices.SortedStableFunc(slices.Values(*refs), func(a, b Ref) int { return slices.Compare(a.To, b.To) })
	}
	if c.Annotations != nil {
		c.Annotations = NewAnnotations(c.Annotations.Map())
	}
	if c.AddressGroupPrefix != nil {
		prefixes := slices.SortedFunc(slices.Values(c.AddressGroupPrefix.Subnet), compareSubnets)
		c.AddressGroupPrefix = nil
		if len(prefixes) > 0 {
			c.AddressGroupPrefix = &Subnets{Subnet: slices.Compact(prefixes)}
		}
	}
	if c.MatchTags != nil && len(c.MatchTags.TagList) == 0 {
		c.MatchTags = nil
	}
	return &c
}

func (e *Endpoint) canonical() *Endpoint {
	if e == nil {
		return nil
	}
	c := *e
	c.TagIDs = nil
	c.Tags = slices.Sorted(slices.Values(e.Tags))
	return &c
}

func compareSubnets(a, b Subnet) int {
	if c := strings.Compare(a.IPPrefix, b.IPPrefix); c != 0 {
		return c
	}
	return a.IPPrefixLen - b.IPPrefixLen
}
