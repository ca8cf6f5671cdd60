package nbtrace_test

import (
	"fmt"
	"testing"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// BenchmarkTrace asks about one packet among 200 port groups with four ACLs each, on one switch of 1,000 ports.
func BenchmarkTrace(b *testing.B) {
	r := nbtrace.Rows{Switches: []nbtrace.Switch{{Name: "s"}}, AddressSets: []nbtrace.AddressSet{{Name: "as"}}}
	for i := range 1000 {
		r.Switches[0].Ports = append(r.Switches[0].Ports, fmt.Sprint("p", i))
		r.AddressSets[0].Addresses = append(r.AddressSets[0].Addresses, fmt.Sprintf("10.1.%d.%d", i/250, i%250))
	}
	for i := range 200 {
		g := nbtrace.PortGroup{Name: fmt.Sprint("g", i), Ports: r.Switches[0].Ports[i*5 : i*5+5]}
		for j, spec := range []string{
			"to-lport 0.1000 drop : outport == @%s && ip",
			"to-lport 0.1001 allow-related : outport == @%s && ip4.src == $as && tcp && (tcp.dst == {80, 443} || 8000 <= tcp.dst <= 8100)",
			"from-lport+lb 0.1000 drop : inport == @%s && ip",
			"from-lport+lb 0.1001 allow-related : inport == @%s && ip4.dst == $as && udp.dst == 53",
		} {
			a := acl(fmt.Sprint(i, j), fmt.Sprintf(spec, g.Name))
			r.ACLs, g.ACLs = append(r.ACLs, a), append(g.ACLs, a.UUID)
		}
		r.PortGroups = append(r.PortGroups, g)
	}
	tracer, err := nbtrace.New(r)
	if err != nil {
		b.Fatal(err)
	}
	p := packet(b, "p1>p2 10.1.0.1 10.1.0.2 udp 53")
	for b.Loop() {
		tracer.Trace(p)
	}
}
