package openwrt

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/openwrt/internal/firewall"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/seeds"
)

// TestPoliciesOnTheCNF checks random policies packet by packet, with the rules in several orders, and with and without a
// zone to mark in.
func TestPoliciesOnTheCNF(t *testing.T) {
	denied := 0
	seeds.Each(t, "cnfpolicies", func(t *testing.T, seed uint64) {
		history := backendtest.History(seed, 9)
		state := cnfState(history[len(history)-1])
		s, names := state.Snapshot(), section.NewNamer("a")
		zones := zoneNames()
		if seed%3 > 0 {
			zones = append(zones, firewall.Zone(names).Name)
		}
		rules, skips := firewall.Rules(s, policiesOf(s), zones, names)
		require.Empty(t, skips)
		rng := rand.New(rand.NewPCG(seed, 0))
		flows := cnfFlows(state)
		for _, most := range []int{3000, 300, 300} {
			rng.Shuffle(len(flows), func(i, j int) { flows[i], flows[j] = flows[j], flows[i] })
			e := newCNF(t)
			e.put(t, firewall.Zone(names))
			e.apply(t, rules)
			e.judge(t, s, flows[:min(len(flows), most)], nil)
			rng.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		}
		for _, f := range flows {
			if !s.Evaluate(f).Allowed {
				denied++
			}
		}
	})
	if !seeds.Given() {
		require.Greater(t, denied, 500*len(seeds.Of(t, "cnfpolicies"))/8, "the histories deny nothing")
	}
}

// cell is a snapshot with sets of single addresses, and some policies.
func cell(sets map[intent.SetID][]string, policies ...intent.Policy) *intent.Snapshot {
	s := &backendtest.State{Policies: policies}
	for id, addrs := range sets {
		spec := backendtest.SetSpec{ID: id}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a); err == nil {
				spec.Prefixes = append(spec.Prefixes, p)
				continue
			}
			e := intent.Endpoint{Key: object.Key{Namespace: string(id), Name: a}, Addrs: []netip.Addr{netip.MustParseAddr(a)}}
			s.Endpoints, spec.Keys = append(s.Endpoints, e), append(spec.Keys, e.Key)
		}
		s.Sets = append(s.Sets, spec)
	}
	return s.Snapshot()
}

func tcp(ranges ...uint16) intent.Ports {
	var p intent.Ports
	for i := 0; i < len(ranges); i += 2 {
		p.Ranges = append(p.Ranges, intent.PortRange{Protocol: intent.TCP, First: ranges[i], Last: ranges[i+1]})
	}
	return p
}

func peer(set intent.SetID) intent.Peer { return intent.Peer{Kind: intent.PeerSet, Set: set} }

func ingress(name string, rules ...intent.Rule) intent.Policy {
	for i := range rules {
		rules[i].Action, rules[i].Path = max(rules[i].Action, intent.Allow), fmt.Sprintf("spec.ingress[%d]", i)
	}
	return intent.Policy{
		ID: intent.PolicyID(name), Origin: intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: name},
		Subject: "db", Isolates: true, Rules: rules,
	}
}

const (
	db  = "10.244.0.10"
	web = "10.244.1.20"
)

// shop is a database that web alone may ask, on one port.
func shop() *intent.Snapshot {
	return cell(map[intent.SetID][]string{"db": {db}, "web": {web}},
		ingress("db", intent.Rule{Peer: peer("web"), Ports: tcp(5432, 5432)}))
}

func flow(src, dst string, proto intent.Protocol, port uint16) intent.Flow {
	return intent.Flow{
		Src: intent.Party{Addr: netip.MustParseAddr(src)}, Dst: intent.Party{Addr: netip.MustParseAddr(dst)}, Protocol: proto, Port: port,
	}
}

