//go:build e2e

package ovnlab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Balanced is the effect of load balancers on the sender's switch, or on the router behind it, on a packet. The zero
// value means that none of them applied.
type Balanced struct {
	Refused  bool             // the packet was rejected instead of sent to a backend
	Backends []netip.AddrPort // from which one is chosen, sorted
	Learned  bool             // the choice is learned for the client: OVN drops the packet that it learns from
	// Delivered is the port that got the packet, which went to a randomly chosen backend; "" if it was dropped.
	Delivered string
}

// Balance traces f if its destination is not a port's address but one of a load balancer. ovn-trace does not support
// templates: a load balancer with one does not apply.
func (t *Tracer) Balance(f Flow) Balanced {
	t.tb.Helper()
	if t.left == 0 {
		t.restart()
	}
	t.left--
	src := t.net.portAt(f.Src)
	out, err := t.call("trace", "--summary", src.sw.name, src.packet(f, src.sw.routerMAC))
	if err != nil {
		t.tb.Fatalf("trace %s: %v", f, err)
	}
	b, err := readBalanced(out)
	if err != nil {
		t.tb.Fatalf("trace %s: %v", f, err)
	}
	return b
}

// readBalanced reads the output of ovn-trace --summary.
func readBalanced(out string) (Balanced, error) {
	var b Balanced
	if !strings.HasPrefix(out, "#") {
		return b, fmt.Errorf("cannot read trace:\n%s", out)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch line {
		case "tcp_reset {", "icmp4 {", "icmp6 {", "sctp_abort {":
			b.Refused = true
		case "arp {", "nd_ns {":
			return b, nil // the packet waits for an ARP reply, which never arrives here
		}
		if port, ok := strings.CutPrefix(line, `/* output to "`); ok && !b.Refused {
			// Ports of another type connect switches and routers.
			if port, ok = strings.CutSuffix(port, `", type "" */;`); ok {
				b.Delivered = port
			}
		}
		b.Learned = b.Learned || strings.HasPrefix(line, "commit_lb_aff(")
		list, ok := strings.CutPrefix(line, "ct_lb_mark(backends=")
		if !ok || b.Backends != nil {
			continue
		}
		list, _, _ = strings.Cut(list, ")")
		list, _, _ = strings.Cut(list, ";")
		for text := range strings.SplitSeq(list, ",") {
			ap, err := netip.ParseAddrPort(text)
			if err != nil {
				return b, fmt.Errorf("backend %q: %w:\n%s", text, err, out)
			}
			b.Backends = append(b.Backends, ap)
		}
		slices.SortFunc(b.Backends, netip.AddrPort.Compare)
	}
	return b, nil
}
