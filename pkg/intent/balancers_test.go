package intent

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// balancer has the frontends tcp/10.96.0.x:80 for the bytes x, in order, each with one backend of that byte.
func balancer(id string, last ...byte) *LoadBalancer {
	lb := &LoadBalancer{ID: LoadBalancerID(id)}
	for _, x := range last {
		lb.Frontends = append(lb.Frontends, Frontend{
			Addr: netip.AddrFrom4([4]byte{10, 96, 0, x}), Protocol: TCP, Port: 80,
			Backends: NewBackends(Backend{Addr: netip.AddrFrom4([4]byte{10, 0, 0, x}), Port: 8080}),
		})
	}
	return lb
}

// owners formats the owner of each of 10.96.0.1 to 10.96.0.4, "-" for none, and checks that it has that frontend.
func owners(t *testing.T, s *Snapshot) string {
	t.Helper()
	var parts []string
	for x := byte(1); x <= 4; x++ {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 96, 0, x}), 80)
		lb, f := s.Frontend("", TCP, at)
		if lb == nil {
			require.Nil(t, f)
			parts = append(parts, "-")
			continue
		}
		require.Same(t, s.LoadBalancer(lb.ID), lb)
		require.Equal(t, at.Addr(), f.Addr)
		require.NotNil(t, f.Backends.Get(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, x}), 8080)))
		parts = append(parts, string(lb.ID))
	}
	return strings.Join(parts, " ")
}

// TestFrontendsAreFound starts from a: 1 2, b: 3 and changes that in one builder.
func TestFrontendsAreFound(t *testing.T) {
	before := NewSnapshot().Next()
	before.PutLoadBalancer(balancer("b", 3))
	before.PutLoadBalancer(balancer("a", 1, 2))
	start := before.Commit()
	require.Equal(t, "a a b -", owners(t, start))
	for _, tc := range []struct {
		name string
		do   func(b *Builder)
		want string
	}{
		{"the same again", func(b *Builder) { b.PutLoadBalancer(balancer("a", 1, 2)) }, "a a b -"},
		{"one goes, the other moves up", func(b *Builder) { b.PutLoadBalancer(balancer("a", 2)) }, "- a b -"},
		{"one comes before", func(b *Builder) { b.PutLoadBalancer(balancer("b", 1, 3)); b.PutLoadBalancer(balancer("a", 2)) }, "b a b -"},
		{"one more", func(b *Builder) { b.PutLoadBalancer(balancer("b", 3, 4)) }, "a a b b"},
		{"dropped", func(b *Builder) { b.DropLoadBalancer("a") }, "- - b -"},
		{"taken over after it was released", func(b *Builder) { b.PutLoadBalancer(balancer("a", 1)); b.PutLoadBalancer(balancer("b", 2, 3)) }, "a b b -"},
		{"taken over before it was released", func(b *Builder) { b.PutLoadBalancer(balancer("b", 2, 3)); b.PutLoadBalancer(balancer("a", 1)) }, "a b b -"},
		{"taken over from one that is dropped then", func(b *Builder) { b.PutLoadBalancer(balancer("c", 1, 2)); b.DropLoadBalancer("a") }, "c c b -"},
		{"taken over from one that was dropped", func(b *Builder) { b.DropLoadBalancer("a"); b.PutLoadBalancer(balancer("c", 1, 2)) }, "c c b -"},
		{"exchanged", func(b *Builder) { b.PutLoadBalancer(balancer("a", 3)); b.PutLoadBalancer(balancer("b", 1, 2)) }, "b b a -"},
		{"in a ring of three", func(b *Builder) {
			b.PutLoadBalancer(balancer("a", 3))
			b.PutLoadBalancer(balancer("c", 1))
			b.PutLoadBalancer(balancer("b", 2, 4))
		}, "c b a b"},
		{"another protocol, port and network are others", func(b *Builder) {
			lb := balancer("c", 1, 2)
			lb.Frontends[0].Protocol, lb.Frontends[1].Port = UDP, 81
			b.PutLoadBalancer(lb)
			blue := balancer("d", 3)
			blue.Network = "blue"
			b.PutLoadBalancer(blue)
		}, "a a b -"},
		{"into another network", func(b *Builder) {
			lb := balancer("a", 1, 2)
			lb.Network = "blue"
			b.PutLoadBalancer(lb)
		}, "- - b -"},
		{"all go", func(b *Builder) { b.DropLoadBalancer("a"); b.DropLoadBalancer("b"); b.DropLoadBalancer("never was") }, "- - - -"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := start.Next()
			tc.do(b)
			require.Equal(t, tc.want, owners(t, b.Commit()))
			require.Equal(t, "a a b -", owners(t, start), "the old snapshot stands")
		})
	}
}

