//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// SplitRaft is a Northbound database on three servers on networks of their own, whose links can be cut. One network is for the servers, the
// other one for clients, which run in a network namespace as well. A cut link loses packets; nobody is told.
type SplitRaft struct {
	*Raft

	hub     *netns // has a bridge for each network
	clients *netns
}

// The networks.
const (
	peerNet   = "peers"
	clientNet = "clients"
)

// StartSplitRaft brings up an empty clustered Northbound database, nothing cut.
func StartSplitRaft(tb testing.TB) *SplitRaft {
	tb.Helper()
	s := &SplitRaft{hub: newNetns(tb, "hub"), clients: newNetns(tb, "client")}
	env := environment(tb.TempDir())
	ip := func(ns *netns, args ...string) {
		tb.Helper()
		if _, err := run(tb.Context(), env, "", append([]string{"ip", "-n", ns.name}, args...)...); err != nil {
			tb.Fatal(err)
		}
	}
	for _, network := range []string{peerNet, clientNet} {
		ip(s.hub, "link", "add", network, "type", "bridge")
		ip(s.hub, "link", "set", network, "up")
	}
	plug := func(ns *netns, network, end string, address netip.Addr) {
		tb.Helper()
		ip(s.hub, "link", "add", end, "type", "veth", "peer", "name", network, "netns", ns.name)
		ip(s.hub, "link", "set", end, "master", network, "up")
		ip(ns, "address", "add", address.String()+"/24", "dev", network)
		ip(ns, "link", "set", network, "up")
	}
	var places [members]place
	for i := range places {
		at := place{
			ns: newNetns(tb, fmt.Sprintf("nb%d", i)), peers: netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i)}), clients: netip.AddrFrom4([4]byte{10, 0, 1, byte(1 + i)}),
		}
		plug(at.ns, peerNet, link(peerNet, i), at.peers)
		plug(at.ns, clientNet, link(clientNet, i), at.clients)
		places[i] = at
	}
	plug(s.clients, clientNet, "client", netip.AddrFrom4([4]byte{10, 0, 1, 100}))
	ip(s.clients, "link", "set", "lo", "up")
	s.Raft = startRaft(tb, places)
	return s
}

// link is the name of the hub's end of a server's link to a network.
func link(network string, server int) string { return fmt.Sprintf("%s%d", network, server) }

// Inside is the command line that runs a program on the network of the clients.
func (s *SplitRaft) Inside(argv ...string) []string { return s.clients.inside(argv...) }

// HTTP returns a client on the network of the clients.
func (s *SplitRaft) HTTP() *http.Client {
	dial := func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = s.clients.do(func() error {
			c, err = new(net.Dialer).DialContext(ctx, network, address)
			return err
		})
		return c, err
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// CutPeers cuts a server off from the other servers; clients still reach it.
func (s *SplitRaft) CutPeers(server int) { s.set(peerNet, server, "down") }

// MendPeers ends CutPeers.
func (s *SplitRaft) MendPeers(server int) { s.set(peerNet, server, "up") }

// CutClients cuts a server off from all clients; the other servers still reach it.
func (s *SplitRaft) CutClients(server int) { s.set(clientNet, server, "down") }

// MendClients ends CutClients.
func (s *SplitRaft) MendClients(server int) { s.set(clientNet, server, "up") }

func (s *SplitRaft) set(network string, server int, state string) {
	s.tb.Helper()
	if _, err := run(s.tb.Context(), s.env, "", "ip", "-n", s.hub.name, "link", "set", link(network, server), state); err != nil {
		s.tb.Fatal(err)
	}
}
