package ovn

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

func TestPortMatches(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   intent.Ports
		want []string
	}{
		{"any traffic", intent.Ports{Any: true}, []string{""}},
		{"no traffic", intent.Ports{}, nil},
		{"one port", ranges(intent.PortRange{Protocol: intent.TCP, First: 80, Last: 80}), []string{"tcp.dst == 80"}},
		{"a range", ranges(intent.PortRange{Protocol: intent.UDP, First: 1, Last: 9}), []string{"1 <= udp.dst <= 9"}},
		{"every port", ranges(intent.PortRange{Protocol: intent.SCTP, Last: 65535}), []string{"sctp"}},
		{"every port but zero", ranges(intent.PortRange{Protocol: intent.TCP, First: 1, Last: 65535}), []string{"1 <= tcp.dst <= 65535"}},
		{"all of it, one match for each protocol", ranges(
			intent.PortRange{Protocol: intent.TCP, First: 80, Last: 80}, intent.PortRange{Protocol: intent.TCP, First: 443, Last: 443},
			intent.PortRange{Protocol: intent.TCP, First: 8000, Last: 8100}, intent.PortRange{Protocol: intent.TCP, First: 9000, Last: 9001},
			intent.PortRange{Protocol: intent.UDP, First: 53, Last: 53},
		), []string{"(tcp.dst == {80, 443} || 8000 <= tcp.dst <= 8100 || 9000 <= tcp.dst <= 9001)", "udp.dst == 53"}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, portMatches(tc.in)) })
	}
}

func ranges(list ...intent.PortRange) intent.Ports { return intent.Ports{Ranges: list} }

// FuzzMatches renders rules and asks the rendered matches, as ACLs of a database, for what the intents say.
func FuzzMatches(f *testing.F) {
	f.Add([]byte{0, 80, 80, 0, 90, 95, 1, 53, 53}, []byte{1, 2, 3})
	f.Add([]byte{0, 0, 255, 2, 7, 7}, []byte{0x81, 1, 2, 3, 4, 5})
	f.Add([]byte{}, []byte{0x42})
	newest := schemaOf(f, schema.NB2503())
	f.Fuzz(func(t *testing.T, portBytes, peerBytes []byte) {
		ports, peer := portsFrom(portBytes), peerFrom(peerBytes)
		for _, d := range intent.Directions() {
			want := snapshotOf(d, ports, peer)
			tracer := tracerOf(t, want, newest)
			for _, flow := range flowsFor(d, ports, peer) {
				got := tracer.Trace(nbtrace.Packet{
					Inport: portName(flow.Src), Outport: portName(flow.Dst), Src: flow.Src.Addr, Dst: flow.Dst.Addr,
					Protocol: uint8(flow.Protocol), DstPort: flow.Port, SrcPort: 40000,
				})
				require.Equal(t, want.Evaluate(flow).Allowed, got.Allowed, "%s %v %v %+v", d, ports, peer, flow)
			}
		}
	})
}

// schemaOf is a schema as a server reports it.
func schemaOf(t testing.TB, raw []byte) ovsdb.Schema {
	t.Helper()
	known, err := ovsdb.ParseSchema(raw)
	require.NoError(t, err)
	return known
}

func endpoint(name string, addrs ...string) intent.Endpoint {
	e := intent.Endpoint{Key: object.Key{Name: name}}
	for _, a := range addrs {
		e.Addrs = append(e.Addrs, netip.MustParseAddr(a))
	}
	return e
}

func portName(p intent.Party) string { return p.Key.Name }

func portsFrom(data []byte) intent.Ports {
	if len(data) == 1 {
		return intent.Ports{Any: true}
	}
	var list []intent.PortRange
	for ; len(data) >= 3 && len(list) < 6; data = data[3:] {
		r := intent.PortRange{Protocol: intent.TCP, First: uint16(min(data[1], data[2])), Last: uint16(max(data[1], data[2]))}
		if data[0]%2 == 1 {
			r.Protocol = intent.UDP
		}
		if data[0]%5 == 4 {
			r.First, r.Last = 0, 65535
		}
		list = append(list, r)
	}
	return intent.Ports{Ranges: intent.MergePorts(list)}
}

// peerFrom is a set: the first byte says whether it has members, the others are prefixes of either family.
func peerFrom(data []byte) *intent.Set {
	set := &intent.Set{ID: "peer"}
	if len(data) == 0 {
		return nil // anyone
	}
	if data[0]&1 == 1 {
		set.Members = backendtest.NewMembers(endpoint("peer", "10.0.0.9", "fd00::9"))
	}
	if data[0]&2 == 2 {
		set.Within = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	}
	for i, b := range data[1:min(len(data), 9)] {
		a := netip.AddrFrom4([4]byte{192, byte(i), b, 0})
		bits := 24 + int(b)%9
		if b&1 == 1 {
			a, bits = netip.AddrFrom16([16]byte{0x20, 0x01, byte(i), b}), 64+int(b)%65
		}
		set.Prefixes = append(set.Prefixes, netip.PrefixFrom(a, bits).Masked())
	}
	set.Prefixes = intent.MergePrefixes(set.Prefixes)
	return set
}

