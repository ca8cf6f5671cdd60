package tungsten_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/tungsten"
)

// readBack is a rule as the server returns it: with what it computes, and with fields that netloom does not know.
const readBack = `{"uuid":"u1","fq_name":["pm","r"],"parent_type":"policy-management","parent_uuid":"u0","display_name":"r",
	"endpoint_1":{"tags":["global:b=2","global:a=1"],"tag_ids":[7,3],"future":1},"endpoint_2":{"any":true},"direction":">",
	"service":{"protocol":"tcp","protocol_id":6,"dst_ports":{"start_port":80,"end_port":80}},
	"action_list":{"simple_action":"pass"},"match_tag_types":{"tag_type":[1]},"tag_refs":[{"to":["a=1"],"uuid":"u2","attr":null}],
	"id_perms":{"last_modified":"2026-11-22T09:04:15.721070"},"future":{"x":[1]}}`

func rule() *tungsten.Object {
	return &tungsten.Object{
		Kind: tungsten.KindFirewallRule, FQName: []string{"pm", "r"}, ParentType: tungsten.KindPolicyManagement,
		Endpoint1:  &tungsten.Endpoint{Tags: []string{"global:a=1", "global:b=2"}},
		Endpoint2:  &tungsten.Endpoint{Any: true},
		Direction:  ">",
		Service:    &tungsten.Service{Protocol: "tcp", DstPorts: &tungsten.Ports{Start: 80, End: 80}},
		ActionList: &tungsten.Actions{SimpleAction: "pass"},
	}
}

func TestWhatTheServerComputesIsNoDifference(t *testing.T) {
	have := &tungsten.Object{Kind: tungsten.KindFirewallRule}
	require.NoError(t, json.Unmarshal([]byte(readBack), have))
	fields, err := tungsten.Diff(have, rule())
	require.NoError(t, err)
	require.Empty(t, fields.Names())
}

func TestDiff(t *testing.T) {
	ref := func(name, sequence string) tungsten.Ref { return tungsten.RefTo("pm", name).InSequence(sequence) }
	subnets := func(prefixes ...string) *tungsten.Subnets {
		out := new(tungsten.Subnets)
		for _, p := range prefixes {
			out.Subnet = append(out.Subnet, tungsten.SubnetOf(netip.MustParsePrefix(p)))
		}
		return out
	}
	tests := []struct {
		name       string
		have, want tungsten.Object
		wantFields string
	}{
		{
			name:       "references in another order are equal",
			have:       tungsten.Object{FirewallRuleRefs: []tungsten.Ref{ref("b", "2"), ref("a", "1")}},
			want:       tungsten.Object{FirewallRuleRefs: []tungsten.Ref{ref("a", "1"), ref("b", "2")}},
			wantFields: `{}`,
		},
		{
			name:       "another sequence replaces all references",
			have:       tungsten.Object{FirewallRuleRefs: []tungsten.Ref{ref("a", "1"), ref("b", "2")}},
			want:       tungsten.Object{FirewallRuleRefs: []tungsten.Ref{ref("a", "1"), ref("b", "3")}},
			wantFields: `{"firewall_rule_refs":[{"to":["pm","a"],"attr":{"sequence":"1"}},{"to":["pm","b"],"attr":{"sequence":"3"}}]}`,
		},
		{
			name:       "a dangling reference is a difference",
			have:       tungsten.Object{TagRefs: []tungsten.Ref{{To: []string{"ERROR"}, UUID: "u"}}},
			wantFields: `{"tag_refs":[]}`,
		},
		{
			name:       "prefixes in another order, host bits and duplicates are equal",
			have:       tungsten.Object{AddressGroupPrefix: subnets("10.0.0.0/8", "fd00::/64", "10.0.0.0/8")},
			want:       tungsten.Object{AddressGroupPrefix: subnets("fd00::1/64", "10.1.0.0/8")},
			wantFields: `{}`,
		},
		{
			name: "each kind of field is cleared as the server accepts it",
			have: tungsten.Object{
				AddressGroupPrefix: subnets("10.0.0.0/8"), Annotations: tungsten.NewAnnotations(map[string]string{"k": "v"}),
				Service: &tungsten.Service{Protocol: "tcp"}, ServiceGroupRefs: []tungsten.Ref{tungsten.RefTo("pm", "s")},
				ServiceGroupList: &tungsten.Services{FirewallService: []tungsten.Service{{Protocol: "tcp"}}},
				MatchTags:        &tungsten.TagList{TagList: []string{"application"}},
			},
			wantFields: `{"address_group_prefix":{"subnet":[]},"annotations":{"key_value_pair":[]},"match_tags":{"tag_list":[]},"service":null,
				"service_group_firewall_service_list":{"firewall_service":[]},"service_group_refs":[]}`,
		},
		{
			name:       "nothing renames an object or moves it",
			have:       tungsten.Object{UUID: "u", FQName: []string{"a"}, ParentType: "project", ParentUUID: "p"},
			want:       tungsten.Object{FQName: []string{"b"}},
			wantFields: `{}`,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			fields, err := tungsten.Diff(&tc.have, &tc.want)
			require.NoError(t, err)
			got, err := json.Marshal(fields)
			require.NoError(t, err)
			require.JSONEq(t, tc.wantFields, string(got))
		})
	}
}