// TestFrontendKeysAreApart keeps names of networks from running into what follows them, and families from each other.
func TestFrontendKeysAreApart(t *testing.T) {
	at := netip.MustParseAddrPort("10.96.0.1:80")
	seen := map[string]bool{}
	for _, network := range []string{"", "a", "\x01a", "a\x06", string(make([]byte, 200))} {
		for _, p := range []Protocol{TCP, UDP, SCTP} {
			for _, a := range []netip.AddrPort{
				at, netip.AddrPortFrom(at.Addr(), 81), netip.MustParseAddrPort("[::ffff:10.96.0.1]:80"),
				netip.MustParseAddrPort("[a60:1::]:80"),
			} {
				seen[string(frontendKey(network, p, a))] = true
			}
		}
	}
	require.Len(t, seen, 5*3*4)
	long := frontendKey("", TCP, netip.MustParseAddrPort("[fd00::6:50:a60:1]:80"))
	require.NotEqual(t, string(long), string(frontendKey("\x06\x00\x50\xfd\x00\x00\x00\x00\x00\x00\x00\x00", TCP, at)),
		"a network's name that looks like the start of an address")
	s := shop(Frontend{})
	lb, f := s.Frontend("", TCP, netip.MustParseAddrPort("[::ffff:10.96.0.1]:80"))
	require.Nil(t, lb)
	require.Nil(t, f)
}

func TestLoadBalancersAndNodesChange(t *testing.T) {
	b := NewSnapshot().Next()
	b.PutLoadBalancer(balancer("b", 1))
	b.PutLoadBalancer(balancer("a", 2))
	b.PutNode(&Node{Name: "n2"})
	b.PutNode(&Node{Name: "n1"})
	first := b.Commit()
	require.Equal(t, []string{"a", "b"}, ids(first.LoadBalancers(), func(lb *LoadBalancer) string { return string(lb.ID) }))
	require.Equal(t, []string{"n1", "n2"}, ids(first.Nodes(), func(n *Node) string { return n.Name }))
	require.Equal(t, 2, first.LoadBalancerCount())

	b = first.Next()
	b.DropLoadBalancer("never was")
	b.DropNode("never was")
	require.Same(t, first, b.Commit(), "nothing changed")

	b = first.Next()
	b.PutLoadBalancer(balancer("b", 1))
	b.DropLoadBalancer("a")
	b.PutNode(&Node{Name: "n1", Zone: "a"})
	second := b.Commit()
	b = second.Next()
	b.DropNode("n2")
	third := b.Commit()
	require.Equal(t, []Revision{1, 2, 3}, []Revision{first.Revision(), second.Revision(), third.Revision()})
	changes, known := third.Since(1)
	require.True(t, known)
	require.Equal(t, []Change{
		{LoadBalancers: []LoadBalancerID{"b", "a"}, Nodes: []string{"n1"}},
		{Nodes: []string{"n2"}},
	}, changes)
	require.Equal(t, "a", third.Node("n1").Zone)
	require.Nil(t, third.Node("n2"))
	require.Nil(t, third.LoadBalancer("a"))
	require.Equal(t, 1, third.LoadBalancerCount())
	require.NotNil(t, first.LoadBalancer("a"), "the old snapshot stands")
	require.Empty(t, first.Node("n1").Zone)
}

// TestLoadBalancersWeigh checks that the log is shortened sooner by changes of many load balancers.
func TestLoadBalancersWeigh(t *testing.T) {
	c := Change{LoadBalancers: make([]LoadBalancerID, 5), Nodes: make([]string, 3)}
	require.Equal(t, 9, c.weight())
	require.False(t, c.empty())
	require.False(t, (&Change{Nodes: []string{"n1"}}).empty())
	require.False(t, (&Change{LoadBalancers: []LoadBalancerID{"a"}}).empty())
	require.True(t, (&Change{}).empty())
}
