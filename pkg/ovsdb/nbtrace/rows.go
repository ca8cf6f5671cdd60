package nbtrace

import (
	"net/netip"
	"strings"
)

// Rows is the part of a Northbound database that decides on packets, wherever it was read from.
type Rows struct {
	ACLs               []ACL
	PortGroups         []PortGroup
	AddressSets        []AddressSet
	Switches           []Switch
	Routers            []Router
	Ports              []Port
	LoadBalancers      []LoadBalancer
	LoadBalancerGroups []LoadBalancerGroup
	TemplateVars       []TemplateVars
	RouterNetworks     []string          // addresses of router ports with their prefix lengths
	Options            map[string]string // of NB_Global; only default_acl_drop is used
}

// ACL is a row of the ACL table.
type ACL struct {
	UUID        string
	Direction   string // from-lport or to-lport
	Priority    int
	Tier        int
	Match       string
	Action      string // allow, allow-related, allow-stateless, drop, reject or pass
	Name        string
	Options     map[string]string // only apply-after-lb is used
	ExternalIDs map[string]string
}

// PortGroup is a row of the Port_Group table.
type PortGroup struct {
	Name        string
	Ports       []string // names of logical switch ports
	ACLs        []string // UUIDs
	ExternalIDs map[string]string
}

// AddressSet is a row of the Address_Set table.
type AddressSet struct {
	Name        string
	Addresses   []string // addresses and prefixes of either family
	ExternalIDs map[string]string
}

// Switch is a row of the Logical_Switch table.
type Switch struct {
	Name               string
	Ports              []string // names of logical switch ports
	ACLs               []string // UUIDs
	LoadBalancers      []string // UUIDs
	LoadBalancerGroups []string // UUIDs
}

// Router is a row of the Logical_Router table.
type Router struct {
	Name               string
	LoadBalancers      []string // UUIDs
	LoadBalancerGroups []string // UUIDs
}

// Port is a row of the Logical_Switch_Port table.
type Port struct {
	Name        string
	Type        string   // "" is a pod or VM
	Addresses   []string // MAC and IP addresses, several in one string; anything else is skipped
	ExternalIDs map[string]string
}

// uplink reports whether packets leave the switch, and come to it, through p.
func (p *Port) uplink() bool { return p.Type == "router" || p.Type == "localnet" }

// IPs lists the IP addresses of p.
func (p *Port) IPs() []netip.Addr {
	var out []netip.Addr
	for _, text := range p.Addresses {
		for word := range strings.FieldsSeq(text) {
			if a, err := netip.ParseAddr(word); err == nil {
				out = append(out, a)
			}
		}
	}
	return out
}

// LoadBalancer is a row of the Load_Balancer table.
type LoadBalancer struct {
	UUID        string
	Name        string
	VIPs        map[string]string // address:port to backends, separated by commas
	Protocol    string            // tcp, udp or sctp; "" is tcp
	Options     map[string]string // only template, address-family, reject and hairpin_snat_ip are used
	ExternalIDs map[string]string
}

// LoadBalancerGroup is a row of the Load_Balancer_Group table.
type LoadBalancerGroup struct {
	UUID          string
	Name          string
	LoadBalancers []string // UUIDs
}

// TemplateVars is a row of the Chassis_Template_Var table.
type TemplateVars struct {
	Chassis   string // its system-id
	Variables map[string]string
}
