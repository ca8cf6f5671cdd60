package openwrt_test

import (
	"net/netip"
	"testing"

	"github.com/netloom/netloom/pkg/intent"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func prefixes(list ...netip.Prefix) []netip.Prefix { return list }

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// of makes a device intent of the CNF's scope.
func of(kind, name string, spec intent.DeviceSpec, needs ...*intent.DeviceIntent) *intent.DeviceIntent {
	o := intent.Origin{Kind: kind, Namespace: "shop", Name: name}
	e := &intent.DeviceIntent{ID: intent.NewDeviceIntentID(scope(), o, ""), Scope: scope(), Origin: o, Spec: spec}
	for _, n := range needs {
		e.Needs = append(e.Needs, n.ID)
	}
	return e
}

func ref(e *intent.DeviceIntent) intent.DeviceRef { return intent.DeviceRef{ID: e.ID} }

var pskRef = intent.SecretRef{Namespace: "shop", Name: "branch", Key: "psk"}

func certRef(key string) intent.SecretRef {
	return intent.SecretRef{Namespace: "shop", Name: "certs", Key: key}
}

const testPEM = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUdGVzdA==\n-----END CERTIFICATE-----\n"

// everything has intents of every kind, those that are referred to first, and a second form of some.
type everything struct {
	lan, wan, forwarding, rule, mark, snat, dnat, linkRule, linkNAT, masquerade, policy, wanRule, proposal, site, host, route, routeRule,
	application *intent.DeviceIntent
}

func newEverything() *everything {
	e := &everything{}
	e.lan = of("FirewallZone", "lan", &intent.Zone{
		Networks: []string{"lan"}, Input: intent.Accept, Output: intent.Accept, Forward: intent.Reject,
		Subnets: []netip.Prefix{prefix("172.16.70.0/24")}, Family: intent.IPv4,
	})
	e.wan = of("FirewallZone", "wan", &intent.Zone{
		Networks: []string{"wan1", "wan2"}, Masquerade: intent.On, ClampMSS: intent.On, Input: intent.Drop,
		MasqueradeTo: []intent.PrefixMatch{{Prefix: prefix("10.0.0.0/8"), Not: true}},
	})
	e.forwarding = of("FirewallForwarding", "out", &intent.Forwarding{From: ref(e.lan), To: ref(e.wan)}, e.lan, e.wan)
	e.rule = of("FirewallRule", "no.web-80", &intent.FirewallRule{
		From: ref(e.lan), To: ref(e.wan), Decides: intent.Reject,
		Match: intent.Match{Src: prefix("172.16.70.7/32"), Protocol: "tcp", DstPort: 80},
	}, e.lan, e.wan)
	e.mark = of("FirewallRule", "mark", &intent.FirewallRule{
		From: ref(e.lan), Decides: intent.Mark, SetMark: "0x10/0xff", Match: intent.Match{Protocol: "icmp", ICMPTypes: []string{"echo-request"}},
	}, e.lan)
	e.snat = of("FirewallSNAT", "x", &intent.ZoneNAT{
		From: ref(e.lan), To: ref(e.wan),
		Translation: intent.Translation{
			Kind: intent.SourceNAT, Addr: addr("1.2.3.5"),
			Match: intent.Match{Src: prefix("192.168.1.2/32"), Protocol: "icmp"},
		},
	}, e.lan, e.wan)
	e.dnat = of("FirewallDNAT", "x", &intent.ZoneNAT{
		From: ref(e.wan), To: ref(e.lan),
		Translation: intent.Translation{
			Kind: intent.DestinationNAT, Addr: addr("172.16.70.7"), Port: 8080,
			Match: intent.Match{Dst: prefix("10.10.10.15/32"), Protocol: "tcp", DstPort: 80},
		},
	}, e.lan, e.wan)
	e.linkRule = of("NetworkFirewallRule", "dns", &intent.LinkRule{
		From: intent.Link{Default: true}, To: intent.Link{Addr: addr("172.16.70.39")}, Decides: intent.Accept,
		Match: intent.Match{Protocol: "tcpudp", DstPort: 53},
	})
	e.linkNAT = of("CNFService", "web", &intent.LinkNAT{
		Translation: intent.Translation{
			Kind: intent.DestinationNAT, Addr: addr("10.96.0.10"), Port: 80, Match: intent.Match{Protocol: "tcp", DstPort: 8866},
		},
		Place: 1,
	})
	e.masquerade = of("CNFNAT", "masq", &intent.LinkNAT{
		To: intent.Link{Default: true}, Translation: intent.Translation{Kind: intent.Masquerade, Match: intent.Match{Src: prefix("172.16.0.0/16")}},
	})
	e.policy = of("Mwan3Policy", "balance1", &intent.WANPolicy{Members: []intent.WANMember{{Network: "wan1", Metric: 1, Weight: 2}, {Network: "wan2", Metric: 1, Weight: 3}}})
	e.wanRule = of("Mwan3Rule", "ssh", &intent.WANRule{
		Policy: ref(e.policy), Match: intent.Match{Protocol: "tcp", DstPort: 22, Family: intent.IPv4, Src: prefix("172.16.70.0/24")},
		Sticky: intent.On, Timeout: 200,
	}, e.policy)
	e.proposal = of("IpsecProposal", "strong", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
	e.site = of("IpsecSite", "hub", &intent.Tunnel{
		Type: "policy-based", Remote: "%any", Authentication: intent.PreSharedKey, Proposals: []intent.DeviceRef{ref(e.proposal)},
		Key: intent.SecretValue{From: pskRef}, ForceProposals: intent.Off, LocalID: "hub",
		Connections: []intent.Connection{
			{Name: "conn-b", Transport: true, Start: "add"},
			{Name: "conn-a", Start: "start", LocalSubnet: "192.168.1.1/24,10.10.10.35/32", Proposals: []intent.DeviceRef{ref(e.proposal)}, Mark: "42"},
		},
	}, e.proposal)
	e.host = of("IpsecHost", "hub", &intent.Tunnel{
		Remote: "10.10.10.35", Authentication: intent.PublicKey, Proposals: []intent.DeviceRef{ref(e.proposal)},
		Certificate: intent.SecretValue{From: certRef("tls.crt")}, PrivateKey: intent.SecretValue{From: certRef("tls.key")},
		CA:          intent.SecretValue{From: certRef("ca.crt")},
		Connections: []intent.Connection{{Name: "conn-a", Start: "start", LocalSource: "%config", RemoteSubnet: "192.168.1.1/24"}},
	}, e.proposal)
	e.route = of("CNFRoute", "r", &intent.Route{Dst: prefix("192.167.23.0/24"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}, Table: intent.TableCNF})
	e.routeRule = of("CNFRouteRule", "r", &intent.RouteRule{Src: prefix("192.167.24.0/24"), Not: true, Priority: 888, Table: "40", Mark: "0x110"})
	e.application = of("SdewanApplication", "app", &intent.Application{Sources: "pods"})
	return e
}

func (e *everything) list() []*intent.DeviceIntent {
	return []*intent.DeviceIntent{
		e.lan, e.wan, e.forwarding, e.rule, e.mark, e.snat, e.dnat, e.linkRule, e.linkNAT, e.masquerade, e.policy, e.wanRule, e.proposal,
		e.site, e.host, e.route, e.routeRule, e.application,
	}
}

// fill puts everything into the rig, with the Secrets and the set that it refers to.
func (r *rig) fill(t testing.TB) *everything {
	e := newEverything()
	r.secrets[pskRef] = []byte("test_key\n")
	r.secrets[certRef("tls.crt")] = []byte(testPEM + testPEM)
	r.secrets[certRef("tls.key")] = []byte(file(t, "rsa.key"))
	r.secrets[certRef("ca.crt")] = []byte(testPEM)
	r.set("pods", "172.16.70.8", "172.16.70.7", "fd00::7")
	r.set("fewer", "172.16.70.8")
	r.put(e.list()...)
	return e
}

// changes are other forms of some intents, one of each kind that the device has.
func (e *everything) changes() []*intent.DeviceIntent {
	other := func(e *intent.DeviceIntent, spec intent.DeviceSpec) *intent.DeviceIntent {
		c := *e
		c.Spec = spec
		return &c
	}
	zone, forwarding, rule := *e.lan.Spec.(*intent.Zone), *e.forwarding.Spec.(*intent.Forwarding), *e.rule.Spec.(*intent.FirewallRule)
	zone.Input, forwarding.Family, rule.Decides = intent.Reject, intent.IPv4, intent.Drop
	snat, linkRule, linkNAT := *e.snat.Spec.(*intent.ZoneNAT), *e.linkRule.Spec.(*intent.LinkRule), *e.linkNAT.Spec.(*intent.LinkNAT)
	snat.Addr, linkRule.Match.DstPort, linkNAT.Port = addr("1.2.3.6"), 54, 81
	policy, wanRule, proposal := *e.policy.Spec.(*intent.WANPolicy), *e.wanRule.Spec.(*intent.WANRule), *e.proposal.Spec.(*intent.Proposal)
	policy.Members, wanRule.Timeout, proposal.Hash = policy.Members[:1], 300, "sha512"
	site, route, routeRule := *e.site.Spec.(*intent.Tunnel), *e.route.Spec.(*intent.Route), *e.routeRule.Spec.(*intent.RouteRule)
	site.Connections, route.Via, routeRule.Priority = site.Connections[1:], addr("172.16.70.2"), 889
	return []*intent.DeviceIntent{
		other(e.lan, &zone), other(e.forwarding, &forwarding), other(e.rule, &rule), other(e.snat, &snat), other(e.linkRule, &linkRule),
		other(e.linkNAT, &linkNAT), other(e.policy, &policy), other(e.wanRule, &wanRule), other(e.proposal, &proposal),
		other(e.site, &site), other(e.route, &route), other(e.routeRule, &routeRule), other(e.application, &intent.Application{Sources: "fewer"}),
	}
}
