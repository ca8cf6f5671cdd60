package openwrt

import "reflect"

// Resource is a typed object: one of the structs of this package. The tag `wire` is the name of a field on the device,
// and after commas what the type cannot express: set, a list without a meaningful order; writeonly, a value that cannot be
// read back; without=value, the device's default for an absent field; key=field, the field that identifies the objects of
// a list.
type Resource interface {
	// Kind is the kind of the object.
	Kind() Kind
}

// ObjectOf is r as a canonical Object.
func ObjectOf(r Resource) Object {
	s, _ := r.Kind().spec()
	return canonical(s.fields, valuesOf(s.fields, reflect.Indirect(reflect.ValueOf(r))))
}

// valuesOf reads the fields of a struct.
func valuesOf(fields []field, v reflect.Value) Object {
	out := Object{}
	for _, f := range fields {
		value := v.Field(f.index)
		if f.shape != objects {
			out[f.name] = value.Interface()
			continue
		}
		inner := make([]Object, 0, value.Len())
		for i := range value.Len() {
			inner = append(inner, valuesOf(f.of, value.Index(i)))
		}
		out[f.name] = inner
	}
	return out
}

// Policy is a policy of mwan3: the interfaces by which traffic leaves.
type Policy struct {
	Name    string   `wire:"name"`
	Members []Member `wire:"members,key=interface"`
}

// Member is an interface of a policy. Those of the lowest metric are used, in proportion to their weights.
type Member struct {
	Interface string `wire:"interface"`
	Metric    string `wire:"metric"` // a number from 1
	Weight    string `wire:"weight"` // a number from 1
}

// PolicyRule selects the policy for traffic; the first matching rule decides.
type PolicyRule struct {
	Name     string `wire:"name"`
	Policy   string `wire:"policy"`
	SrcIP    string `wire:"src_ip"`
	SrcPort  string `wire:"src_port"`
	DestIP   string `wire:"dest_ip"`
	DestPort string `wire:"dest_port"`
	Proto    string `wire:"proto"`  // tcp, udp, icmp or all
	Family   string `wire:"family"` // ipv4, ipv6 or all
	Sticky   string `wire:"sticky"` // 0 or 1
	Timeout  string `wire:"timeout"`
}

// Zone is a zone of the firewall.
type Zone struct {
	Name             string   `wire:"name"` // at most 11 characters
	Network          []string `wire:"network,set"`
	Masq             string   `wire:"masq"` // 0 or 1
	MasqSrc          []string `wire:"masq_src,set"`
	MasqDest         []string `wire:"masq_dest,set"`
	MasqAllowInvalid string   `wire:"masq_allow_invalid"`
	MTUFix           string   `wire:"mtu_fix"`
	Input            string   `wire:"input"` // ACCEPT, REJECT or DROP
	Forward          string   `wire:"forward"`
	Output           string   `wire:"output"`
	Family           string   `wire:"family"` // ipv4, ipv6 or any
	Subnet           []string `wire:"subnet,set"`
	ExtraSrc         string   `wire:"extra_src"`
	ExtraDest        string   `wire:"etra_dest"` // the device's spelling
}

// Redirect translates addresses between zones.
type Redirect struct {
	Name     string `wire:"name"`
	Src      string `wire:"src"`
	SrcIP    string `wire:"src_ip"`
	SrcDIP   string `wire:"src_dip"`
	SrcMAC   string `wire:"src_mac"`
	SrcPort  string `wire:"src_port"`
	SrcDPort string `wire:"src_dport"`
	Proto    string `wire:"proto"`
	Dest     string `wire:"dest"`
	DestIP   string `wire:"dest_ip"`
	DestPort string `wire:"dest_port"`
	Mark     string `wire:"mark"`
	Target   string `wire:"target"` // DNAT or SNAT
	Family   string `wire:"family"`
}

// Filter has the common fields of firewall rules and rules between interfaces.
type Filter struct {
	Name     string   `wire:"name"`
	Src      string   `wire:"src"`
	SrcIP    string   `wire:"src_ip"`
	SrcMAC   string   `wire:"src_mac"`
	SrcPort  string   `wire:"src_port"`
	Proto    string   `wire:"proto"`
	ICMPType []string `wire:"icmp_type,set"`
	Dest     string   `wire:"dest"`
	DestIP   string   `wire:"dest_ip"`
	DestPort string   `wire:"dest_port"`
	Mark     string   `wire:"mark"`
	Target   string   `wire:"target"` // ACCEPT, REJECT, DROP, MARK or NOTRACK
	SetMark  string   `wire:"set_mark"`
	SetXMark string   `wire:"set_xmark"`
	Family   string   `wire:"family"`
	Extra    string   `wire:"extra"`
}

// FirewallRule is a rule between zones.
type FirewallRule Filter

// NetworkRule is a rule between interfaces, applied at once. Places are interfaces, #default or # and an address.
type NetworkRule Filter

// Forwarding lets one zone reach another.
type Forwarding struct {
	Name   string `wire:"name"`
	Src    string `wire:"src"`
	Dest   string `wire:"dest"`
	Family string `wire:"family"`
}

