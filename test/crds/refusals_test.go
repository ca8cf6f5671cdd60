package crds_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mistake is a sample with something wrong in its spec, and what the user reads.
type mistake struct{ name, sample, spec, want string }

func mistakes() []mistake {
	const (
		address = "must be an IPv4 address such as 10.0.0.1, or a prefix such as 10.0.0.0/24"
		port    = "must be a port, 1 to 65535"
	)
	return []mistake{
		{
			"a policy of nothing", "mwan3policy", `{members: []}`,
			`spec.members: Invalid value: 0: spec.members in body should have at least 1 items`,
		},
		{"a policy without members", "mwan3policy", `{members: null}`, `spec.members: Required value`},
		{
			"a network twice", "mwan3policy", `{members: [{network: a, metric: 1, weight: 1}, {network: a, metric: 2, weight: 1}]}`,
			`spec.members[1]: Duplicate value: {"network":"a"}`,
		},
		{
			"a member without network", "mwan3policy", `{members: [{network: "", metric: 1, weight: 1}]}`,
			`spec.members[0].network: Invalid value: "": spec.members[0].network in body should be at least 1 chars long`,
		},
		{
			"a metric of 0", "mwan3policy", `{members: [{network: a, metric: 0, weight: 1}]}`,
			`spec.members[0].metric: Invalid value: 0: spec.members[0].metric in body should be greater than or equal to 1`,
		},
		{
			"a metric that mwan3 passes over", "mwan3policy", `{members: [{network: a, metric: 257, weight: 1}]}`,
			`spec.members[0].metric: Invalid value: 257: spec.members[0].metric in body should be less than or equal to 256`,
		},
		{
			"a weight of 0", "mwan3policy", `{members: [{network: a, metric: 1, weight: 0}]}`,
			`spec.members[0].weight: Invalid value: 0: spec.members[0].weight in body should be greater than or equal to 1`,
		},
		{
			"too much weight", "mwan3policy", `{members: [{network: a, metric: 1, weight: 1001}]}`,
			`spec.members[0].weight: Invalid value: 1001: spec.members[0].weight in body should be less than or equal to 1000`,
		},
		{"a member without weight", "mwan3policy", `{members: [{network: a, metric: 1}]}`, `spec.members[0].weight: Required value`},

		{"a rule without a key", "mwan3rule", `{sticky: null}`, `spec.sticky: Required value`},
		{
			"a rule without policy", "mwan3rule", `{policy: ""}`,
			`spec.policy: Invalid value: "": spec.policy in body should be at least 1 chars long`,
		},
		{"an address out of range", "mwan3rule", `{src_ip: 10.0.0.256}`, `spec.src_ip: Invalid value: "10.0.0.256": ` + address},
		{"an address of IPv6", "mwan3rule", `{src_ip: "2001:db8::1"}`, `spec.src_ip: Invalid value: "2001:db8::1": ` + address},
		{
			"a range of addresses", "mwan3rule", `{src_ip: 10.0.0.1-10.0.0.9}`,
			`spec.src_ip: Invalid value: "10.0.0.1-10.0.0.9": ` + address,
		},
		{"two addresses", "mwan3rule", `{src_ip: "10.0.0.1 10.0.0.128"}`, `spec.src_ip: Too long: may not be more than 18 bytes`},
		{"a prefix that is too long", "mwan3rule", `{dest_ip: 10.0.0.0/33}`, `spec.dest_ip: Invalid value: "10.0.0.0/33": ` + address},
		{"an address with a leading zero", "mwan3rule", `{dest_ip: 10.0.0.010}`, `spec.dest_ip: Invalid value: "10.0.0.010": ` + address},
		{"port 0", "mwan3rule", `{src_port: "0"}`, `spec.src_port: Invalid value: "0": ` + port},
		{"a port too many", "mwan3rule", `{dest_port: "65536"}`, `spec.dest_port: Invalid value: "65536": ` + port},
		{"a negative port", "mwan3rule", `{dest_port: "-1"}`, `spec.dest_port: Invalid value: "-1": ` + port},
		{"a port that is not a number", "mwan3rule", `{dest_port: 1a}`, `spec.dest_port: Invalid value: "1a": ` + port},
		{"a port by name", "mwan3rule", `{dest_port: https}`, `spec.dest_port: Invalid value: "https": ` + port},
		{
			"a port that is not a string", "mwan3rule", `{dest_port: 80}`,
			`spec.dest_port: Invalid value: "integer": spec.dest_port in body must be of type string: "integer"`,
		},
		{
			"a protocol that mwan3 does not know", "mwan3rule", `{proto: sctp}`,
			`spec.proto: Unsupported value: "sctp": supported values: "", "tcp", "udp", "icmp", "all"`,
		},
		{
			"the firewall's word for any family", "mwan3rule", `{family: any}`,
			`spec.family: Unsupported value: "any": supported values: "", "ipv4", "ipv6", "all"`,
		},
		{"sticky twice", "mwan3rule", `{sticky: "2"}`, `spec.sticky: Unsupported value: "2": supported values: "", "0", "1"`},
		{"a negative timeout", "mwan3rule", `{timeout: "-1"}`, `spec.timeout: Invalid value: "-1": ` + "must be a positive integer"},

		{"the spelling that does not exist", "firewallzone", `{extra_dest: x}`, `unknown field "spec.extra_dest"`},
		{"a zone without the list of networks", "firewallzone", `{network: null}`, `spec.network: Required value`},
		{
			"a network without name", "firewallzone", `{network: [""]}`,
			`spec.network[0]: Invalid value: "": spec.network[0] in body should be at least 1 chars long`,
		},
		{
			"a policy in small letters", "firewallzone", `{input: accept}`,
			`spec.input: Unsupported value: "accept": supported values: "", "ACCEPT", "REJECT", "DROP"`,
		},
		{"masq as a word", "firewallzone", `{masq: "yes"}`, `spec.masq: Unsupported value: "yes": supported values: "", "0", "1"`},
		{
			"a masqueraded source that is none", "firewallzone", `{masq_src: ["!10.0.0.0/8", "!!10.0.0.0/8"]}`,
			`spec.masq_src[1]: Invalid value: "!!10.0.0.0/8": ` + "must be an IPv4 address or prefix, optionally with a leading !",
		},
		{"an invalid subnet", "firewallzone", `{subnet: [lan]}`, `spec.subnet[0]: Invalid value: "lan": ` + address},

		{
			"a zone that cannot exist", "firewallrule", `{src: Zone_Of_The_LAN}`,
			`spec.src: Invalid value: "Zone_Of_The_LAN": ` + "cannot be the name of a FirewallZone, and other zones of the device have at most 11 characters",
		},
		{
			"a zone by a sign", "firewallrule", `{dest: "*"}`,
			`spec.dest: Invalid value: "*": ` + "must be the name of a zone: letters, digits, _, - or ., not starting or ending with - or .",
		},
		{"MARK without mark", "firewallrule", `{target: MARK, mark: "0x1"}`, "spec.set_mark: Required value: target MARK requires set_mark or set_xmark"},
		{"MARK with an empty mark", "firewallrule", `{target: MARK, set_mark: ""}`, "spec.set_mark: Required value: target MARK requires set_mark or set_xmark"},
		{
			"a mark with a command in it", "firewallrule", `{mark: "1; reboot"}`,
			`spec.mark: Invalid value: "1; reboot": ` + "must be a mark such as 16, 0x10 or 0x10/0xff",
		},
		{
			"an unknown target", "firewallrule", `{target: LOG}`,
			`spec.target: Unsupported value: "LOG": supported values: "", "ACCEPT", "REJECT", "DROP", "MARK", "NOTRACK"`,
		},
		{
			"an invalid hardware address", "firewallrule", `{src_mac: "00:16:3e:00:00"}`,
			`spec.src_mac: Invalid value: "00:16:3e:00:00": ` + "must be six pairs of hexadecimal digits, such as 00:16:3e:00:00:01",
		},

		{"no interface", "networkfirewallrule", `{src: null}`, `spec.src: Required value`},
		{
			"an empty interface", "networkfirewallrule", `{src: ""}`,
			`spec.src: Invalid value: "": spec.src in body should be at least 1 chars long`,
		},
		{
			"an invalid interface", "networkfirewallrule", `{dest: "#source"}`,
			`spec.dest: Invalid value: "#source": ` + "must be an interface such as net1, #default, or # and an IPv4 address",
		},
		{"no target", "networkfirewallrule", `{target: null}`, "spec.target: Required value: target is required"},
		{"icmp without type", "networkfirewallrule", `{icmp_type: null}`, "spec.icmp_type: Required value: proto icmp requires icmp_type, such as any"},
		{
			"extra between interfaces", "networkfirewallrule", `{extra: -m x}`,
			"spec.extra: Forbidden: the device ignores extra between interfaces, so that the rule would match more packets than it should",
		},
		{
			"an ICMP type that the device has only between interfaces", "firewallrule", `{proto: icmp, icmp_type: [address-mask-request]}`,
			"spec.icmp_type: Invalid value: the device does not support address-mask-request between zones",
		},
		{
			"MARK without mark between interfaces", "networkfirewallrule", `{target: MARK}`,
			"spec.set_mark: Required value: target MARK requires set_mark or set_xmark",
		},

		{"SNAT to nowhere", "firewallsnat", `{src_dip: null}`, "spec.src_dip: Required value: SNAT requires src_dip, the new source address"},
		{
			"SNAT to an empty address", "firewallsnat", `{src_dip: ""}`,
			"spec.src_dip: Required value: SNAT requires src_dip, the new source address",
		},
		{"SNAT without zone", "firewallsnat", `{dest: null}`, "spec.dest: Required value: SNAT requires dest, the destination zone"},
		{
			"SNAT that says DNAT", "firewallsnat", `{target: DNAT}`,
			`spec.target: Unsupported value: "DNAT": supported values: "", "SNAT"`,
		},
		{"DNAT without zone", "firewalldnat", `{src: null}`, "spec.src: Required value: DNAT requires src, the source zone"},
		{
			"DNAT that says SNAT", "firewalldnat", `{target: SNAT}`,
			`spec.target: Unsupported value: "SNAT": supported values: "", "DNAT"`,
		},
		{"an unknown protocol", "firewalldnat", `{proto: gre}`, `spec.proto: Unsupported value: "gre": supported values: "", "tcp", ` +
			`"udp", "tcpudp", "udplite", "icmp", "esp", "ah", "sctp", "all"`},
		{
			"a forwarding from nowhere", "firewallforwarding", `{src: ""}`,
			`spec.src: Invalid value: "": spec.src in body should be at least 1 chars long`,
		},
		{"a forwarding to nowhere", "firewallforwarding", `{dest: null}`, `spec.dest: Required value`},

		{"an encryption of nobody", "ipsecproposal", `{encryption_algorithm: aes512}`, `spec.encryption_algorithm: Invalid value: "aes512": ` +
			"must be an encryption algorithm that the device supports, such as aes256, aes256ctr, aes256gcm16 or chacha20poly1305"},
		{"a hash of nobody", "ipsecproposal", `{hash_algorithm: sha3}`, `spec.hash_algorithm: Unsupported value: "sha3": supported ` +
			`values: "", "md5", "sha", "sha1", "aesxcbc", "sha256", "sha2_256", "sha384", "sha2_384", "sha512", "sha2_512", ` +
			`"sha256_96", "sha2_256_96"`},
		{"a proposal without a key", "ipsecproposal", `{dh_group: null}`, `spec.dh_group: Required value`},

		{"psk without a key", "ipsecsite", `{pre_shared_key: null}`, "spec.pre_shared_key_secret: Required value: psk requires pre_shared_key_secret or pre_shared_key"},
		{"psk with an empty key", "ipsechost", `{pre_shared_key: ""}`, "spec.pre_shared_key_secret: Required value: psk requires pre_shared_key_secret or pre_shared_key"},
		{
			"psk with two keys", "ipsechost", `{pre_shared_key_secret: {name: s}}`,
			"spec.pre_shared_key: Forbidden: pre_shared_key and pre_shared_key_secret are mutually exclusive",
		},
		{
			"a key of two lines", "ipsechost", `{pre_shared_key: "a\nb"}`,
			"spec.pre_shared_key: Invalid value: must be a single line without quotation marks",
		},
		{
			"a Secret without name", "ipsecsite", `{pre_shared_key: null, pre_shared_key_secret: {key: k}}`,
			`spec.pre_shared_key_secret.name: Required value`,
		},
		{
			"pubkey without certificate", "ipsechost-deployed", `{local_public_cert: null}`,
			"spec.local_public_cert_secret: Required value: pubkey requires local_public_cert_secret or local_public_cert",
		},
		{
			"pubkey without private key", "ipsechost-deployed", `{local_private_cert: ""}`,
			"spec.local_private_cert_secret: Required value: pubkey requires local_private_cert_secret or local_private_cert",
		},
		{
			"pubkey without authority", "ipsechost-deployed", `{shared_ca: null}`,
			"spec.shared_ca_secret: Required value: pubkey requires shared_ca_secret or shared_ca",
		},
		{
			"two certificates", "ipsechost-deployed", `{local_public_cert_secret: {name: s}}`,
			"spec.local_public_cert: Forbidden: local_public_cert and local_public_cert_secret are mutually exclusive",
		},
		{
			"two private keys", "ipsechost-deployed", `{local_private_cert_secret: {name: s}}`,
			"spec.local_private_cert: Forbidden: local_private_cert and local_private_cert_secret are mutually exclusive",
		},
		{
			"two authorities", "ipsechost-deployed", `{shared_ca_secret: {name: s}}`,
			"spec.shared_ca: Forbidden: shared_ca and shared_ca_secret are mutually exclusive",
		},
		{
			"a certificate that is not in base64", "ipsechost-deployed", `{shared_ca: "-----BEGIN CERTIFICATE-----"}`,
			`spec.shared_ca: Invalid value: "-----BEGIN CERTIFICATE-----": ` + "must be a PEM file in base64; several are joined with three underscores",
		},
		{
			"a private key that is not in base64", "ipsechost-deployed", `{local_private_cert: "-----BEGIN PRIVATE KEY-----"}`,
			"spec.local_private_cert: Invalid value: must be a PEM file in base64; several are joined with three underscores",
		},
		{"no method", "ipsecsite", `{authentication_method: null}`, `spec.authentication_method: Required value`},
		{
			"an empty method", "ipsecsite", `{authentication_method: ""}`,
			`spec.authentication_method: Unsupported value: "": supported values: "psk", "pubkey"`,
		},
		{
			"a type in the wrong case", "ipsecsite", `{type: vti-based}`,
			`spec.type: Unsupported value: "vti-based": supported values: "", "VTI-based", "policy-based"`,
		},
		{"no peer", "ipsecsite", `{remote: ""}`, `spec.remote: Invalid value: "": spec.remote in body should be at least 1 chars long`},
		{
			"no proposals", "ipsecsite", `{crypto_proposal: []}`,
			`spec.crypto_proposal: Invalid value: 0: spec.crypto_proposal in body should have at least 1 items`,
		},
		{
			"no connections", "ipsecsite", `{connections: []}`,
			`spec.connections: Invalid value: 0: spec.connections in body should have at least 1 items`,
		},
		{"a connection twice", "ipsecsite", `{connections: [{name: a, conn_type: tunnel, mode: add, local_subnet: ""},
			{name: a, conn_type: transport, mode: add, local_subnet: ""}]}`, `spec.connections[1]: Duplicate value: {"name":"a"}`},
		{
			"a connection that the device loses", "ipsechost", `{connections: [{name: a, conn_type: "", mode: start}]}`,
			`spec.connections[0].conn_type: Unsupported value: "": supported values: "tunnel", "transport"`,
		},
		{
			"a subnet of ours on a host", "ipsechost", `{connections: [{name: a, conn_type: tunnel, mode: start, local_subnet: ""}]}`,
			`unknown field "spec.connections[0].local_subnet"`,
		},
		{
			"a site without subnet of its own", "ipsecsite", `{connections: [{name: a, conn_type: tunnel, mode: start}]}`,
			`spec.connections[0].local_subnet: Required value`,
		},
		{
			"a quotation mark", "ipsecsite", `{local_identifier: 'a"b'}`,
			`spec.local_identifier: Invalid value: "a\"b": ` + "must be a single line without quotation marks",
		},
		{
			"an invalid mark", "ipsechost", `{connections: [{name: a, conn_type: tunnel, mode: start, mark: x}]}`,
			`spec.connections[0].mark: Invalid value: "x": ` + "must be a mark such as 42, 0x2a/0xff or %unique",
		},

		{"no kind of translation", "cnfnat", `{target: null}`, `spec.target: Required value`},
		{
			"translation of sources to nothing", "cnfnat", `{target: SNAT, src_dip: null}`,
			"spec.src_dip: Required value: SNAT requires src_dip, the new source address",
		},
		{
			"masquerading without interface", "cnfnat", `{target: MASQUERADE, dest: null}`,
			"spec.dest: Required value: SNAT and MASQUERADE require dest, the outgoing interface",
		},
		{
			"an interface by address", "cnfnat", `{target: MASQUERADE, dest: "#10.0.0.1"}`,
			`spec.dest: Invalid value: "#10.0.0.1": ` + "must be an interface such as net1, #default or #source",
		},
		{
			"a place before the first", "cnfnat", `{dest_ip: 10.0.0.1, index: "-1"}`,
			`spec.index: Invalid value: "-1": ` + "must be a position in the chain, 0 or higher",
		},

		{"a route to nowhere", "cnfroute", `{dst: null}`, `spec.dst: Required value`},
		{
			"a route to a name", "cnfroute", `{dst: everywhere}`,
			`spec.dst: Invalid value: "everywhere": ` + "must be an IPv4 address, a prefix, or default",
		},
		{
			"a route by no interface", "cnfroute", `{dev: ""}`,
			`spec.dev: Invalid value: "": spec.dev in body should be at least 1 chars long`,
		},
		{
			"a next hop that is a prefix", "cnfroute", `{gw: 10.0.0.1/24}`,
			`spec.gw: Invalid value: "10.0.0.1/24": ` + "must be an IPv4 address without a mask, such as 10.0.0.1",
		},
		{"an unknown table", "cnfroute", `{table: main}`, `spec.table: Unsupported value: "main": supported values: "", "default", "cnf"`},
		{"priority 0", "cnfrouterule", `{prio: "0"}`, `spec.prio: Invalid value: "0": ` + "must be a positive integer"},
		{"a mark that is too long", "cnfrouterule", `{fwmark: "0x123456789"}`, `spec.fwmark: Too long: may not be more than 10 bytes`},
		{
			"a table by a name of nobody", "cnfrouterule", `{table: cnf}`,
			`spec.table: Invalid value: "cnf": ` + "must be main, local, default or a positive integer",
		},
		{
			"not as text", "cnfrouterule", `{not: "true"}`,
			`spec.not: Invalid value: "string": spec.not in body must be of type boolean: "string"`,
		},

		{
			"a service without name", "cnfservice", `{fullname: ""}`,
			`spec.fullname: Invalid value: "": spec.fullname in body should be at least 1 chars long`,
		},
		{
			"a name with a command in it", "cnfservice", `{fullname: "a;reboot"}`,
			`spec.fullname: Invalid value: "a;reboot": ` + "must be a DNS name or an IPv4 address",
		},
		{"an invalid port of the service", "cnfservice", `{dport: http}`, `spec.dport: Invalid value: "http": ` + port},
		{
			"a service without any port", "cnfservice", `{port: "", dport: ""}`,
			"spec.port: Required value: requires port or dport: without a port, every packet addressed to the CNF would go to the service",
		},
		{"no remote service", "cnflocalservice", `{remoteservice: null}`, `spec.remoteservice: Required value`},
		{"a site without any address", "cnfhubsite", `{subnet: null}`, "spec.subnet: Required value: site or subnet is required"},
		{"a hub without tunnel", "cnfhubsite", `{type: Hub}`, "spec.hubip: Required value: type Hub requires hubip"},
		{"a device without address", "cnfhubsite", `{devicepip: ""}`, "spec.devicepip: Required value: type Device requires devicepip"},
		{"an end that is none", "cnfhubsite", `{type: hub}`, `spec.type: Unsupported value: "hub": supported values: "Hub", "Device"`},
		{"no selector", "sdewanapplication", `{podSelector: null}`, `spec.podSelector: Required value`},
		{
			"a namespace that cannot exist", "sdewanapplication", `{appNamespace: Default}`,
			`spec.appNamespace: Invalid value: "Default": spec.appNamespace in body should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$'`,
		},
		{"a wish in a status", "cnfstatus", `{x: y}`, `unknown field "spec.x"`},
	}
}

