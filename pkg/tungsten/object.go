package tungsten

import (
	"encoding/json"
	"strings"
)

// Object is an object of the configuration, reduced to the fields that a network policy, a load balancer or the interface of a
// pod has; fields are spelled as the server spells them. The zero value of a field means that it is absent: the server does not
// store empty lists and maps either. Fields that are not here are ignored when an object is read and kept when it is updated.
type Object struct {
	Kind        Kind         `json:"-"`
	UUID        string       `json:"uuid,omitempty"`
	FQName      []string     `json:"fq_name,omitempty"`
	ParentType  Kind         `json:"parent_type,omitempty"`
	ParentUUID  string       `json:"parent_uuid,omitempty"`
	IDPerms     *IDPerms     `json:"id_perms,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
	TagRefs     []Ref        `json:"tag_refs,omitempty"` // computed in a firewall rule

	// Tags and their types.
	TagTypeID   string `json:"tag_type_id,omitempty"` // computed; 16 bits in hexadecimal: "0x00ff"
	TagTypeName string `json:"tag_type_name,omitempty"`
	TagValue    string `json:"tag_value,omitempty"`
	TagID       string `json:"tag_id,omitempty"` // computed; the type's ID, then 16 bits of the value: "0x00ff0000"

	// Address groups and service groups.
	AddressGroupPrefix *Subnets  `json:"address_group_prefix,omitempty"`
	ServiceGroupList   *Services `json:"service_group_firewall_service_list,omitempty"`

	// Firewall rules.
	Endpoint1        *Endpoint `json:"endpoint_1,omitempty"`
	Endpoint2        *Endpoint `json:"endpoint_2,omitempty"`
	Service          *Service  `json:"service,omitempty"`
	ServiceGroupRefs []Ref     `json:"service_group_refs,omitempty"`
	AddressGroupRefs []Ref     `json:"address_group_refs,omitempty"` // computed
	Direction        string    `json:"direction,omitempty"`          // ">", "<" or "<>"
	ActionList       *Actions  `json:"action_list,omitempty"`
	MatchTags        *TagList  `json:"match_tags,omitempty"`

	// Firewall policies and application policy sets.
	FirewallRuleRefs   []Ref `json:"firewall_rule_refs,omitempty"`
	FirewallPolicyRefs []Ref `json:"firewall_policy_refs,omitempty"`
	GlobalVRouterRefs  []Ref `json:"global_vrouter_config_refs,omitempty"` // of a policy set for all interfaces
	AllApplications    bool  `json:"all_applications,omitempty"`           // computed

	// The global system configuration and projects.
	SecurityPolicyDraft bool `json:"enable_security_policy_draft,omitempty"`

	// Virtual machines, interfaces, their addresses.
	VirtualMachineRefs []Ref  `json:"virtual_machine_refs,omitempty"`
	VirtualNetworkRefs []Ref  `json:"virtual_network_refs,omitempty"`
	InterfaceRefs      []Ref  `json:"virtual_machine_interface_refs,omitempty"`
	InterfaceBackRefs  []Ref  `json:"virtual_machine_interface_back_refs,omitempty"`
	InstanceIPBackRefs []Ref  `json:"instance_ip_back_refs,omitempty"`
	FloatingIPBackRefs []Ref  `json:"floating_ip_back_refs,omitempty"`
	DeviceOwner        string `json:"virtual_machine_interface_device_owner,omitempty"`
	DisablePolicy      bool   `json:"virtual_machine_interface_disable_policy,omitempty"`
	InstanceIPAddress  string `json:"instance_ip_address,omitempty"`
	InstanceIPFamily   string `json:"instance_ip_family,omitempty"` // "v4" or "v6"

	// Floating addresses.
	FloatingIPAddress             string        `json:"floating_ip_address,omitempty"`
	FloatingIPPortMappingsEnabled bool          `json:"floating_ip_port_mappings_enable,omitempty"`
	FloatingIPPortMappings        *PortMappings `json:"floating_ip_port_mappings,omitempty"`
	FloatingIPTrafficDirection    string        `json:"floating_ip_traffic_direction,omitempty"`
	ProjectRefs                   []Ref         `json:"project_refs,omitempty"`

	// Load balancers, their listeners, pools and members.
	LoadBalancerProvider   string                  `json:"loadbalancer_provider,omitempty"`
	LoadBalancerProperties *LoadBalancerProperties `json:"loadbalancer_properties,omitempty"`
	LoadBalancerRefs       []Ref                   `json:"loadbalancer_refs,omitempty"`
	ListenerProperties     *ListenerProperties     `json:"loadbalancer_listener_properties,omitempty"`
	ListenerRefs           []Ref                   `json:"loadbalancer_listener_refs,omitempty"`
	PoolProperties         *PoolProperties         `json:"loadbalancer_pool_properties,omitempty"`
	MemberProperties       *MemberProperties       `json:"loadbalancer_member_properties,omitempty"`
}

// Name is the last part of the object's fully qualified name.
func (o *Object) Name() string {
	if len(o.FQName) == 0 {
		return ""
	}
	return o.FQName[len(o.FQName)-1]
}

// Ref is a reference to another object.
type Ref struct {
	To   []string `json:"to"`             // fully qualified name; ["ERROR"] if the target no longer exists
	UUID string   `json:"uuid,omitempty"` // of the target; never sent, because the server would store a wrong one
	Attr *RefAttr `json:"attr"`
}

// RefAttr is what a reference to a firewall policy or a firewall rule carries.
type RefAttr struct {
	Sequence string `json:"sequence,omitempty"` // compared as text: "10" comes before "2"
}

// RefTo is a reference to the object with this fully qualified name.
func RefTo(fqName ...string) Ref { return Ref{To: fqName} }

// InSequence is a copy of r at a place in the order of a policy or a policy set.
func (r Ref) InSequence(sequence string) Ref {
	r.Attr = &RefAttr{Sequence: sequence}
	return r
}

// Sequence is the place of r in the order of a policy or a policy set, "" if it has none.
func (r Ref) Sequence() string {
	if r.Attr == nil {
		return ""
	}
	return r.Attr.Sequence
}

// Dangling reports whether the target was deleted. Remove such a reference by its UUID, see Client.RemoveRef.
func (r Ref) Dangling() bool { return len(r.To) == 1 && r.To[0] == "ERROR" }

// Target is the fully qualified name of the target in one string: "default-policy-management:web".
func (r Ref) Target() string { return strings.Join(r.To, ":") }

// MarshalJSON omits the UUID.
func (r Ref) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		To   []string `json:"to"`
		Attr *RefAttr `json:"attr"`
	}{r.To, r.Attr})
}

// IDPerms is what the server keeps of an object's history.
type IDPerms struct {
	Created      string `json:"created,omitempty"`
	LastModified string `json:"last_modified,omitempty"` // changes with the object, not with references to it
}
