package openwrt

import (
	"reflect"
	"sync"
)

// Kind is a kind of object on a device. The zero value is none.
type Kind int

// The kinds, in the order in which objects refer to each other: a kind never refers to a later one.
const (
	Policies      Kind = iota + 1 // of mwan3
	PolicyRules                   // of mwan3: selects a policy for traffic
	Zones                         // of the firewall
	Redirects                     // of the firewall: NAT between zones
	FirewallRules                 // of the firewall
	Forwardings                   // of the firewall
	Proposals                     // of ipsec
	Remotes                       // of ipsec, with their connections
	NATs                          // NAT between interfaces, at once
	NetworkRules                  // filtering between interfaces, at once
	Routes                        // at once
	RouteRules                    // selects a routing table for traffic, at once
	Applications                  // addresses whose traffic uses the table cnf, at once
)

// Kinds lists every kind, in their order.
func Kinds() []Kind {
	var out []Kind
	for k := range specs()[1:] {
		out = append(out, Kind(k+1))
	}
	return out
}

// spec describes a kind on the device.
type spec struct {
	module, collection, singular string
	service                      string // to reload; "" if changes take effect at once
	named                        bool
	resource                     Resource // a struct of the kind, whose tags are its fields
	fields                       []field
}

// specs has the row of every kind, in order. A new kind is a constant, a struct and a row.
var specs = sync.OnceValue(func() []spec {
	rows := []spec{
		Policies:      {"mwan3", "policies", "policy", "mwan3", true, Policy{}, nil},
		PolicyRules:   {"mwan3", "rules", "rule", "mwan3", true, PolicyRule{}, nil},
		Zones:         {"firewall", "zones", "zone", "firewall", false, Zone{}, nil},
		Redirects:     {"firewall", "redirects", "redirect", "firewall", false, Redirect{}, nil},
		FirewallRules: {"firewall", "rules", "rule", "firewall", false, FirewallRule{}, nil},
		Forwardings:   {"firewall", "forwardings", "forwarding", "firewall", false, Forwarding{}, nil},
		Proposals:     {"ipsec", "proposals", "proposal", "ipsec", true, Proposal{}, nil},
		Remotes:       {"ipsec", "remotes", "remote", "ipsec", true, Remote{}, nil},
		NATs:          {"nat", "nats", "nat", "", false, NAT{}, nil},
		NetworkRules:  {"networkfirewall", "rules", "rule", "", false, NetworkRule{}, nil},
		Routes:        {"route", "routes", "route", "", false, Route{}, nil},
		RouteRules:    {"rule", "rules", "rule", "", false, RouteRule{}, nil},
		Applications:  {"application", "applications", "application", "", true, Application{}, nil},
	}
	for i := range rows[1:] {
		rows[i+1].fields = fieldsOf(reflect.TypeOf(rows[i+1].resource))
	}
	return rows
})

// spec describes k; ok is false for a kind that does not exist.
func (k Kind) spec() (s spec, ok bool) {
	all := specs()
	if k <= 0 || int(k) >= len(all) {
		return spec{}, false
	}
	return all[k], true
}

// String is the kind as in addresses, such as firewall/zones.
func (k Kind) String() string {
	s, ok := k.spec()
	if !ok {
		return "no kind"
	}
	return s.module + "/" + s.collection
}

// Service is the service that must be reloaded for a change to take effect; "" if changes take effect at once.
func (k Kind) Service() string {
	s, _ := k.spec()
	return s.service
}

// Named reports whether the device stores objects of k under their names, which must then be valid in UCI. All objects of
// one module share one namespace, and a second object of the same name is a conflict. Kinds that are not named accept any
// name, any number of times.
func (k Kind) Named() bool {
	s, _ := k.spec()
	return s.named
}

// path is the address of the collection, relative to LuCI's.
func (s spec) path() string { return "sdewan/" + s.module + "/v1/" + s.collection }
