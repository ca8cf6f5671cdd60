package tungsten

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// Endpoint is one end of a firewall rule. At most one of its fields may be set; none means any.
type Endpoint struct {
	Tags           []string `json:"tags,omitempty"`            // all must match: "global:tier=web" or, in the rule's own scope, "tier=web"
	TagIDs         []int64  `json:"tag_ids,omitempty"`         // computed
	AddressGroup   string   `json:"address_group,omitempty"`   // fully qualified name in one string
	VirtualNetwork string   `json:"virtual_network,omitempty"` // the same; the server does not check that it exists
	Subnet         *Subnet  `json:"subnet,omitempty"`
	Any            bool     `json:"any,omitempty"`
}

// Service is the protocol and the ports of a firewall rule.
type Service struct {
	Protocol string `json:"protocol,omitempty"` // a name: "tcp", "udp", "icmp", "icmp6", "sctp" or "any"
	SrcPorts *Ports `json:"src_ports,omitempty"`
	DstPorts *Ports `json:"dst_ports,omitempty"`
}

// Ports is a range of ports; both ends belong to it.
type Ports struct {
	Start int `json:"start_port"`
	End   int `json:"end_port"`
}

// Services is the list of a service group.
type Services struct {
	FirewallService []Service `json:"firewall_service"`
}

// Actions is what a firewall rule does. A rule without a simple action never matches.
type Actions struct {
	SimpleAction string `json:"simple_action,omitempty"` // "pass" or "deny"
	Log          bool   `json:"log,omitempty"`

	// What else others may have a rule do.
	Alert            bool            `json:"alert,omitempty"`
	Gateway          string          `json:"gateway_name,omitempty"`
	ApplyService     []string        `json:"apply_service,omitempty"`
	MirrorTo         json.RawMessage `json:"mirror_to,omitempty"`
	RoutingInstance  string          `json:"assign_routing_instance,omitempty"`
	QoS              string          `json:"qos_action,omitempty"`
	HostBasedService bool            `json:"host_based_service,omitempty"`
}

// TagList lists the tag types whose values must be equal at both ends of a firewall rule.
type TagList struct {
	TagList []string `json:"tag_list"`
}

// Subnets is a list of prefixes.
type Subnets struct {
	Subnet []Subnet `json:"subnet"`
}

// Subnet is a prefix as the server spells it.
type Subnet struct {
	IPPrefix    string `json:"ip_prefix"`
	IPPrefixLen int    `json:"ip_prefix_len"`
}

// SubnetOf spells a prefix as the server does: it clears the bits of the host.
func SubnetOf(p netip.Prefix) Subnet {
	p = p.Masked()
	return Subnet{IPPrefix: p.Addr().String(), IPPrefixLen: p.Bits()}
}

// Prefix parses s.
func (s Subnet) Prefix() (netip.Prefix, error) {
	addr, err := netip.ParseAddr(s.IPPrefix)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("subnet: %w", err)
	}
	p, err := addr.Prefix(s.IPPrefixLen)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("subnet: %w", err)
	}
	return p, nil
}

// Annotations are the notes of an object: keys are unique, and the server sorts them.
type Annotations struct {
	KeyValuePair []KeyValue `json:"key_value_pair"`
}

// KeyValue is one note.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// PortMappings are the port translations of a floating address.
type PortMappings struct {
	PortMappings []PortMapping `json:"port_mappings"`
}

// PortMapping translates one port of a floating address.
type PortMapping struct {
	Protocol string `json:"protocol,omitempty"`
	SrcPort  int    `json:"src_port"`
	DstPort  int    `json:"dst_port"`
}

// LoadBalancerProperties are those of a load balancer.
type LoadBalancerProperties struct {
	ProvisioningStatus string `json:"provisioning_status,omitempty"`
	OperatingStatus    string `json:"operating_status,omitempty"`
	VIPAddress         string `json:"vip_address,omitempty"`
	VIPSubnetID        string `json:"vip_subnet_id,omitempty"`
}

// ListenerProperties are those of a listener.
type ListenerProperties struct {
	Protocol     string `json:"protocol,omitempty"` // "TCP", "UDP", "HTTP", "HTTPS" or "TERMINATED_HTTPS"
	ProtocolPort int    `json:"protocol_port,omitempty"`
}

// PoolProperties are those of a pool.
type PoolProperties struct {
	Protocol           string `json:"protocol,omitempty"`
	Method             string `json:"loadbalancer_method,omitempty"` // "ROUND_ROBIN", "LEAST_CONNECTIONS" or "SOURCE_IP"
	SessionPersistence string `json:"session_persistence,omitempty"`
}

// MemberProperties are those of a member. Its target is the interface that the annotation vmi names, not the address.
type MemberProperties struct {
	Address      string `json:"address,omitempty"`
	ProtocolPort int    `json:"protocol_port,omitempty"`
}
