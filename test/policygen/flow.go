package policygen

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/oracle"
)

// IntentFlow is a flow of the oracle in the words of intents.
func IntentFlow(f oracle.Flow) intent.Flow {
	end := func(e oracle.End) intent.Party {
		p := intent.Party{Addr: e.Addr}
		p.Key.Namespace, p.Key.Name, _ = strings.Cut(e.Pod, "/")
		return p
	}
	to := intent.Flow{Src: end(f.Src), Dst: end(f.Dst), Port: uint16(f.Port), Node: f.Node, Network: f.Network} //nolint:gosec // G115: ports of a NetworkPolicy
	switch f.Protocol {
	case corev1.ProtocolTCP:
		to.Protocol = intent.TCP
	case corev1.ProtocolUDP:
		to.Protocol = intent.UDP
	case corev1.ProtocolSCTP:
		to.Protocol = intent.SCTP
	case oracle.ICMP:
		to.Protocol = intent.ICMP
		if f.Src.Addr.Is6() {
			to.Protocol = intent.ICMPv6
		}
	default:
		panic(fmt.Sprintf("protocol %q", f.Protocol))
	}
	return to
}
