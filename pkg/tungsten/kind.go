package tungsten

import "strings"

// Kind is the type of an object as addresses and envelopes spell it: "firewall-rule".
type Kind string

// The kinds that a network policy or a load balancer is made of, and those that they refer to.
const (
	KindTagType              Kind = "tag-type"
	KindTag                  Kind = "tag"
	KindAddressGroup         Kind = "address-group"
	KindServiceGroup         Kind = "service-group"
	KindFirewallRule         Kind = "firewall-rule"
	KindFirewallPolicy       Kind = "firewall-policy"
	KindApplicationPolicySet Kind = "application-policy-set"
	KindPolicyManagement     Kind = "policy-management"
	KindDomain               Kind = "domain"
	KindProject              Kind = "project"
	KindGlobalSystemConfig   Kind = "global-system-config"
	KindVirtualNetwork       Kind = "virtual-network"
	KindVirtualMachine       Kind = "virtual-machine"
	KindInterface            Kind = "virtual-machine-interface"
	KindInstanceIP           Kind = "instance-ip"
	KindFloatingIP           Kind = "floating-ip"
	KindLoadBalancer         Kind = "loadbalancer"
	KindListener             Kind = "loadbalancer-listener"
	KindPool                 Kind = "loadbalancer-pool"
	KindMember               Kind = "loadbalancer-member"
)

// collection is the name of the list of all objects of a kind. The server always appends an s: "firewall-policys".
func (k Kind) collection() string { return string(k) + "s" }

// RefField is the field that lists an object's references to objects of this kind: "firewall_rule_refs".
func (k Kind) RefField() string { return k.field() + "_refs" }

// BackRefField is the field that lists the objects of this kind that refer to an object: "instance_ip_back_refs".
func (k Kind) BackRefField() string { return k.field() + "_back_refs" }

// field is the kind as fields spell it.
func (k Kind) field() string { return strings.ReplaceAll(string(k), "-", "_") }