// TestPolicyRuleOrder tries every order of the rules of one policy together with a hand-made one, without which
// nothing would pass, and one written by hand.
func TestPolicyRuleOrder(t *testing.T) {
	s, names := shop(), section.NewNamer("a")
	zone := firewall.Zone(names)
	rules, skips := firewall.Rules(s, policiesOf(s), []string{"red", "blue", zone.Name}, names)
	require.Empty(t, skips)
	var list []openwrt.FirewallRule
	for _, r := range rules {
		if r.Firewall.Target == "MARK" || r.Firewall.Src == "blue" && r.Firewall.Dest == "red" {
			list = append(list, r.Firewall)
		}
	}
	person := openwrt.FirewallRule{Name: "person", Src: "blue", Dest: "red", Proto: "all", Target: "ACCEPT", Extra: "-m comment --comment x"}
	list = append(list, firewall.Guarded(person), openwrt.FirewallRule{Name: "hand", Src: "blue", Dest: "red", Proto: "udp", DestPort: "9", Target: "REJECT"})
	require.Len(t, list, 5)
	flows := []intent.Flow{
		flow(web, db, intent.TCP, 5432), flow(web, db, intent.TCP, 5433), flow("10.244.1.21", db, intent.TCP, 5432),
		flow("10.244.1.21", "10.244.0.11", intent.TCP, 22), flow(web, "10.244.0.11", intent.ICMP, 0),
	}
	orders := 0
	permute(list, 0, func(list []openwrt.FirewallRule) {
		e := newCNF(t)
		require.NoError(t, e.client.Delete(t.Context(), openwrt.Forwardings, "bluered"))
		e.put(t, zone)
		for _, r := range list {
			e.put(t, r)
		}
		e.reload(t)
		e.judge(t, s, flows, nil)
		orders++
	})
	require.Equal(t, 120, orders)

	e := newCNF(t)
	e.put(t, person)
	e.apply(t, rules[:0])
	for _, r := range rules {
		if r.Firewall.Dest != zone.Name {
			e.put(t, r.Firewall)
		}
	}
	e.reload(t)
	require.Equal(t, simulator.Accept, e.device.Trace(e.packet(flows[1])).Verdict, "what guarded is for")
}

func permute[T any](list []T, from int, do func([]T)) {
	if from == len(list) {
		do(list)
		return
	}
	for i := from; i < len(list); i++ {
		list[from], list[i] = list[i], list[from]
		permute(list, from+1, do)
		list[from], list[i] = list[i], list[from]
	}
}

// TestPolicyBeforeMarks checks that isolated endpoints are denied while the service has not set the marks yet.
func TestPolicyBeforeMarks(t *testing.T) {
	s := shop()
	rules, _ := firewall.Rules(s, policiesOf(s), zoneNames(), section.NewNamer("a"))
	e := newCNF(t)
	e.apply(t, slices.DeleteFunc(rules, func(r firewall.Rule) bool { return r.Firewall.Target == "MARK" }))
	for _, port := range []uint16{5432, 5433} {
		require.Equal(t, simulator.Drop, e.device.Trace(e.packet(flow(web, db, intent.TCP, port))).Verdict)
	}
	require.Equal(t, simulator.Accept, e.device.Trace(e.packet(flow(db, web, intent.TCP, 80))).Verdict)
}

// TestPolicyTranslated checks that policies match the destination of a packet after its translation.
func TestPolicyTranslated(t *testing.T) {
	s, names := cell(map[intent.SetID][]string{"db": {db}, "office": {"203.0.113.0/24"}, "other": {"10.244.0.11"}},
		ingress("db", intent.Rule{Peer: peer("office"), Ports: tcp(5432, 5432)})), section.NewNamer("a")
	rules, _ := firewall.Rules(s, policiesOf(s), append(zoneNames(), firewall.Zone(names).Name), names)
	e := newCNF(t)
	e.put(t, firewall.Zone(names),
		openwrt.Redirect{Name: "db", Src: "out", SrcDIP: "192.0.2.2", SrcDPort: "15432", Proto: "tcp", Dest: "red", DestIP: db, DestPort: "5432", Target: "DNAT"},
		openwrt.Redirect{Name: "ssh", Src: "out", SrcDIP: "192.0.2.2", SrcDPort: "5432", Proto: "tcp", Dest: "red", DestIP: db, DestPort: "22", Target: "DNAT"})
	e.apply(t, rules)
	for _, tc := range []struct {
		src  string
		port uint16
		want simulator.Verdict
	}{
		{"203.0.113.9", 15432, simulator.Accept},
		{"203.0.113.9", 5432, simulator.Drop},
		{"198.51.100.7", 15432, simulator.Drop},
	} {
		got := e.device.Trace(e.packet(flow(tc.src, "192.0.2.2", intent.TCP, tc.port)))
		require.Equal(t, db, got.Dst.String())
		require.Equal(t, tc.want, got.Verdict, "%+v: %v", tc, got.Steps)
	}
}

