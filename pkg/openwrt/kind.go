package openwrt

// Kind is a kind of object that a device keeps. The zero value is none.
type Kind int

// The kinds, in the order in which objects refer to each other: what comes first refers to nothing that comes later.
const (
	Policies      Kind = iota + 1 // of mwan3
	PolicyRules                   // of mwan3: which traffic follows which policy
	Zones                         // of the firewall
	Redirects                     // of the firewall: translation of addresses between zones
	FirewallRules                 // of the firewall
	Forwardings                   // of the firewall
	Proposals                     // of ipsec
	Remotes                       // of ipsec, with their connections
	NATs                          // translation of addresses between interfaces, at once
	NetworkRules                  // filtering between interfaces, at once
	Routes                        // at once
	RouteRules                    // which traffic looks up which table of routes, at once
	Applications                  // addresses whose traffic looks up the table cnf, at once
)

// Kinds lists every kind, in their order.
func Kinds() []Kind {
	out := make([]Kind, 0, Applications)
	for k := Policies; k <= Applications; k++ {
		out = append(out, k)
	}
	return out
}

// shape is what a value of a field looks like.
type shape int

const (
	text    shape = iota
	list          // of texts
	set           // a list whose order says nothing
	objects       // a list of objects
	flag          // true or false, always there
)

// field is a field of a kind as the device spells it.
type field struct {
	name    string
	shape   shape
	secret  bool    // must not be seen
	blind   bool    // cannot be read back
	without string  // the value of a field that is absent
	of      []field // of objects
	key     string  // of objects: the field that tells them apart
}

// spec is what the device makes of a kind.
type spec struct {
	module, collection, singular, service string
	named                                 bool
	fields                                []field
}

// spec describes k; ok is false for a kind that does not exist.
func (k Kind) spec() (s spec, ok bool) {
	switch k {
	case Policies:
		return spec{"mwan3", "policies", "policy", "mwan3", true, fields(
			field{name: "members", shape: objects, of: texts("interface", "metric", "weight"), key: "interface"},
		)}, true
	case PolicyRules:
		return spec{"mwan3", "rules", "rule", "mwan3", true, texts("name", "policy", "src_ip", "src_port", "dest_ip", "dest_port",
			"proto", "family", "sticky", "timeout")}, true
	case Zones:
		return spec{"firewall", "zones", "zone", "firewall", false, append(sets("network", "masq_src", "masq_dest", "subnet"),
			texts("name", "masq", "masq_allow_invalid", "mtu_fix", "input", "forward", "output", "family", "extra_src",
				"etra_dest")...)}, true // etra_dest is how the device spells it
	case Redirects:
		return spec{"firewall", "redirects", "redirect", "firewall", false, texts("name", "src", "src_ip", "src_dip", "src_mac",
			"src_port", "src_dport", "proto", "dest", "dest_ip", "dest_port", "mark", "target", "family")}, true
	case FirewallRules:
		return spec{"firewall", "rules", "rule", "firewall", false, ruleFields()}, true
	case Forwardings:
		return spec{"firewall", "forwardings", "forwarding", "firewall", false, texts("name", "src", "dest", "family")}, true
	case Proposals:
		return spec{"ipsec", "proposals", "proposal", "ipsec", true, texts("name", "encryption_algorithm", "hash_algorithm",
			"dh_group")}, true
	case Remotes:
		return spec{"ipsec", "remotes", "remote", "ipsec", true, remoteFields()}, true
	case NATs:
		return spec{"nat", "nats", "nat", "", false, texts("name", "src", "src_ip", "src_dip", "src_port", "src_dport", "proto",
			"dest", "dest_ip", "dest_port", "target", "index")}, true
	case NetworkRules:
		return spec{"networkfirewall", "rules", "rule", "", false, ruleFields()}, true
	case Routes:
		return spec{"route", "routes", "route", "", false, texts("name", "dst", "src", "gw", "dev", "table")}, true
	case RouteRules:
		return spec{"rule", "rules", "rule", "", false, append(texts("name", "src", "dst", "prio", "table", "fwmark"),
			field{name: "flag", shape: flag})}, true
	case Applications:
		return spec{"application", "applications", "application", "", true, texts("name", "iplist")}, true
	}
	return spec{}, false
}

func fields(more ...field) []field { return append([]field{{name: "name"}}, more...) }

func texts(names ...string) []field {
	out := make([]field, 0, len(names))
	for _, n := range names {
		out = append(out, field{name: n})
	}
	return out
}

func sets(names ...string) []field {
	out := texts(names...)
	for i := range out {
		out[i].shape = set
	}
	return out
}

func ruleFields() []field {
	return append(sets("icmp_type"), texts("name", "src", "src_ip", "src_mac", "src_port", "proto", "dest", "dest_ip",
		"dest_port", "mark", "target", "set_mark", "set_xmark", "family", "extra")...)
}

func remoteFields() []field {
	proposals := field{name: "crypto_proposal", shape: list} // in order of preference
	connection := append(texts("name", "conn_type", "mode", "local_subnet", "local_nat", "local_sourceip", "local_updown",
		"local_firewall", "remote_subnet", "remote_sourceip", "remote_updown", "remote_firewall", "mark"), proposals)
	return append(texts("name", "type", "gateway", "authentication_method", "local_identifier", "remote_identifier",
		"force_crypto_proposal"),
		field{name: "enabled", without: "1"},
		field{name: "pre_shared_key", secret: true},
		field{name: "local_public_cert", blind: true},
		field{name: "local_private_cert", secret: true, blind: true},
		field{name: "shared_ca", blind: true},
		proposals,
		field{name: "connections", shape: objects, of: connection, key: "name"},
	)
}

// String is the kind as addresses spell it, such as firewall/zones.
func (k Kind) String() string {
	s, ok := k.spec()
	if !ok {
		return "no kind"
	}
	return s.module + "/" + s.collection
}

// Service is the service that must be reloaded for a change to take effect; "" for a kind whose changes do at once.
func (k Kind) Service() string {
	s, _ := k.spec()
	return s.service
}

// Named says whether the device keeps objects of k under their names, which must be UCI's then. All objects of one module
// share one space of such names, and a second object of the same name is a conflict. Kinds that are not named take any
// name, and take it as often as it comes.
func (k Kind) Named() bool {
	s, _ := k.spec()
	return s.named
}

// path is the address of the collection, relative to that of LuCI.
func (s spec) path() string { return "sdewan/" + s.module + "/v1/" + s.collection }