func snapshotOf(d intent.Direction, ports intent.Ports, peer *intent.Set) *intent.Snapshot {
	b := intent.NewSnapshot().Next()
	b.SetFamilies(intent.IPv4 | intent.IPv6)
	subject := backendtest.NewMembers(endpoint("subject", "10.0.0.1", "fd00::1"))
	b.CreateSet(&intent.Set{ID: "subject", Members: subject})
	b.CreateSet(&intent.Set{ID: intent.IsolatedSet(d), Members: subject})
	rule := intent.Rule{Action: intent.Allow, Ports: ports, Peer: intent.Peer{Kind: intent.PeerAny}}
	if peer != nil {
		b.CreateSet(peer)
		rule.Peer = intent.Peer{Kind: intent.PeerSet, Set: peer.ID}
	}
	b.PutPolicy(&intent.Policy{ID: "p", Direction: d, Subject: "subject", Isolates: true, Rules: []intent.Rule{rule}})
	return b.Commit()
}

// tracerOf renders a snapshot and puts the rows where they can be asked; every match has to parse.
func tracerOf(t *testing.T, want *intent.Snapshot, known ovsdb.Schema) *nbtrace.Tracer {
	t.Helper()
	r := &renderer{names: nb.NewNamer("a"), want: want, schema: known}
	rows := nbtrace.Rows{Switches: []nbtrace.Switch{{Name: "sw", Ports: []string{"subject", "peer"}}}}
	model := newModel(portFinder{})
	model.render(r)
	for id, g := range model.groups {
		group := nbtrace.PortGroup{Name: r.names.PortGroup(id), Ports: []string{"subject"}}
		for uuid, acl := range g.acls {
			group.ACLs = append(group.ACLs, uuid)
			rows.ACLs = append(rows.ACLs, aclOf(t, uuid, acl))
		}
		rows.PortGroups = append(rows.PortGroups, group)
		for ref := range g.peers {
			as := r.addressSet(ref)
			rows.AddressSets = append(rows.AddressSets, nbtrace.AddressSet{Name: as.Name, Addresses: as.Sets["addresses"]})
		}
	}
	tracer, err := nbtrace.New(rows)
	require.NoError(t, err)
	return tracer
}

func aclOf(t *testing.T, uuid string, acl *nb.Row) nbtrace.ACL {
	t.Helper()
	match := fmt.Sprint(acl.Fields["match"])
	_, err := nbtrace.Parse(match)
	require.NoError(t, err, match)
	require.NotContains(t, match, "!", "no negation reaches the data plane")
	require.LessOrEqual(t, strings.Count(match, "$"), 1, match)
	options, _ := acl.Fields["options"].(map[string]string)
	priority, _ := acl.Fields["priority"].(int)
	return nbtrace.ACL{
		UUID: uuid, Match: match, Priority: priority, Options: options,
		Direction: fmt.Sprint(acl.Fields["direction"]), Action: fmt.Sprint(acl.Fields["action"]),
	}
}

// flowsFor returns flows at both ends of every range and prefix.
func flowsFor(d intent.Direction, ports intent.Ports, peer *intent.Set) []intent.Flow {
	numbers := []uint16{0, 1, 80, 65535}
	for _, r := range ports.Ranges {
		numbers = append(numbers, r.First-1, r.First, r.Last, r.Last+1)
	}
	others := []intent.Party{
		{Key: object.Key{Name: "peer"}, Addr: netip.MustParseAddr("10.0.0.9")},
		{Key: object.Key{Name: "peer"}, Addr: netip.MustParseAddr("fd00::9")},
		{Addr: netip.MustParseAddr("198.51.100.1")},
	}
	if peer != nil {
		for _, p := range peer.Prefixes {
			others = append(others, intent.Party{Addr: p.Addr()})
			if before := p.Addr().Prev(); before.IsValid() {
				others = append(others, intent.Party{Addr: before})
			}
		}
	}
	var flows []intent.Flow
	for _, other := range others {
		subject := intent.Party{Key: object.Key{Name: "subject"}, Addr: netip.MustParseAddr("10.0.0.1")}
		if other.Addr.Is6() {
			subject.Addr = netip.MustParseAddr("fd00::1")
		}
		src, dst := other, subject
		if d == intent.Egress {
			src, dst = subject, other
		}
		for _, proto := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP} {
			for _, n := range numbers {
				flows = append(flows, intent.Flow{Src: src, Dst: dst, Protocol: proto, Port: n})
			}
		}
	}
	return flows
}
