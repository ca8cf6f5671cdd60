package intent

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSharedAddressIsolatesAndAllowsNoEndpoint judges flows of addresses that several endpoints have.
func TestSharedAddressIsolatesAndAllowsNoEndpoint(t *testing.T) {
	shared := netip.MustParseAddr("10.0.0.9")
	db, web := someone("db", "10.0.0.1"), someone("web", "10.0.0.2")
	db.Shared, web.Shared = []netip.Addr{shared}, []netip.Addr{shared}
	b := NewSnapshot().Next()
	b.CreateSet(&Set{ID: "db", Members: people{db}})
	b.CreateSet(&Set{ID: "web", Members: people{web}})
	b.PutPolicy(&Policy{ID: "in", Subject: "db", Isolates: true, Rules: []Rule{
		{Action: Allow, Peer: Peer{Kind: PeerSet, Set: "web"}, Ports: Ports{Any: true}},
	}})
	s := b.Commit()
	allowed := func(src, dst Party) bool {
		return s.Evaluate(Flow{Src: src, Dst: dst, Protocol: TCP, Port: 80}).Allowed
	}
	require.True(t, allowed(party("web", "10.0.0.2"), party("db", "10.0.0.1")))
	require.False(t, allowed(party("web", "10.0.0.9"), party("db", "10.0.0.1")), "as a peer")
	require.False(t, allowed(party("", "192.0.2.1"), party("", "10.0.0.9")), "as a subject, known by its address alone")
	require.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.1"), shared}, s.Set("db").SubjectAddrs())
	require.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.1")}, s.Set("db").Addrs())
}

// TestSharedSetsKeepTheirNames compares the names of shared sets with how they were made first: rows of earlier versions have them.
func TestSharedSetsKeepTheirNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, SetID("shared/4cfd39ea356a456e0d0a0d36c5bfeba6"), SharedSet(Ingress, Peer{Kind: PeerAny}, Ports{Any: true}))
	for _, d := range []Direction{Ingress, Egress} {
		for _, peer := range []Peer{{Kind: PeerNone}, {Kind: PeerAny}, {Kind: PeerSet, Set: "pods app=web in shop"}} {
			for _, ports := range []Ports{{}, {Any: true}, {Ranges: []PortRange{{TCP, 80, 80}, {UDP, 1, 65535}}}} {
				text := fmt.Sprintf("%d %d %s %t", d, peer.Kind, peer.Set, ports.Any)
				for _, r := range ports.Ranges {
					text += fmt.Sprintf(" %d %d %d", r.Protocol, r.First, r.Last)
				}
				sum := sha256.Sum256([]byte(text))
				require.Equal(t, SetID(fmt.Sprintf("shared/%x", sum[:16])), SharedSet(d, peer, ports), "%s", text)
			}
		}
	}
}
