package tungsten_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	api "github.com/netloom/netloom/pkg/tungsten"
)

// edit is what somebody writes by hand into an object of netloom's.
type edit struct {
	kind   api.Kind
	covers string // fields of simulator.Fields, separated by blanks
	body   string
}

// handEdits change every field that a request may contain, see TestEveryFieldEditedByHand.
func handEdits() []edit {
	const (
		rule, group, policy, set = api.KindFirewallRule, api.KindAddressGroup, api.KindFirewallPolicy, api.KindApplicationPolicySet
		noTags                   = `"tag_refs":[{"to":["label=by-hand"],"attr":null}]`
		notes                    = `"annotations":{"key_value_pair":[{"key":"netloom.io/owner","value":"me"}]}`
	)
	out := []edit{
		{rule, "action_list.simple_action", `{"action_list":{"simple_action":"pass"}}`},
		{rule, "action_list.alert", `{"action_list":{"simple_action":"deny","alert":true}}`},
		{rule, "action_list.log", `{"action_list":{"simple_action":"deny","log":true}}`},
		{rule, "action_list.apply_service", `{"action_list":{"simple_action":"deny","apply_service":["d:p:s"]}}`},
		{rule, "action_list.assign_routing_instance", `{"action_list":{"simple_action":"deny","assign_routing_instance":"d:p:n:n"}}`},
		{rule, "action_list.gateway_name", `{"action_list":{"gateway_name":"g"}}`},
		{rule, "action_list.mirror_to", `{"action_list":{"simple_action":"deny","mirror_to":{}}}`},
		{rule, "action_list.qos_action", `{"action_list":{"simple_action":"deny","qos_action":"q"}}`},
		{rule, "direction", `{"direction":"<>"}`},
		{rule, "endpoint_1.any endpoint_1.tag_ids", `{"endpoint_1":null}`},
		{rule, "endpoint_1.address_group", `{"endpoint_1":{"address_group":"default-policy-management:by-hand"}}`},
		{rule, "endpoint_1.subnet", `{"endpoint_1":{"subnet":{"ip_prefix":"10.9.0.0","ip_prefix_len":16}}}`},
		{rule, "endpoint_1.tags", `{"endpoint_1":{"tags":["global:label=by-hand"]}}`},
		{rule, "endpoint_1.virtual_network", `{"endpoint_1":{"virtual_network":"default-domain:k8s-default:k8s-default-pod-network"}}`},
		{rule, "endpoint_2.address_group", `{"endpoint_2":{"address_group":"default-policy-management:by-hand"}}`},
		{rule, "endpoint_2.any endpoint_2.tag_ids", `{"endpoint_2":{"any":true}}`},
		{rule, "endpoint_2.subnet", `{"endpoint_2":{"subnet":{"ip_prefix":"10.9.0.0","ip_prefix_len":16}}}`},
		{rule, "endpoint_2.tags", `{"endpoint_2":{"tags":["global:label=by-hand"]}}`},
		{rule, "endpoint_2.virtual_network", `{"endpoint_2":{"virtual_network":"default-domain:k8s-default:k8s-default-pod-network"}}`},
		{rule, "match_tags match_tag_types.tag_type", `{"match_tags":{"tag_list":["application"]}}`},
		{rule, "service.protocol service.protocol_id", `{"service":{"protocol":"tcp","dst_ports":{"start_port":0,"end_port":65535}}}`},
		{rule, "service.src_ports", `{"service":{"protocol":"any","src_ports":{"start_port":1,"end_port":1},"dst_ports":{"start_port":0,"end_port":65535}}}`},
		{rule, "service.dst_ports", `{"service":{"protocol":"any","dst_ports":{"start_port":80,"end_port":80}}}`},
		{rule, "service_group_refs", `{"service":null,"service_group_refs":[{"to":["default-policy-management","by-hand"],"attr":null}]}`},
		{rule, "virtual_network_refs", `{"virtual_network_refs":[{"to":["default-domain","k8s-default","k8s-default-pod-network"],"attr":null}]}`},
		{group, "address_group_prefix", `{"address_group_prefix":{"subnet":[]}}`},
		{policy, "firewall_rule_refs", `{"firewall_rule_refs":[]}`},
		{set, "firewall_policy_refs", `{"firewall_policy_refs":[]}`},
		{set, "global_vrouter_config_refs", `{"global_vrouter_config_refs":[{"to":["default-global-system-config","default-global-vrouter-config"],"attr":null}]}`},
		{api.KindInterface, "virtual_machine_interface_device_owner", `{"virtual_machine_interface_device_owner":"me"}`},
		{api.KindInterface, "virtual_network_refs", `{"virtual_network_refs":[{"to":["default-domain","k8s-default","k8s-default-pod-network"],"attr":null}]}`},
		{api.KindInstanceIP, "virtual_machine_interface_refs", `{"virtual_machine_interface_refs":[]}`},
		{
			api.KindLoadBalancer, "loadbalancer_properties.operating_status loadbalancer_properties.provisioning_status " +
				"loadbalancer_properties.vip_address loadbalancer_properties.vip_subnet_id",
			`{"loadbalancer_properties":{"vip_address":"10.96.0.99","vip_subnet_id":"s"}}`,
		},
		{api.KindLoadBalancer, "loadbalancer_provider", `{"loadbalancer_provider":null}`},
		{api.KindLoadBalancer, "virtual_machine_interface_refs", `{"virtual_machine_interface_refs":[]}`},
		{
			api.KindListener, "loadbalancer_listener_properties.protocol loadbalancer_listener_properties.protocol_port",
			`{"loadbalancer_listener_properties":{"protocol":"UDP","protocol_port":81}}`,
		},
		{api.KindListener, "loadbalancer_refs", `{"loadbalancer_refs":[]}`},
		{
			api.KindPool, "loadbalancer_pool_properties.loadbalancer_method loadbalancer_pool_properties.protocol " +
				"loadbalancer_pool_properties.session_persistence",
			`{"loadbalancer_pool_properties":{"protocol":"UDP","loadbalancer_method":"SOURCE_IP","session_persistence":"SOURCE_IP"}}`,
		},
		{api.KindPool, "loadbalancer_listener_refs", `{"loadbalancer_listener_refs":[]}`},
		{
			api.KindMember, "loadbalancer_member_properties.address loadbalancer_member_properties.protocol_port",
			`{"loadbalancer_member_properties":{"address":"10.0.1.9","protocol_port":9}}`,
		},
	}
	for _, kind := range []api.Kind{group, policy, set} {
		out = append(out, edit{kind, "tag_refs", "{" + noTags + "}"})
	}
	for kind := range inert() {
		out = append(out, edit{kind, "annotations", "{" + notes + "}"})
	}
	return out
}