func TestMistakesAreRefused(t *testing.T) {
	all := load(t)
	for _, tc := range mistakes() {
		t.Run(tc.name, func(t *testing.T) {
			o := changed(t, tc.sample, tc.spec)
			require.Equal(t, tc.want, strings.Join(admit(t, all, o), "\n"))
		})
	}
	t.Run("nothing wanted", func(t *testing.T) {
		for kind := range all {
			o := valid(t, kind)
			delete(o, "spec")
			if kind != "CNFStatus" {
				require.Equal(t, []string{"spec: Required value"}, admit(t, all, o))
			}
		}
	})
}

// unusual is what is valid and looks wrong: a sample with something changed in its spec.
type unusual struct{ name, sample, spec string }

func unusuals() []unusual {
	return []unusual{
		{"a zone of subnets alone", "firewallzone", `{network: [], subnet: [10.0.0.0/8], family: any, etra_dest: "-m x", masq: "1"}`},
		{"a zone of the device", "firewallrule", `{src: lan, dest: WAN_1}`},
		{"a rule for everything", "firewallrule", `{src: null, src_ip: null, src_port: null, proto: null, target: null}`},
		{"a mark under a mask", "firewallrule", `{target: MARK, set_xmark: 0x10/0xff}`},
		{"the highest port", "mwan3rule", `{dest_port: "65535", src_port: "1"}`},
		{"every address", "mwan3rule", `{dest_ip: 0.0.0.0/0, src_ip: 255.255.255.255}`},
		{"the most that mwan3 takes", "mwan3policy", `{members: [{network: a.b-c_d, metric: 256, weight: 1000}]}`},
		{"a proposal of nothing", "ipsecproposal", `{encryption_algorithm: "", hash_algorithm: "", dh_group: ""}`},
		{"authenticated encryption", "ipsecproposal", `{encryption_algorithm: aes256gcm16, hash_algorithm: "", dh_group: x25519}`},
		{"a key in a Secret", "ipsecsite", `{pre_shared_key: null, pre_shared_key_secret: {name: psk}}`},
		{"an empty key beside a Secret", "ipsechost", `{pre_shared_key: "", pre_shared_key_secret: {name: psk, key: edge.1}}`},
		{"certificates in Secrets", "ipsechost", `{authentication_method: pubkey, local_public_cert_secret: {name: tls},
			local_private_cert_secret: {name: tls}, shared_ca_secret: {name: tls, key: ca.crt}}`},
		{"what the device drops", "ipsechost", `{connections: [{name: conn-A.1, conn_type: transport, mode: "", if_id: "42", mark: "%unique"}]}`},
		{"masquerading", "cnfnat", `{target: MASQUERADE, dest: "#default", src: "", index: "0"}`},
		{"redirection to a port", "cnfnat", `{dest_port: "8080", index: "2"}`},
		{"translation of sources", "cnfnat", `{target: SNAT, dest: "#source"}`},
		{"the default route", "cnfroute", `{dst: default, gw: "", dev: "#default"}`},
		{"a route over a tunnel", "cnfroute", `{dst: 10.1.1.1, gw: null, dev: vti_10.10.10.35}`},
		{"a route over the interface of an address", "cnfroute", `{dev: "#192.168.1.5"}`},
		{"a rule about marks alone", "cnfrouterule", `{src: "", prio: "", fwmark: "16", table: local}`},
		{"a service by address", "cnflocalservice", `{remoteservice: 192.0.2.1, localport: "", remoteport: ""}`},
		{"a name with a dot at its end", "cnfservice", `{fullname: foo.example.com., port: "", dport: "80", cidr: 10.0.0.0/8}`},
		{"a hub", "cnfhubsite", `{type: Hub, site: branch.example.com, subnet: "", hubip: 10.10.10.35}`},
		{"pods by expressions", "sdewanapplication", `{appNamespace: "", podSelector: {matchExpressions:
			[{key: app, operator: In, values: [a, b]}]}}`},
		{"every pod", "sdewanapplication", `{podSelector: {}}`},
	}
}

func TestUnusualButRightPasses(t *testing.T) {
	all := load(t)
	for _, tc := range unusuals() {
		t.Run(tc.name, func(t *testing.T) {
			require.Empty(t, admit(t, all, changed(t, tc.sample, tc.spec)))
		})
	}
}