// TestPolicySkips checks that what cannot be expressed allows nothing, and is reported.
func TestPolicySkips(t *testing.T) {
	names := section.NewNamer("a")
	anyone := intent.Peer{Kind: intent.PeerAny}
	odd := cell(map[intent.SetID][]string{"db": {db}},
		ingress("action", intent.Rule{Action: 77, Peer: anyone, Ports: tcp(80, 80)}),
		ingress("peer", intent.Rule{Peer: intent.Peer{Kind: 77, Set: "db"}, Ports: tcp(80, 80)}),
		ingress("protocol", intent.Rule{Peer: anyone, Ports: tcp(81, 81)},
			intent.Rule{Peer: anyone, Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: 47, Last: 65535}}}}))
	rules, skips := firewall.Rules(odd, policiesOf(odd), zoneNames(), names)
	var reported []string
	for _, s := range skips {
		reported = append(reported, s.Intent+": "+s.Reason)
	}
	require.Equal(t, []string{
		"action: spec.ingress[0] allows nothing: the device supports no action action(77)",
		"peer: spec.ingress[0] allows nothing: the device supports no kind 77 of peer",
		"protocol: spec.ingress[1] allows nothing: the device supports no protocol(47)",
	}, reported)
	e := newCNF(t)
	e.apply(t, rules)
	for port, want := range map[uint16]simulator.Verdict{80: simulator.Drop, 81: simulator.Accept, 82: simulator.Drop} {
		require.Equal(t, want, e.device.Trace(e.packet(flow(web, db, intent.TCP, port))).Verdict)
	}

	rules, skips = firewall.Rules(odd, policiesOf(odd), nil, names)
	require.Empty(t, rules)
	require.Len(t, skips, 3)
	require.Contains(t, skips[0].Reason, "no zone")
	rules, skips = firewall.Rules(odd, nil, zoneNames(), names)
	require.Empty(t, rules)
	require.Empty(t, skips)
}

// TestPolicyTooLarge checks that only the largest policy allows nothing when all of them together need too much.
func TestPolicyTooLarge(t *testing.T) {
	var many, few []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("172.16.%d.1", i))
	}
	few = many[:2]
	var subjects []string
	for i := range 20 {
		subjects = append(subjects, fmt.Sprintf("10.244.0.%d", 2*i+1))
	}
	s := cell(map[intent.SetID][]string{"db": subjects, "many": many, "few": few},
		ingress("large", intent.Rule{Peer: peer("many"), Ports: tcp(80, 80)}, intent.Rule{Peer: peer("many"), Ports: tcp(90, 90)}),
		ingress("small", intent.Rule{Peer: peer("few"), Ports: tcp(443, 443)}))
	names := section.NewNamer("a")
	zone := firewall.Zone(names)
	rules, skips := firewall.Rules(s, policiesOf(s), append(zoneNames(), zone.Name), names)
	require.Len(t, skips, 1)
	require.Equal(t, "large", skips[0].Intent)
	require.Contains(t, skips[0].Reason, "2400 rules")
	require.Len(t, rules, 20*(1+9+2), "one mark and nine drops for an address, and what small allows")
	e := newCNF(t)
	e.put(t, zone)
	e.apply(t, rules)
	require.Equal(t, simulator.Drop, e.device.Trace(e.packet(flow(many[0], subjects[0], intent.TCP, 80))).Verdict)
	require.Equal(t, simulator.Accept, e.device.Trace(e.packet(flow(many[0], subjects[0], intent.TCP, 443))).Verdict)
}

// TestPolicyOpens checks that an endpoint open to all costs no rules, whichever other policy isolates it.
func TestPolicyOpens(t *testing.T) {
	anyone := intent.Peer{Kind: intent.PeerAny}
	s := cell(map[intent.SetID][]string{"db": {db, web}, "open": {web}},
		ingress("db", intent.Rule{Peer: peer("open"), Ports: tcp(80, 80)}),
		ingress("open", intent.Rule{Subject: "open", Peer: anyone, Ports: intent.Ports{Any: true}}))
	names := section.NewNamer("a")
	rules, skips := firewall.Rules(s, policiesOf(s), append(zoneNames(), firewall.Zone(names).Name), names)
	require.Empty(t, skips)
	require.Len(t, rules, 1+9+1)
	for _, r := range rules {
		require.Equal(t, db+"/32", r.Firewall.DestIP)
	}
}

