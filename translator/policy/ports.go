package policy

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// parsePorts parses the ports of a rule. No port at all means every protocol and port; an element that cannot be
// understood is reported and matches nothing.
func (p *translation) parsePorts(r rule) portList {
	if len(r.ports) == 0 {
		return portList{numeric: intent.Ports{Any: true}}
	}
	var list portList
	seen := map[labelcache.PortMatch]bool{}
	for i := range r.ports {
		path := fmt.Sprintf("%s.ports[%d]", r.path, i)
		port := &r.ports[i]
		proto, ok := field.Protocol(port.Protocol)
		if !ok {
			p.Add(path+".protocol", "%q: expected TCP, UDP or SCTP; the element matches nothing", *port.Protocol)
			continue
		}
		if port.Port != nil && port.Port.Type == intstr.String {
			match := labelcache.PortMatch{Name: port.Port.StrVal, Protocol: labelcache.Protocol(proto)}
			if p.checkNamed(path, port) && !seen[match] {
				seen[match] = true
				list.named = append(list.named, namedPort{match, path + ".port"})
			}
			continue
		}
		if first, last, ok := p.parseRange(path, port); ok {
			list.numeric.Ranges = append(list.numeric.Ranges, intent.PortRange{Protocol: proto, First: first, Last: last})
		}
	}
	list.numeric.Ranges = intent.MergePorts(list.numeric.Ranges)
	p.account.Spend(budget.Ports, len(list.numeric.Ranges))
	return list
}

func (p *translation) checkNamed(path string, port *networkingv1.NetworkPolicyPort) bool {
	switch {
	case port.Port.StrVal == "":
		p.Add(path+".port", "expected a port name that is not empty; the element matches nothing")
	case port.EndPort != nil:
		p.Add(path+".endPort", "not allowed with a named port; the element matches nothing")
	default:
		return true
	}
	return false
}

// parseRange parses port and endPort, both inclusive. Without a port, it is every port of the protocol.
func (p *translation) parseRange(path string, port *networkingv1.NetworkPolicyPort) (first, last uint16, ok bool) {
	if port.Port == nil {
		if port.EndPort != nil {
			p.Add(path+".endPort", "needs a port; the element matches nothing")
			return 0, 0, false
		}
		return 0, 65535, true
	}
	from, to := port.Port.IntVal, port.Port.IntVal
	if port.EndPort != nil {
		to = *port.EndPort
	}
	if from < 1 || from > 65535 {
		p.Add(path+".port", "%d: expected 1 to 65535; the element matches nothing", from)
		return 0, 0, false
	}
	if to < from || to > 65535 {
		p.Add(path+".endPort", "%d: expected %d to 65535; the element matches nothing", to, from)
		return 0, 0, false
	}
	return uint16(from), uint16(to), true
}