// inert are the fields of each kind that are not compared: the server does not let them be changed, or no vrouter reads them.
func inert() map[api.Kind]string {
	const all = "display_name tag_refs "
	return map[api.Kind]string{
		api.KindTag:                  "display_name tag_id tag_type_name tag_type_refs tag_value",
		api.KindAddressGroup:         "display_name draft_mode_state",
		api.KindFirewallRule:         "display_name draft_mode_state action_list.host_based_service address_group_refs tag_refs",
		api.KindFirewallPolicy:       "display_name draft_mode_state",
		api.KindApplicationPolicySet: "display_name draft_mode_state all_applications",
		api.KindInterface: all + "port_security_enabled routing_instance_refs security_group_refs virtual_machine_interface_disable_policy " +
			"virtual_machine_interface_mac_addresses.mac_address virtual_machine_interface_properties virtual_machine_interface_refs virtual_machine_refs",
		api.KindInstanceIP:   all + "instance_ip_address instance_ip_family instance_ip_secondary network_ipam_refs subnet_uuid virtual_network_refs",
		api.KindLoadBalancer: all + "loadbalancer_properties.admin_state loadbalancer_properties.status",
		api.KindListener: all + "loadbalancer_listener_properties.admin_state loadbalancer_listener_properties.connection_limit " +
			"loadbalancer_listener_properties.default_tls_container loadbalancer_listener_properties.sni_containers",
		api.KindPool: all + "loadbalancer_pool_properties.admin_state loadbalancer_pool_properties.persistence_cookie_name " +
			"loadbalancer_pool_properties.status loadbalancer_pool_properties.subnet_id virtual_machine_interface_refs",
		api.KindMember: all + "loadbalancer_member_properties.admin_state loadbalancer_member_properties.status loadbalancer_member_properties.weight",
	}
}