// Proposal is a choice of algorithms for ipsec.
type Proposal struct {
	Name       string `wire:"name"`
	Encryption string `wire:"encryption_algorithm"`
	Hash       string `wire:"hash_algorithm"`
	DHGroup    string `wire:"dh_group"`
}

// Remote is a peer of ipsec.
type Remote struct {
	Name             string       `wire:"name"`
	Type             string       `wire:"type"`
	Gateway          string       `wire:"gateway"`
	Enabled          string       `wire:"enabled,without=1"`
	Authentication   string       `wire:"authentication_method"` // psk or pubkey
	PreSharedKey     Secret       `wire:"pre_shared_key"`
	LocalIdentifier  string       `wire:"local_identifier"`
	RemoteIdentifier string       `wire:"remote_identifier"`
	CryptoProposal   []string     `wire:"crypto_proposal"`
	ForceProposal    string       `wire:"force_crypto_proposal"`       // 0 or 1
	PublicCert       string       `wire:"local_public_cert,writeonly"` // PEM in base64; several are joined with three underscores
	PrivateKey       Secret       `wire:"local_private_cert,writeonly"`
	SharedCA         string       `wire:"shared_ca,writeonly"`
	Connections      []Connection `wire:"connections,key=name"`
}

// Connection is a tunnel or transport to a remote.
type Connection struct {
	Name           string   `wire:"name"`      // shares its namespace with remotes and proposals
	Type           string   `wire:"conn_type"` // tunnel or transport
	Mode           string   `wire:"mode"`      // start, add or route
	LocalSubnet    string   `wire:"local_subnet"`
	LocalNAT       string   `wire:"local_nat"`
	LocalSourceIP  string   `wire:"local_sourceip"`
	LocalUpDown    string   `wire:"local_updown"`
	LocalFirewall  string   `wire:"local_firewall"` // yes or no
	RemoteSubnet   string   `wire:"remote_subnet"`
	RemoteSourceIP string   `wire:"remote_sourceip"`
	RemoteUpDown   string   `wire:"remote_updown"`
	RemoteFirewall string   `wire:"remote_firewall"`
	CryptoProposal []string `wire:"crypto_proposal"`
	Mark           string   `wire:"mark"`
}

// NAT translates addresses between interfaces, at once. Places are interfaces, #default or #source.
type NAT struct {
	Name     string `wire:"name"`
	Src      string `wire:"src"`
	SrcIP    string `wire:"src_ip"`
	SrcDIP   string `wire:"src_dip"`
	SrcPort  string `wire:"src_port"`
	SrcDPort string `wire:"src_dport"`
	Proto    string `wire:"proto"`
	Dest     string `wire:"dest"`
	DestIP   string `wire:"dest_ip"`
	DestPort string `wire:"dest_port"`
	Target   string `wire:"target"` // DNAT, SNAT or MASQUERADE
	Index    string `wire:"index"`  // position in the chain from 1; 0 or "" means the end
}

// Route is a route, applied at once.
type Route struct {
	Name  string `wire:"name"`
	Dst   string `wire:"dst"` // a prefix, or default
	Src   string `wire:"src"`
	GW    string `wire:"gw"`
	Dev   string `wire:"dev"`   // an interface, #default or # and an address
	Table string `wire:"table"` // default or cnf
}

// RouteRule selects the routing table for traffic, at once.
type RouteRule struct {
	Name   string `wire:"name"`
	Src    string `wire:"src"`
	Dst    string `wire:"dst"`
	Prio   string `wire:"prio"`
	Table  string `wire:"table"` // main, local, default or a number; "" is main
	FWMark string `wire:"fwmark"`
	Not    bool   `wire:"flag"` // inverts the match
}

// Application is a list of addresses whose traffic uses the table cnf, at once.
type Application struct {
	Name   string `wire:"name"`
	IPList string `wire:"iplist"` // addresses with commas between them
}

// Kind is Policies.
func (Policy) Kind() Kind { return Policies }

// Kind is PolicyRules.
func (PolicyRule) Kind() Kind { return PolicyRules }

// Kind is Zones.
func (Zone) Kind() Kind { return Zones }

// Kind is Redirects.
func (Redirect) Kind() Kind { return Redirects }

// Kind is FirewallRules.
func (FirewallRule) Kind() Kind { return FirewallRules }

// Kind is NetworkRules.
func (NetworkRule) Kind() Kind { return NetworkRules }

// Kind is Forwardings.
func (Forwarding) Kind() Kind { return Forwardings }

// Kind is Proposals.
func (Proposal) Kind() Kind { return Proposals }

// Kind is Remotes.
func (Remote) Kind() Kind { return Remotes }

// Kind is NATs.
func (NAT) Kind() Kind { return NATs }

// Kind is Routes.
func (Route) Kind() Kind { return Routes }

// Kind is RouteRules.
func (RouteRule) Kind() Kind { return RouteRules }

// Kind is Applications.
func (Application) Kind() Kind { return Applications }
