package openwrt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	device "github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// TestWhatTheDeviceCannotSay checks that nothing broader than the intent is written.
func TestWhatTheDeviceCannotSay(t *testing.T) {
	six, tcp := prefix("fd00::/64"), intent.Match{Protocol: "tcp"}
	lan, hand := intent.Link{Name: "net0"}, intent.DeviceRef{Name: "lan"}
	nat := func(k intent.NATKind, m intent.Match) intent.Translation {
		return intent.Translation{Kind: k, Match: m, Addr: addr("10.0.0.1")}
	}
	for _, tc := range []struct {
		name string
		spec intent.DeviceSpec
		want string
	}{
		{"a network that the CNF lacks", &intent.Zone{Networks: []string{"dmz"}}, `network "dmz": the CNF has lan, wan1, wan2`},
		{"a zone that marks", &intent.Zone{Input: intent.Mark}, "the device cannot do MARK here"},
		{"a zone of IPv6", &intent.Zone{Subnets: prefixes(six)}, "subnet: fd00::/64 is not IPv4"},
		{"a forwarding to nowhere", &intent.Forwarding{From: hand}, "requires two zones"},
		{"a rule for a zone of another kind", &intent.Forwarding{From: intent.DeviceRef{ID: "x"}, To: hand}, "needs x, which does not exist"},
		{"a source of IPv6", &intent.FirewallRule{Match: intent.Match{Src: six}}, "source: fd00::/64 is not IPv4"},
		{"ports of every protocol", &intent.FirewallRule{Match: intent.Match{DstPort: 80}}, "ports: the device ignores them unless the protocol is one of tcp"},
		{"ports of ESP", &intent.FirewallRule{Match: intent.Match{Protocol: "esp", SrcPort: 80}}, "ports: the device ignores them"},
		{"an invalid mark", &intent.FirewallRule{Match: intent.Match{Mark: "0x1; reboot"}}, `mark: "0x1; reboot" is not a mark`},
		{"no mark to set", &intent.FirewallRule{Decides: intent.Mark}, "mark to set: not set"},
		{"a line that ends a value", &intent.FirewallRule{Raw: "-m x\n-j ACCEPT"}, "extra: contains a control character"},
		{"an unknown verdict", &intent.FirewallRule{Decides: 77}, "the device cannot do disposition 77 here"},
		{"a hardware address that is left behind", &intent.ZoneNAT{To: hand, Translation: nat(intent.SourceNAT, intent.Match{SrcMAC: "00:11:22:33:44:55"})}, "hardware address: the device does not support this condition"},
		{"a zone that masquerades by itself", &intent.ZoneNAT{To: hand, Translation: nat(intent.Masquerade, tcp)}, "is a setting of the zone"},
		{"a new source without a zone", &intent.ZoneNAT{Translation: nat(intent.SourceNAT, tcp)}, "the destination zone"},
		{"a new destination without a zone", &intent.ZoneNAT{Translation: nat(intent.DestinationNAT, tcp)}, "the source zone"},
		{"a new address of IPv6", &intent.ZoneNAT{From: hand, Translation: intent.Translation{Kind: intent.DestinationNAT, Addr: addr("fd00::1")}}, "new address: fd00::1 is not IPv4"},
		{"a rule from nowhere", &intent.LinkRule{Decides: intent.Drop}, "through which packets arrive"},
		{"a rule that does nothing", &intent.LinkRule{From: lan}, "the device does not support this action"},
		{"ICMP without types", &intent.LinkRule{From: lan, Decides: intent.Drop, Match: intent.Match{Protocol: "icmp"}}, "ICMP types: expected at least one"},
		{"ports of SCTP between interfaces", &intent.LinkRule{From: lan, Decides: intent.Accept, Match: intent.Match{Protocol: "sctp", DstPort: 9}}, "ports: the device ignores them unless the protocol is one of tcp, udp, tcpudp"},
		{"a mark for packets that go somewhere", &intent.LinkRule{From: lan, To: lan, Decides: intent.Mark, SetMark: "1"}, "cannot limit a mark"},
		{"further conditions between interfaces", &intent.LinkRule{From: lan, Decides: intent.Drop, Raw: "-m x"}, "further conditions: the device ignores them between interfaces"},
		{"an invalid interface", &intent.LinkRule{From: intent.Link{Name: "-j ACCEPT"}, Decides: intent.Drop}, `from: "-j ACCEPT" is not an interface`},
		{"IPv6 between interfaces", &intent.LinkRule{From: lan, Decides: intent.Drop, Match: intent.Match{Family: intent.IPv6}}, "does not support such rules for IPv6"},
		{"two protocols at once", &intent.LinkNAT{Translation: nat(intent.DestinationNAT, intent.Match{Protocol: "tcpudp"})}, "one translation for each"},
		{"a place where a source is not looked at", &intent.LinkNAT{From: lan, To: lan, Translation: nat(intent.SourceNAT, tcp)}, "from: the device ignores it"},
		{"a place where a destination is not looked at", &intent.LinkNAT{To: lan, Translation: nat(intent.DestinationNAT, tcp)}, "to: the device ignores it"},
		{"a mark of a translation", &intent.LinkNAT{Translation: nat(intent.DestinationNAT, intent.Match{Protocol: "tcp", Mark: "1"})}, "mark: the device does not support this condition"},
		{"a policy without networks", &intent.WANPolicy{}, "a policy requires a network"},
		{"a network twice", &intent.WANPolicy{Members: []intent.WANMember{{Network: "lan", Metric: 1, Weight: 1}, {Network: "lan", Metric: 2, Weight: 1}}}, "would exist twice"},
		{"a metric of nothing", &intent.WANPolicy{Members: []intent.WANMember{{Network: "lan", Weight: 1}}}, "metric 0 and weight 1"},
		{"a rule without a policy", &intent.WANRule{}, "a rule requires a policy"},
		{"a protocol that mwan3 does not know", &intent.WANRule{Policy: intent.DeviceRef{Name: "p"}, Match: intent.Match{Protocol: "tcpudp"}}, "the device supports tcp, udp, icmp and all here"},
		{"a tunnel that trusts any peer", &intent.Tunnel{Remote: "%any"}, "authentication: not set"},
		{"a key that is not given", &intent.Tunnel{Authentication: intent.PreSharedKey}, "pre-shared key: not set"},
		{"a certificate that breaks the device", &intent.Tunnel{Authentication: intent.PublicKey, Certificate: intent.SecretValue{Value: "YWJj"}}, "certificate: not base64 of PEM"},
		{"a connection twice", &intent.Tunnel{Authentication: intent.PreSharedKey, Key: intent.SecretValue{Value: "k"}, Connections: []intent.Connection{{Name: "c"}, {Name: "c"}}}, "would exist twice"},
		{"a connection without a name", &intent.Tunnel{Connections: []intent.Connection{{}}}, `connection "": it has no name`},
		{"a route to IPv6", &intent.Route{Dst: six, Dev: lan}, "destination: fd00::/64 is not IPv4"},
		{"a route to nowhere", &intent.Route{Dev: lan}, "destination: not set"},
		{"a route by nothing", &intent.Route{Dst: prefix("10.0.0.0/8")}, "interface: not set"},
		{"a table that has no routes", &intent.Route{Dst: prefix("10.0.0.0/8"), Dev: lan, Table: "7"}, `table "7"`},
		{"a rule of routing for IPv6", &intent.RouteRule{Src: six}, "source: fd00::/64 is not IPv4"},
		{"a set that does not exist", &intent.Application{Sources: "nix"}, "set nix does not exist"},
		{"nothing at all", nil, "its kind is not supported"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			_, err := r.client.Put(t.Context(), openwrt.Zones, openwrt.ObjectOf(openwrt.Zone{Name: "lan", Network: []string{"net0"}}))
			require.NoError(t, err)
			odd := of("Odd", "odd", tc.spec)
			r.put(odd)
			p := r.reconcile(t)
			require.Empty(t, p.Ops)
			require.Contains(t, skipOf(p, odd), tc.want)
			r.requireExplained(t, p)
		})
	}
}

