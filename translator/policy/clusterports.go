package policy

import (
	"fmt"

	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
)

// parseClusterPorts parses the protocols of a rule. It returns false if one of them cannot be understood, which is reported.
func (p *translation) parseClusterPorts(r *clusterRule, action intent.Action) (portList, bool) {
	switch {
	case r.ports == nil:
		return portList{numeric: intent.Ports{Any: true}}, true
	case len(r.ports) == 0:
		p.Add(r.path+"."+r.portField, "expected at least one element, or no such field; the rule %s", outcome(action))
		return portList{}, false
	}
	var list portList
	ok := true
	seen := map[string]bool{}
	for i := range r.ports {
		element := &r.ports[i]
		protocol, port, err := protocolOf(element)
		var span intent.PortRange
		switch {
		case err == nil && port == nil:
			if name := element.DestinationNamedPort; !seen[name] {
				seen[name] = true
				list.named = append(list.named, everyProtocol(name)...)
			}
			continue
		case err == nil:
			span, err = spanOf(protocol, port)
		}
		if err != nil {
			p.Add(fmt.Sprintf("%s.%s[%d]", r.path, r.portField, i), "%v; the rule %s", err, outcome(action))
			ok = false
			continue
		}
		list.numeric.Ranges = append(list.numeric.Ranges, span)
	}
	list.numeric.Ranges = intent.MergePorts(list.numeric.Ranges)
	p.account.Spend(budget.Ports, len(list.numeric.Ranges))
	return list, ok
}

// everyProtocol returns the matches for a port of that name, whatever its protocol.
func everyProtocol(name string) []namedPort {
	var out []namedPort
	for _, protocol := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP} {
		out = append(out, namedPort{PortMatch: labelcache.PortMatch{Name: name, Protocol: labelcache.Protocol(protocol)}})
	}
	return out
}

// protocolOf returns the protocol and port of an element; the port is nil for a named port.
func protocolOf(e *v1alpha2.ClusterNetworkPolicyProtocol) (intent.Protocol, *v1alpha2.Port, error) {
	fields := 0
	var protocol intent.Protocol
	var port *v1alpha2.Port
	if e.TCP != nil {
		protocol, port, fields = intent.TCP, e.TCP.DestinationPort, fields+1
	}
	if e.UDP != nil {
		protocol, port, fields = intent.UDP, e.UDP.DestinationPort, fields+1
	}
	if e.SCTP != nil {
		protocol, port, fields = intent.SCTP, e.SCTP.DestinationPort, fields+1
	}
	if e.DestinationNamedPort != "" {
		fields++
	}
	switch {
	case fields != 1:
		return 0, nil, fmt.Errorf("expected exactly one known field, found %d", fields)
	case protocol != 0 && port == nil:
		return 0, nil, fmt.Errorf("%s: expected a destinationPort", protocol)
	default:
		return protocol, port, nil
	}
}

// spanOf returns the ports of a number or a range.
func spanOf(protocol intent.Protocol, port *v1alpha2.Port) (intent.PortRange, error) {
	first, last := port.Number, port.Number
	switch {
	case (port.Number == 0) == (port.Range == nil):
		return intent.PortRange{}, fmt.Errorf("destinationPort: expected either a number or a range")
	case port.Range != nil:
		first, last = port.Range.Start, port.Range.End
	}
	if first < 1 || last > 65535 || first > last {
		return intent.PortRange{}, fmt.Errorf("destinationPort: %d to %d: expected 1 to 65535, in this order", first, last)
	}
	return intent.PortRange{Protocol: protocol, First: uint16(first), Last: uint16(last)}, nil //nolint:gosec // checked above
}
