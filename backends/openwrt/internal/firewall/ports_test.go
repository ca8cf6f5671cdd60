package firewall

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

func TestPortMatches(t *testing.T) {
	const both = intent.IPv4 | intent.IPv6
	var sixteen []uint16
	for i := range uint16(16) {
		sixteen = append(sixteen, 2*i+10, 2*i+10)
	}
	at := func(p intent.Protocol, first, last uint16) intent.PortRange {
		return intent.PortRange{Protocol: p, First: first, Last: last}
	}
	tcp := func(ports ...uint16) (out intent.Ports) {
		for i := 0; i < len(ports); i += 2 {
			out.Ranges = append(out.Ranges, at(intent.TCP, ports[i], ports[i+1]))
		}
		return out
	}
	for _, tc := range []struct {
		name string
		in   intent.Ports
		want []portMatch
	}{
		{"nothing", intent.Ports{}, nil},
		{"everything", intent.Ports{Any: true}, []portMatch{{proto: "all", family: both}}},
		{"one port has the device's own field", tcp(80, 80), []portMatch{{proto: "tcp", port: "80", family: both}}},
		{"port 0 has not", tcp(0, 0), []portMatch{{proto: "tcp", words: "-m multiport --dports 0", family: both}}},
		{"a range", tcp(80, 90), []portMatch{{proto: "tcp", words: "-m multiport --dports 80:90", family: both}}},
		{"every port", tcp(0, 65535), []portMatch{{proto: "tcp", family: both}}},
		{"all but port 0", tcp(1, 65535), []portMatch{{proto: "tcp", words: "-m multiport --dports 1:65535", family: both}}},
		{"more than fit", tcp(sixteen...), []portMatch{
			{proto: "tcp", words: "-m multiport --dports 10,12,14,16,18,20,22,24,26,28,30,32,34,36,38", family: both}, {proto: "tcp", port: "40", family: both},
		}},
		{"both protocols alike", intent.Ports{Ranges: []intent.PortRange{at(6, 53, 53), at(17, 53, 53)}}, []portMatch{{proto: "tcpudp", port: "53", family: both}}},
		{"both protocols", intent.Ports{Ranges: []intent.PortRange{at(6, 53, 53), at(17, 53, 54)}}, []portMatch{
			{proto: "tcp", port: "53", family: both}, {proto: "udp", words: "-m multiport --dports 53:54", family: both},
		}},
		{"SCTP", intent.Ports{Ranges: []intent.PortRange{at(132, 80, 80)}}, []portMatch{{proto: "sctp", words: "-m multiport --dports 80", family: both}}},
		{"protocols without ports", intent.Ports{Ranges: []intent.PortRange{at(1, 0, 65535), at(50, 0, 0), at(51, 1, 9), at(58, 0, 0)}}, []portMatch{
			{proto: "icmp", family: intent.IPv4}, {proto: "esp", family: both}, {proto: "icmp", family: intent.IPv6},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, why := portMatches(tc.in)
			require.Empty(t, why)
			require.Equal(t, tc.want, got)
		})
	}
}
