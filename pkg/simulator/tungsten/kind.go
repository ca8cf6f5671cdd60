package tungsten

import "strings"

// kind is a type of objects.
type kind struct {
	name    string // "firewall-rule"
	field   string // "firewall_rule"
	title   string // "Firewall Rule"
	parents []string
	root    bool                 // may have no parent
	refs    map[string]*property // by kind: the class of the reference's attribute, nil for none
	props   map[string]*property
	secured bool // written as a draft while the security draft mode is on
}

// collection is the name of the list of all objects.
func (k *kind) collection() string { return k.name + "s" }

// refField is the field of references to a kind.
func refField(name string) string { return strings.ReplaceAll(name, "-", "_") + "_refs" }

// allowedParents lists the parents as messages do.
func (k *kind) allowedParents() []string {
	if k.root {
		return append([]string{"config-root"}, k.parents...)
	}
	return k.parents
}

// kinds are the simulated types by name.
func kinds() map[string]*kind {
	scoped := []string{"policy-management", "project"}
	of := func(kinds ...string) map[string]*property {
		out := map[string]*property{"tag": nil}
		for _, k := range kinds {
			out[k] = nil
		}
		return out
	}
	sequenced := func(k string) map[string]*property {
		out := of(k)
		out[k] = structured("FirewallSequence", map[string]*property{"sequence": text})
		return out
	}
	out := make(map[string]*kind)
	for _, k := range []*kind{
		{name: "config-root", root: true},
		{name: "domain", root: true},
		{name: "global-system-config", root: true, props: props{"enable_security_policy_draft": boolean}},
		{name: "global-vrouter-config", parents: []string{"global-system-config"}},
		{name: "policy-management", root: true},
		{name: "project", parents: []string{"domain"}, refs: of("application-policy-set"), props: props{
			"quota": quota, "enable_security_policy_draft": boolean, "vxlan_routing": boolean,
		}},
		{name: "tag-type", root: true, props: props{"tag_type_id": text}},
		{name: "tag", root: true, parents: []string{"project"}, refs: map[string]*property{"tag-type": nil}, props: props{
			"tag_type_name": text, "tag_value": text, "tag_id": text,
		}},
		{name: "address-group", parents: scoped, secured: true, refs: of(), props: props{"address_group_prefix": subnets}},
		{name: "service-group", parents: scoped, secured: true, refs: of(), props: props{"service_group_firewall_service_list": services}},
		{
			name: "firewall-rule", parents: scoped, secured: true, refs: of("address-group", "service-group", "virtual-network"),
			props: props{
				"endpoint_1": endpoint, "endpoint_2": endpoint, "service": service, "action_list": actions, "match_tags": tagList,
				"match_tag_types": tagTypes, "direction": {values: []string{"<", ">", "<>"}},
			},
		},
		{name: "firewall-policy", parents: scoped, secured: true, refs: sequenced("firewall-rule")},
		{
			name: "application-policy-set", parents: scoped, secured: true, refs: apsRefs(sequenced("firewall-policy")),
			props: props{"all_applications": boolean},
		},
		{name: "network-ipam", parents: []string{"project"}, refs: of()},
		{name: "security-group", parents: []string{"project"}, refs: of()},
		{name: "virtual-network", parents: []string{"project"}, refs: map[string]*property{"tag": nil, "network-ipam": free}},
		{name: "routing-instance", parents: []string{"virtual-network"}, refs: of()},
		{name: "virtual-machine", root: true, refs: of()},
		{
			name: "virtual-machine-interface", parents: []string{"project", "virtual-machine", "virtual-router"},
			refs: map[string]*property{
				"tag": nil, "virtual-machine": nil, "virtual-network": nil, "security-group": nil, "routing-instance": free,
				"virtual-machine-interface": nil,
			},
			props: props{
				"port_security_enabled": boolean, "virtual_machine_interface_device_owner": text, "virtual_machine_interface_disable_policy": boolean,
				"virtual_machine_interface_mac_addresses": macs, "virtual_machine_interface_properties": free,
			},
		},
		{
			name: "instance-ip", root: true, refs: of("virtual-network", "virtual-machine-interface", "network-ipam"),
			props: props{
				"instance_ip_address": text, "instance_ip_family": {values: []string{"v4", "v6"}}, "subnet_uuid": text, "instance_ip_secondary": boolean,
			},
		},
		{name: "floating-ip-pool", parents: []string{"virtual-network"}, refs: of()},
		{
			name: "floating-ip", parents: []string{"floating-ip-pool", "instance-ip"}, refs: of("project", "virtual-machine-interface"),
			props: props{
				"floating_ip_address": text, "floating_ip_port_mappings_enable": boolean, "floating_ip_port_mappings": portMappings,
				"floating_ip_traffic_direction": {values: []string{"ingress", "egress", "both"}},
			},
		},
		{
			name: "loadbalancer", parents: []string{"project"}, refs: of("virtual-machine-interface"),
			props: props{"loadbalancer_provider": text, "loadbalancer_properties": loadbalancer},
		},
		{
			name: "loadbalancer-listener", parents: []string{"project"}, refs: of("loadbalancer"),
			props: props{"loadbalancer_listener_properties": listener},
		},
		{
			name: "loadbalancer-pool", parents: []string{"project"}, refs: of("loadbalancer-listener", "virtual-machine-interface"),
			props: props{"loadbalancer_pool_properties": pool},
		},
		{name: "loadbalancer-member", parents: []string{"loadbalancer-pool"}, refs: of(), props: props{"loadbalancer_member_properties": poolMember}},
	} {
		k.complete()
		out[k.name] = k
	}
	return out
}