// TestPolicyFamilies isolates an endpoint in both of its families, and allows a peer of one family in that one alone.
func TestPolicyFamilies(t *testing.T) {
	const db6, office6 = "fd00:10::10", "2001:db8::7"
	s := cell(map[intent.SetID][]string{"db": {db, db6}, "office": {"203.0.113.0/24", "2001:db8::/32"}},
		ingress("db", intent.Rule{Peer: peer("office"), Ports: tcp(80, 90)}, intent.Rule{
			Peer:  intent.Peer{Kind: intent.PeerAny},
			Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.ICMP, Last: 65535}}},
		}))
	names := section.NewNamer("a")
	rules, skips := firewall.Rules(s, policiesOf(s), append(zoneNames(), firewall.Zone(names).Name), names)
	require.Empty(t, skips)
	e := newCNF(t)
	e.put(t, firewall.Zone(names))
	e.apply(t, rules)
	e.judge(t, s, []intent.Flow{
		flow("203.0.113.9", db, intent.TCP, 85), flow("203.0.113.9", db, intent.TCP, 91), flow(web, db, intent.ICMP, 0),
		flow(office6, db6, intent.TCP, 85), flow(office6, db6, intent.TCP, 91), flow("2001:db9::1", db6, intent.TCP, 85),
		flow(office6, db6, intent.ICMPv6, 0), flow(db6, office6, intent.TCP, 1),
	}, nil)
}

// TestPolicyRuleNames checks that a rule keeps its name while its content is the same, whatever else changes.
func TestPolicyRuleNames(t *testing.T) {
	names, zones := section.NewNamer("a"), []string{"red", "blue"}
	rulesOf := func(s *intent.Snapshot) map[string]firewall.Rule {
		out := map[string]firewall.Rule{}
		rules, skips := firewall.Rules(s, policiesOf(s), zones, names)
		require.Empty(t, skips)
		for _, r := range rules {
			require.True(t, names.Mine(openwrt.FirewallRules, r.Firewall.Name))
			require.NoError(t, openwrt.CheckName(openwrt.FirewallRules, r.Firewall.Name))
			require.NotContains(t, out, r.Firewall.Name)
			out[r.Firewall.Name] = r
		}
		return out
	}
	before := rulesOf(shop())
	require.Equal(t, before, rulesOf(shop()))
	after := rulesOf(cell(map[intent.SetID][]string{"db": {db}, "web": {web}, "more": {"203.0.113.0/24"}},
		ingress("db", intent.Rule{Peer: peer("web"), Ports: tcp(5432, 5432)}),
		ingress("again", intent.Rule{Peer: peer("web"), Ports: tcp(5432, 5432)}, intent.Rule{Peer: peer("more"), Ports: tcp(5432, 5432)})))
	require.Len(t, after, len(before)+len(zones)*len(zones))
	for name, r := range before {
		require.Equal(t, r.Firewall, after[name].Firewall)
		require.Equal(t, "NetworkPolicy/shop/db", r.Origin)
		require.Equal(t, "NetworkPolicy/shop/again, NetworkPolicy/shop/db", after[name].Origin)
		require.Equal(t, "again", after[name].Intent)
	}
}

// TestPolicyRuleIntent checks that a rule for several policies is named after one of them, in any order of addresses.
func TestPolicyRuleIntent(t *testing.T) {
	second := ingress("a")
	second.Subject = "second"
	s := cell(map[intent.SetID][]string{"db": {db}, "second": {"10.244.0.11"}}, ingress("b"), second)
	rules, _ := firewall.Rules(s, policiesOf(s), zoneNames(), section.NewNamer("a"))
	require.Len(t, rules, 2*9)
	for _, r := range rules {
		require.Equal(t, db+"/31", r.Firewall.DestIP)
		require.Equal(t, "a", r.Intent)
	}
}

// BenchmarkPolicyRules counts the rules of a policy by its subjects, peers and ports.
func BenchmarkPolicyRules(b *testing.B) {
	for _, n := range []int{1, 10, 30} {
		b.Run(fmt.Sprintf("%dx%dx2", n, n), func(b *testing.B) {
			var subjects, peers []string
			for i := range n {
				subjects, peers = append(subjects, fmt.Sprintf("10.244.%d.10", i)), append(peers, fmt.Sprintf("10.245.%d.10", i))
			}
			s := cell(map[intent.SetID][]string{"db": subjects, "web": peers}, ingress("p", intent.Rule{Peer: peer("web"), Ports: tcp(80, 80, 443, 443)}))
			names := section.NewNamer("a")
			zones := []string{"lan", "wan", firewall.Zone(names).Name}
			var rules []firewall.Rule
			for b.Loop() {
				rules, _ = firewall.Rules(s, policiesOf(s), zones, names)
			}
			b.ReportMetric(float64(len(rules)), "rules")
		})
	}
}
