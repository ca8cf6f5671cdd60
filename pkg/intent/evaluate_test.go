package intent

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func party(name, addr string) Party {
	p := Party{Addr: netip.MustParseAddr(addr)}
	if name != "" {
		p.Key = object.Key{Namespace: "shop", Name: name}
	}
	return p
}

// world is db, isolated for ingress by two policies, and web, isolated for egress by one.
func world() *Snapshot {
	db, web := someone("db", "10.0.0.1"), someone("web", "10.0.0.2", "fd00::2")
	tcp := func(port uint16) Ports { return Ports{Ranges: []PortRange{{TCP, port, port}}} }
	b := NewSnapshot().Next()
	b.CreateSet(&Set{ID: "db", Members: people{db}})
	b.CreateSet(&Set{ID: "web", Members: people{web}})
	b.CreateSet(&Set{ID: "office", Prefixes: prefixes("192.0.2.0/24")})
	b.CreateSet(&Set{ID: "none", Members: people{}})
	toSet := func(id SetID) Peer { return Peer{Kind: PeerSet, Set: id} }
	b.PutPolicy(&Policy{ID: "in", Subject: "db", Isolates: true, Rules: []Rule{
		{Action: Allow, Peer: toSet("web"), Ports: tcp(5432)},
		{Action: Deny, Peer: Peer{Kind: PeerAny}, Ports: tcp(23)},
		{Action: Allow, Peer: Peer{Kind: PeerNone}, Ports: Ports{Any: true}},
		{Action: Allow, Peer: toSet("web"), Ports: Ports{}},
		{Action: Allow, Peer: toSet("gone"), Ports: Ports{Any: true}},
		{Action: Allow, Subject: "nobody", Peer: Peer{Kind: PeerAny}, Ports: Ports{Any: true}},
		{Action: Allow, Peer: Peer{Kind: 9}, Ports: Ports{Any: true}},
	}})
	b.PutPolicy(&Policy{ID: "in2", Subject: "db", Isolates: true, Rules: []Rule{
		{Action: Allow, Subject: "db", Peer: toSet("office"), Ports: Ports{Any: true}},
		{Action: Allow, Peer: toSet("web"), Ports: tcp(5432)},
	}})
	b.PutPolicy(&Policy{ID: "node", Subject: "db", Rules: []Rule{
		{Action: Allow, Peer: toSet("office"), Ports: tcp(22)},
	}})
	b.PutPolicy(&Policy{ID: "out", Direction: Egress, Subject: "web", Isolates: true, Rules: []Rule{
		{Action: Allow, Peer: toSet("db"), Ports: tcp(5432)},
		{Action: Allow, Peer: Peer{Kind: PeerAny}, Ports: Ports{Ranges: []PortRange{{UDP, 53, 53}}}},
	}})
	return b.Commit()
}

func TestEvaluate(t *testing.T) {
	open := Decision{Allowed: true}
	denied := Decision{Isolated: true, By: []RuleRef{{"in", -1}, {"in2", -1}}}
	db, web := party("db", "10.0.0.1"), party("web", "10.0.0.2")
	for _, tc := range []struct {
		name     string
		src, dst Party
		proto    Protocol
		port     uint16
		want     Verdict
	}{
		{"both ends allow, each rule is named", web, db, TCP, 5432, Verdict{
			Allowed: true,
			Egress:  Decision{Isolated: true, Allowed: true, By: []RuleRef{{"out", 0}}},
			Ingress: Decision{Isolated: true, Allowed: true, By: []RuleRef{{"in", 0}, {"in2", 1}}},
		}},
		{"the other port", web, db, TCP, 5433, Verdict{Egress: Decision{Isolated: true, By: []RuleRef{{"out", -1}}}, Ingress: denied}},
		{"the source allows alone", web, db, UDP, 53, Verdict{Egress: Decision{Isolated: true, Allowed: true, By: []RuleRef{{"out", 1}}}, Ingress: denied}},
		{"a stranger to the isolated", party("", "198.51.100.1"), db, TCP, 5432, Verdict{Egress: open, Ingress: denied}},
		{"a prefix allows, and who does not isolate adds", party("", "192.0.2.9"), db, TCP, 22, Verdict{
			Allowed: true, Egress: open, Ingress: Decision{Isolated: true, Allowed: true, By: []RuleRef{{"in2", 0}, {"node", 0}}},
		}},
		{"a denial wins", web, db, TCP, 23, Verdict{
			Egress:  Decision{Isolated: true, By: []RuleRef{{"out", -1}}},
			Ingress: Decision{Isolated: true, By: []RuleRef{{"in", 1}}},
		}},
		{"any is ICMP too", party("", "192.0.2.9"), db, ICMP, 0, Verdict{
			Allowed: true, Egress: open, Ingress: Decision{Isolated: true, Allowed: true, By: []RuleRef{{"in2", 0}}},
		}},
		{"a policy without subjects", db, party("", "198.51.100.1"), TCP, 1, Verdict{Allowed: true, Egress: open, Ingress: open}},
		{"the other family of the same endpoint", party("web", "fd00::2"), party("", "2001:db8::1"), TCP, 80, Verdict{
			Egress: Decision{Isolated: true, By: []RuleRef{{"out", -1}}}, Ingress: open,
		}},
		{"an address stands for its endpoint", party("", "10.0.0.2"), party("", "10.0.0.1"), TCP, 5433, Verdict{
			Egress: Decision{Isolated: true, By: []RuleRef{{"out", -1}}}, Ingress: denied,
		}},
		{"a key goes before the address", party("other", "10.0.0.2"), party("other2", "10.0.0.1"), TCP, 1, Verdict{
			Allowed: true, Egress: open, Ingress: open,
		}},
		{"an endpoint reaches itself", db, db, TCP, 1, Verdict{Allowed: true, Egress: open, Ingress: open}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := world().Evaluate(Flow{Src: tc.src, Dst: tc.dst, Protocol: tc.proto, Port: tc.port})
			require.Equal(t, tc.want, got)
		})
	}
	t.Run("the zero values deny", func(t *testing.T) {
		require.False(t, Verdict{}.Allowed || Decision{}.Allowed)
		require.Equal(t, Deny, Action(0))
		require.Equal(t, PeerNone, PeerKind(0))
		require.False(t, Ports{}.Has(TCP, 80))
	})
}
