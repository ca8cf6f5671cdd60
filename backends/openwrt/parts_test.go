package openwrt_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// change is a step that changes objects of several parts of a device, with a packet that must not be treated wrongly before, after or in between.
type change struct {
	name          string
	before, after []*intent.DeviceIntent // besides zones, which stay
	packet        simulator.Packet
	// wrong reports whether a result must not occur at any time.
	wrong func(simulator.Result) bool
}

func accepted(r simulator.Result) bool { return r.Verdict == simulator.Accept }

func untunnelled(r simulator.Result) bool { return accepted(r) && r.Tunnel == "" }

// changesOfParts lists for each two parts of a device a change of which one order would be wrong.
func changesOfParts() (zones []*intent.DeviceIntent, list []change) {
	lan := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}, Input: intent.Drop, Forward: intent.Reject})
	wan := of("FirewallZone", "wan", &intent.Zone{Networks: []string{"wan1"}, Input: intent.Drop, Forward: intent.Reject})
	mobile := of("FirewallZone", "mobile", &intent.Zone{Networks: []string{"wan2"}, Input: intent.Drop, Forward: intent.Reject})
	forward := func(from, to *intent.DeviceIntent) *intent.DeviceIntent {
		return of("FirewallForwarding", from.Origin.Name+"-"+to.Origin.Name, &intent.Forwarding{From: ref(from), To: ref(to)}, from, to)
	}
	protect := of("FirewallRule", "protect", &intent.FirewallRule{
		From: ref(wan), To: ref(lan), Decides: intent.Reject, Match: intent.Match{Protocol: "tcp", Dst: prefix("172.16.70.7/32")},
	}, wan, lan)
	nat := func(to string) *intent.DeviceIntent {
		return of("CNFNAT", "web", &intent.LinkNAT{Translation: intent.Translation{
			Kind: intent.DestinationNAT, Addr: addr(to), Port: 80, Match: intent.Match{Protocol: "tcp", DstPort: 8866},
		}})
	}
	link := func(decides intent.Disposition) *intent.DeviceIntent {
		return of("NetworkFirewallRule", "links", &intent.LinkRule{
			From: intent.Link{Name: "net1"}, To: intent.Link{Name: "net0"}, Decides: decides, Match: intent.Match{Protocol: "tcp", Dst: prefix("172.16.70.7/32")},
		})
	}
	route := of("CNFRoute", "r", &intent.Route{Dst: prefix("203.0.113.0/24"), Via: addr("10.10.20.1"), Dev: intent.Link{Name: "net2"}})
	policy := of("Mwan3Policy", "mobile", &intent.WANPolicy{Members: []intent.WANMember{{Network: "wan2", Metric: 1, Weight: 1}}})
	wanRule := of("Mwan3Rule", "mobile", &intent.WANRule{Policy: ref(policy), Match: intent.Match{Protocol: "tcp", Family: intent.IPv4, Dst: prefix("203.0.113.0/24")}}, policy)
	proposal := of("IpsecProposal", "strong", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
	tunnel := of("IpsecSite", "hub", &intent.Tunnel{
		Remote: "10.10.10.1", Authentication: intent.PreSharedKey, Proposals: []intent.DeviceRef{ref(proposal)}, Key: intent.SecretValue{From: pskRef},
		Connections: []intent.Connection{{Name: "all", Start: "start", LocalSubnet: "172.16.70.0/24", RemoteSubnet: "203.0.113.0/24"}},
	}, proposal)

	in := simulator.Packet{In: "net1", Src: addr("9.9.9.9"), Dst: addr("10.10.10.15"), Proto: "tcp", SrcPort: 1, DstPort: 8866}
	direct := in
	direct.Dst, direct.DstPort = addr("172.16.70.7"), 80
	out := simulator.Packet{In: "net0", Src: addr("172.16.70.7"), Dst: addr("203.0.113.1"), Proto: "tcp", SrcPort: 1, DstPort: 80}
	type these = []*intent.DeviceIntent
	open := forward(wan, lan)
	return these{lan, wan, mobile}, []change{
		{"a CNFNAT comes with the rule that protects where it leads", these{open}, these{open, protect, nat("172.16.70.7")}, in, accepted},
		{"a CNFNAT goes with the rule that protects where it leads", these{open, protect, nat("172.16.70.7")}, these{open}, in, accepted},
		{"a CNFNAT leads to what is protected now", these{open, nat("172.16.70.9"), protectOf(protect, "172.16.70.9")}, these{open, protect, nat("172.16.70.7")}, in, accepted},
		{"a CNFNAT goes while a forwarding comes", these{nat("172.16.70.7")}, these{open}, in, accepted},
		{"a NetworkFirewallRule that drops comes with a forwarding", these{}, these{open, link(intent.Drop)}, direct, accepted},
		{"a NetworkFirewallRule that drops goes with a forwarding", these{open, link(intent.Drop)}, these{}, direct, accepted},
		{"a CNFRoute leads where the firewall now denies", these{forward(lan, mobile)}, these{route}, out, accepted},
		{"a Mwan3Rule leads where the firewall now denies", these{forward(lan, mobile)}, these{policy, wanRule}, out, accepted},
		{"a tunnel comes with a forwarding", these{}, these{forward(lan, wan), proposal, tunnel}, out, untunnelled},
		{"a tunnel goes with a forwarding", these{forward(lan, wan), proposal, tunnel}, these{}, out, untunnelled},
	}
}

