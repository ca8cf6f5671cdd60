package cnf

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// traced sends the first packet of a connection through devices: trace NS/POD,... INTERFACE SOURCE DESTINATION PROTOCOL/PORT
// VERDICT.
func (s *stage) traced(words []string) error {
	if len(words) != 6 {
		return errWords
	}
	packet := simulator.Packet{In: words[1], SrcPort: 40000}
	proto, port, _ := strings.Cut(words[4], "/")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return errWords
	}
	packet.Proto, packet.DstPort = proto, uint16(n)
	if packet.Src, err = netip.ParseAddr(words[2]); err != nil {
		return err
	}
	if packet.Dst, err = netip.ParseAddr(words[3]); err != nil {
		return err
	}
	for _, pod := range strings.Split(words[0], ",") {
		r := s.cluster.devices.of(pod)
		if r == nil {
			return errWords
		}
		got := r.device.Trace(packet)
		if got.Verdict.String() != words[5] || got.Local || len(got.Unknown) > 0 {
			return fmt.Errorf("%s: %s: %+v\n%s", pod, got.Verdict, got, r.device.Export("firewall"))
		}
	}
	return nil
}