// requireExplained checks that what a plan for an empty device skips is known without a device.
func (r *rig) requireExplained(t *testing.T, p *backends.Plan) {
	t.Helper()
	skips := slices.Clone(p.Skips)
	for i := range skips {
		skips[i].Reason = strings.TrimSuffix(skips[i].Reason, "; the previous configuration stays") // there is none
	}
	require.Equal(t, skips, device.SkipsOf(r.snap, r.snap.CNF(cnfID), "a"))
}

// An interface that lost its zone for a misspelt network would be open.
func TestAZoneThatCannotBeSpelledAnyMoreStaysWithItsRules(t *testing.T) {
	r := newRig(t)
	zone := of("FirewallZone", "outer", &intent.Zone{Networks: []string{"wan1"}, Input: intent.Drop})
	rule := of("FirewallRule", "r", &intent.FirewallRule{From: ref(zone), Decides: intent.Drop}, zone)
	r.put(zone, rule)
	r.reconcile(t)
	before := r.device.Export("firewall")
	misspelt := of("FirewallZone", "outer", &intent.Zone{Networks: []string{"wan1", "wan9"}, Input: intent.Drop})
	r.put(misspelt)
	for _, plan := range []*backends.Plan{r.reconcile(t), r.reconcileFully(t)} {
		require.Empty(t, plan.Ops)
		require.Contains(t, skipOf(plan, misspelt), `network "wan9": the CNF has lan, wan1, wan2; the previous configuration stays`)
	}
	require.Equal(t, before, r.device.Export("firewall"))
}