// byHand makes what hand edits refer to.
func byHand(t *testing.T, target *tungstentest.Target) {
	t.Helper()
	pm := []string{"default-policy-management", "by-hand"}
	for _, o := range []*api.Object{
		{Kind: api.KindTag, FQName: []string{"label=by-hand"}, TagTypeName: "label", TagValue: "by-hand"},
		{Kind: api.KindAddressGroup, FQName: pm, ParentType: api.KindPolicyManagement},
		{
			Kind: api.KindServiceGroup, FQName: pm, ParentType: api.KindPolicyManagement,
			ServiceGroupList: &api.Services{FirewallService: []api.Service{{Protocol: "tcp"}}},
		},
	} {
		_, err := target.Client.Create(t.Context(), o)
		require.NoError(t, err)
	}
}

// TestEveryFieldEditedByHand has somebody change each field of an object of each kind, one after the other. Each is repaired, and a new
// policy is in force at the same time.
func TestEveryFieldEditedByHand(t *testing.T) {
	s, _ := edits()
	s.LoadBalancers = with(cluster{}, balancer("shop", cluster80(8080, 0, 1))).LoadBalancers
	s.Sets = append(s.Sets, backendtest.SetSpec{ID: "listed", Prefixes: prefixes("192.0.2.0/24"), Bare: true})
	s.Policies = append(s.Policies, policy("prefixes", intent.Ingress, "q", rule(intent.Allow, "listed", tcp(80, 80))))
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	r := newRig(t, target, "a")
	r.sync(t, s, snap)
	byHand(t, target)
	whole := target.DumpOwner(t, "a")
	covered := map[api.Kind][]string{}
	for kind, fields := range inert() {
		covered[kind] = strings.Fields(fields)
	}
	for _, e := range handEdits() {
		covered[e.kind] = append(covered[e.kind], strings.Fields(e.covers)...)
		t.Run(string(e.kind)+" "+e.covers, func(t *testing.T) {
			o := victim(t, target, e.kind)
			require.NotNil(t, o, "the state has no such object")
			var body api.Fields
			require.NoError(t, json.Unmarshal([]byte(e.body), &body))
			before := len(target.Server.Objects(string(e.kind)))
			require.NoError(t, target.Client.Update(t.Context(), e.kind, o.UUID, body))
			r.reached = 0
			p := r.sync(t, s, snap)
			require.NotEmpty(t, p.Ops, "it is not noticed")
			require.Empty(t, p.Skips)
			require.Equal(t, whole, target.DumpOwner(t, "a"))
			require.Len(t, target.Server.Objects(string(e.kind)), before)
			r.reached = 0
			require.Empty(t, r.sync(t, s, snap).Ops, "it is not repaired")
		})
	}
	for kind, fields := range covered {
		slices.Sort(fields)
		require.Equal(t, simulator.Fields(string(kind)), slices.Compact(fields), "%s: fields that no edit covers", kind)
	}
}

// victim returns an object of a kind: of rules, the one that isolates.
func victim(t *testing.T, target *tungstentest.Target, kind api.Kind) *api.Object {
	t.Helper()
	all, err := target.Client.List(t.Context(), kind, api.Query{Detail: true})
	require.NoError(t, err)
	slices.SortFunc(all, func(a, b *api.Object) int { return strings.Compare(a.UUID, b.UUID) })
	for _, o := range all {
		if !strings.Contains(strings.Join(o.FQName, ":"), "netloom.a.") {
			continue
		}
		switch {
		case kind == api.KindFirewallRule && o.Name() != "netloom.a.ingress.4-isolation":
		case kind == api.KindAddressGroup && o.AddressGroupPrefix == nil:
		case kind == api.KindFirewallPolicy && len(o.FirewallRuleRefs) == 0:
		default:
			return o
		}
	}
	return nil
}
