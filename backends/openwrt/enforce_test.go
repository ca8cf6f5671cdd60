package openwrt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// isolate puts a policy that lets nothing but one port of TCP reach a set, and makes the CNF enforce it.
func (r *rig) isolate(subject intent.SetID) {
	r.change(func(b *intent.Builder) {
		b.CreateSet(&intent.Set{ID: intent.IsolatedIngress, Members: r.snap.Set(subject).Members})
		b.PutPolicy(&intent.Policy{
			ID: "shop/db/ingress", Origin: intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: "db"}, Subject: subject,
			Isolates: true, CNFs: scope(),
			Rules: []intent.Rule{{Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{
				Ranges: []intent.PortRange{{Protocol: intent.TCP, First: 5432, Last: 5432}},
			}}},
		})
	})
}

// TestPoliciesBesideRules has a hand-made rule accept what a policy denies, in any order.
func TestPoliciesBesideRules(t *testing.T) {
	for _, later := range []bool{false, true} {
		r := newRig(t)
		r.set("db", "172.16.70.7")
		lan := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}, Input: intent.Accept, Forward: intent.Accept})
		wan := of("FirewallZone", "wan", &intent.Zone{Networks: []string{"wan1"}, Forward: intent.Accept})
		open := of("FirewallRule", "open", &intent.FirewallRule{
			From: ref(wan), To: ref(lan), Decides: intent.Accept, Match: intent.Match{Protocol: "tcp"},
		}, lan, wan)
		reach := func(dst string, port uint16) simulator.Verdict {
			return r.device.Trace(simulator.Packet{In: "net1", Src: addr("9.9.9.9"), Dst: addr(dst), Proto: "tcp", SrcPort: 9, DstPort: port}).Verdict
		}
		if !later {
			r.isolate("db")
		}
		r.put(lan, wan, open)
		require.Empty(t, r.reconcile(t).Skips)
		if later {
			require.Equal(t, simulator.Accept, reach("172.16.70.7", 80))
			r.isolate("db")
			require.Empty(t, r.reconcile(t).Skips)
		}
		require.Equal(t, simulator.Drop, reach("172.16.70.7", 80))
		require.Equal(t, simulator.Accept, reach("172.16.70.7", 5432))
		require.Equal(t, simulator.Accept, reach("172.16.70.8", 80))
		r.requireSettled(t)

		r.device.Reset()
		r.set("else", "10.0.0.1")
		require.Empty(t, r.reconcile(t).Ops)
		require.Empty(t, r.device.Requests(), "no policy refers to that set")
		dmz := of("FirewallZone", "dmz", &intent.Zone{Networks: []string{"wan2"}, Forward: intent.Accept})
		r.put(dmz, of("FirewallForwarding", "in", &intent.Forwarding{From: ref(dmz), To: ref(lan)}, dmz, lan))
		p := r.reconcile(t)
		require.False(t, p.Full)
		packet := simulator.Packet{In: "net2", Src: addr("9.9.9.9"), Dst: addr("172.16.70.7"), Proto: "tcp", SrcPort: 9, DstPort: 80}
		require.Equal(t, simulator.Drop, r.device.Trace(packet).Verdict, "policies apply to a zone that comes later")
		r.requireSettled(t)
		r.change(func(b *intent.Builder) {
			b.DropPolicy("shop/db/ingress")
			b.DropSet(intent.IsolatedIngress)
		})
		r.reconcile(t)
		require.Equal(t, simulator.Accept, reach("172.16.70.7", 80))
		require.NotContains(t, r.device.Export("firewall"), "mark")
		r.requireSettled(t)
	}
}

// TestPoliciesWithoutZones checks that policies that cannot be enforced are reported.
func TestPoliciesWithoutZones(t *testing.T) {
	r := newRig(t)
	r.set("db", "172.16.70.7")
	r.isolate("db")
	p := r.reconcile(t)
	require.Empty(t, p.Ops)
	require.Equal(t, "shop/db/ingress", p.Skips[0].Intent)
	_, err := r.client.Put(t.Context(), openwrt.Zones, openwrt.ObjectOf(openwrt.Zone{Name: "lan", Network: []string{"net0"}}))
	require.NoError(t, err)
	p = r.reconcileFully(t)
	require.Empty(t, p.Skips)
	require.NotZero(t, verbs(p)[backends.Create])
	r.requireSettled(t)
}

// TestMembersOfPolicies writes only what concerns the member that came.
func TestMembersOfPolicies(t *testing.T) {
	r := newRig(t)
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("172.16.70.%d", i+1))
	}
	r.set("db", many[1:]...)
	r.isolate("db")
	r.put(of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}}))
	r.reconcile(t)
	r.reloads()
	r.set("db", many[2:]...)
	r.change(func(b *intent.Builder) {
		b.DropSet(intent.IsolatedIngress)
		b.CreateSet(&intent.Set{ID: intent.IsolatedIngress, Members: r.snap.Set("db").Members})
	})
	p := r.reconcile(t)
	require.False(t, p.Full)
	require.NotZero(t, p.Deletes())
	require.Less(t, len(p.Ops), 10, text(t, p))
	require.Equal(t, []string{"firewall reload"}, r.reloads())
	r.requireSettled(t)
}
