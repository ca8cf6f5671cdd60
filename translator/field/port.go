package field

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// Protocol returns the protocol in a port's field: TCP if it is nil or empty, as the API documents. It returns false for
// one that NetworkPolicies and Services do not support.
func Protocol(p *corev1.Protocol) (intent.Protocol, bool) {
	if p == nil {
		return intent.TCP, true
	}
	switch *p {
	case corev1.ProtocolTCP, "":
		return intent.TCP, true
	case corev1.ProtocolUDP:
		return intent.UDP, true
	case corev1.ProtocolSCTP:
		return intent.SCTP, true
	default:
		return 0, false
	}
}

// PortNumber checks a number that has to be a port, 1 to 65535.
func (f *Faults) PortNumber(field string, n int32) (uint16, bool) {
	if n < 1 || n > 65535 {
		f.Add(field, "%d: expected 1 to 65535; it is ignored", n)
		return 0, false
	}
	return uint16(n), true
}