// complete adds what all kinds have.
func (k *kind) complete() {
	k.field = strings.ReplaceAll(k.name, "-", "_")
	words := strings.Split(k.name, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	k.title = strings.Join(words, " ")
	if k.props == nil {
		k.props = make(props)
	}
	if k.refs == nil {
		k.refs = map[string]*property{"tag": nil}
	}
	k.props["display_name"], k.props["annotations"] = text, annotations
	if k.secured {
		k.props["draft_mode_state"] = text
	}
}

func apsRefs(refs map[string]*property) map[string]*property {
	refs["global-vrouter-config"] = nil
	return refs
}

type props = map[string]*property

// The types of properties, as far as they are checked.
var (
	boolean = &property{boolean: true}
	integer = &property{integer: true}
	port    = &property{integer: true, min: -1, max: 65535}
	free    = structured("", nil) // not checked

	annotations = &property{wrapper: "key_value_pair", key: "key", class: &class{name: "KeyValuePairs", fields: props{
		"key_value_pair": listOf(structured("KeyValuePair", props{"key": text, "value": text})),
	}}}
	subnet  = &property{class: &class{name: "SubnetType", subnet: true, fields: props{"ip_prefix": text, "ip_prefix_len": integer}}}
	subnets = &property{wrapper: "subnet", class: &class{name: "SubnetListType", fields: props{"subnet": listOf(subnet)}}}
	ports   = structured("PortType", props{"start_port": port, "end_port": port})
	service = structured("FirewallServiceType", props{
		"protocol": text, "protocol_id": integer, "src_ports": ports, "dst_ports": ports,
	})
	services = &property{wrapper: "firewall_service", class: &class{name: "FirewallServiceGroupType", fields: props{
		"firewall_service": listOf(service),
	}}}
	endpoint = structured("FirewallRuleEndpointType", props{
		"subnet": subnet, "virtual_network": text, "address_group": text, "tags": listOf(text), "tag_ids": listOf(integer), "any": boolean,
	})
	actions = structured("ActionListType", props{
		"simple_action": {values: []string{"deny", "pass"}}, "log": boolean, "alert": boolean, "gateway_name": text,
		"apply_service": listOf(text), "mirror_to": free, "assign_routing_instance": text, "qos_action": text, "host_based_service": boolean,
	})
	tagList  = &property{wrapper: "tag_list", class: &class{name: "FirewallRuleMatchTagsType", fields: props{"tag_list": listOf(text)}}}
	tagTypes = structured("FirewallRuleMatchTagsTypeIdList", props{"tag_type": listOf(integer)})
	quota    = structured("QuotaType", props{
		"defaults": integer, "virtual_network": integer, "virtual_machine_interface": integer, "instance_ip": integer, "floating_ip": integer,
		"loadbalancer": integer, "loadbalancer_listener": integer, "loadbalancer_pool": integer, "loadbalancer_member": integer,
		"security_group": integer, "network_ipam": integer,
	})
	macs         = structured("MacAddressesType", props{"mac_address": listOf(text)})
	portMappings = structured("PortMappings", props{"port_mappings": listOf(structured("PortMap", props{
		"protocol": text, "src_port": integer, "dst_port": integer,
	}))})
	loadbalancer = structured("LoadbalancerType", props{
		"status": text, "provisioning_status": text, "operating_status": text, "vip_subnet_id": text, "vip_address": text, "admin_state": boolean,
	})
	listener = structured("LoadbalancerListenerType", props{
		"protocol": {values: []string{"HTTP", "HTTPS", "TCP", "UDP", "TERMINATED_HTTPS"}}, "protocol_port": integer, "admin_state": boolean,
		"connection_limit": integer, "default_tls_container": text, "sni_containers": listOf(text),
	})
	pool = structured("LoadbalancerPoolType", props{
		"status": text, "protocol": {values: []string{"HTTP", "HTTPS", "TCP", "UDP", "TERMINATED_HTTPS"}},
		"loadbalancer_method": {values: []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"}}, "subnet_id": text, "admin_state": boolean,
		"session_persistence": {values: []string{"SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"}}, "persistence_cookie_name": text,
	})
	poolMember = structured("LoadbalancerMemberType", props{
		"address": text, "protocol_port": integer, "weight": integer, "status": text, "admin_state": boolean,
	})
)