// protectOf is a rule like another, for another address.
func protectOf(rule *intent.DeviceIntent, dst string) *intent.DeviceIntent {
	spec := *rule.Spec.(*intent.FirewallRule)
	spec.Match.Dst = prefix(dst + "/32")
	return of("FirewallRule", "protect-"+dst, &spec)
}

// TestPartsChangeInASafeOrder changes several parts of a device in one step, and traces a packet after every single op.
func TestPartsChangeInASafeOrder(t *testing.T) {
	zones, list := changesOfParts()
	for _, tc := range list {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.secrets[pskRef] = []byte("only-for-tests")
			r.put(zones...)
			r.put(tc.before...)
			require.Empty(t, r.reconcile(t).Skips)
			r.requireNot(t, tc, "before")
			for _, gone := range tc.before {
				if !slices.ContainsFunc(tc.after, func(e *intent.DeviceIntent) bool { return e.ID == gone.ID }) {
					r.drop(gone)
				}
			}
			r.put(tc.after...)
			p := r.plan(t)
			require.Empty(t, p.Skips)
			r.applyEach(t, p, tc)
			r.reached = 0
			require.Empty(t, r.reconcile(t).Ops)
		})
	}
}

// applyEach applies a plan op by op, and traces the packet of a change after each.
func (r *rig) applyEach(t testing.TB, p *backends.Plan, tc change) {
	t.Helper()
	var shown string
	for i := range p.Ops {
		part := *p
		part.Ops = p.Ops[i : i+1]
		require.NoError(t, r.backend.Apply(t.Context(), &part))
		shown += fmt.Sprintf("%s %s %s\n", p.Ops[i].Verb, p.Ops[i].Kind, p.Ops[i].Name)
		r.requireNot(t, tc, shown)
	}
}

func (r *rig) requireNot(t testing.TB, tc change, when string) {
	t.Helper()
	got := r.device.Trace(tc.packet)
	require.False(t, tc.wrong(got), "%s: %+v", when, got)
}

// TestWhatOpensWaitsForTheFirewall has the reload of the firewall fail: what it is to protect is written with the next plan.
func TestWhatOpensWaitsForTheFirewall(t *testing.T) {
	zones, list := changesOfParts()
	tc := list[0]
	r := newRig(t)
	r.put(zones...)
	r.put(tc.before...)
	r.reconcile(t)
	r.put(tc.after...)
	p := r.plan(t)
	require.Equal(t, 1, slices.IndexFunc(p.Ops, func(op backends.Op) bool { return op.Verb == backends.Reload }))
	r.device.FailAt(3, simulator.BeforeWrite) // after the note and the rule
	require.Error(t, r.backend.Apply(t.Context(), p))
	r.requireNot(t, tc, "without the rule")
	require.NotContains(t, r.device.Kernel(), "DNAT")
	r.reached = 0
	r.reconcile(t)
	require.Contains(t, r.device.Kernel(), "DNAT")
	r.requireNot(t, tc, "with the rule")
}
