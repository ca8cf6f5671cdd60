package connections

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
)

// Ports formats traffic as protocols with their ports: "TCP 80, 443, 1000-2000; UDP 53", "all", or "all except TCP 22" if that is
// shorter.
func Ports(t reach.Traffic) string {
	rest := reach.All().Minus(t)
	switch {
	case rest.Empty():
		return "all"
	case t.Other && len(rest.Ranges) < len(t.Ranges):
		return "all except " + portList(rest)
	}
	return portList(t)
}

const lastPort = 65535

func portList(t reach.Traffic) string {
	var parts []string
	for _, protocol := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP} {
		var ports []string
		for _, r := range t.Ranges {
			switch {
			case r.Protocol != protocol:
			case r.First == 0 && r.Last == lastPort:
				ports = append(ports, "all ports")
			case r.First == r.Last:
				ports = append(ports, fmt.Sprint(r.First))
			default:
				ports = append(ports, fmt.Sprintf("%d-%d", r.First, r.Last))
			}
		}
		if len(ports) > 0 {
			parts = append(parts, strings.ToUpper(protocol.String())+" "+strings.Join(ports, ", "))
		}
	}
	if t.Other {
		parts = append(parts, "other protocols")
	}
	return strings.Join(parts, "; ")
}