func TestWhatNeedsWhatIsLeftOutIsLeftOut(t *testing.T) {
	r := newRig(t)
	zone := of("FirewallZone", "dmz", &intent.Zone{Networks: []string{"dmz"}})
	rule := of("FirewallRule", "r", &intent.FirewallRule{From: ref(zone), Decides: intent.Drop}, zone)
	app := of("SdewanApplication", "empty", &intent.Application{Sources: "empty"})
	r.set("empty", "fd00::1")
	r.put(zone, rule, app)
	p := r.reconcile(t)
	require.Empty(t, p.Ops)
	require.Len(t, p.Skips, 2)
	require.Contains(t, skipOf(p, zone), `network "dmz": the CNF has lan, wan1, wan2`)
	require.Regexp(t, `^needs firewall/zones n\w+, which is missing: it cannot be written now$`, skipOf(p, rule))
	r.requireExplained(t, p)
	g := cnf()
	g.Networks["dmz"] = "net2"
	r.change(func(b *intent.Builder) { b.PutCNF(g) })
	p = r.reconcile(t)
	require.True(t, p.Full, "only then is it known that nothing is skipped any more")
	require.Empty(t, p.Skips)
	require.Equal(t, 2, verbs(p)[backends.Create])
	gone := *zone
	gone.Gone = true
	r.put(&gone)
	p = r.reconcile(t)
	require.Equal(t, 2, p.Deletes(), "what refers to it goes first")
	require.Equal(t, "needs shop/cnf/FirewallZone/shop/dmz, which is skipped: it is being deleted", skipOf(p, rule))
	r.requireSettled(t)
}

// TestHandMadeReferences refers to hand-made objects, before and after they exist.
func TestHandMadeReferences(t *testing.T) {
	r := newRig(t)
	rule := of("FirewallRule", "r", &intent.FirewallRule{From: intent.DeviceRef{Name: "lan"}, Decides: intent.Drop})
	r.put(rule)
	require.Contains(t, skipOf(r.reconcile(t), rule), "Zone[lan] is not definied")
	_, err := r.client.Put(t.Context(), openwrt.Zones, openwrt.ObjectOf(openwrt.Zone{Name: "lan"}))
	require.NoError(t, err)
	require.Empty(t, r.reconcileFully(t).Skips)
	r.requireSettled(t)
}
