package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
)

// port is a protocol with a destination port, by number or by name. The zero value is none.
type port struct {
	protocol intent.Protocol
	number   uint16 // 0 with a name, or for a protocol without ports
	name     string
}

func (p port) String() string {
	switch {
	case p.protocol == intent.ICMP:
		return "icmp"
	case p.name != "":
		return p.protocol.String() + "/" + p.name
	default:
		return fmt.Sprintf("%s/%d", p.protocol, p.number)
	}
}

// portName matches the names of ports of containers and services.
var portName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// parsePort reads tcp/80, udp/dns, icmp, or 80, which is TCP.
func parsePort(text string) (port, error) {
	proto, number, ok := strings.Cut(strings.ToLower(text), "/")
	if !ok && proto != "icmp" {
		proto, number = "tcp", proto
	}
	p := port{}
	switch proto {
	case "tcp":
		p.protocol = intent.TCP
	case "udp":
		p.protocol = intent.UDP
	case "sctp":
		p.protocol = intent.SCTP
	case "icmp":
		if !ok {
			return port{protocol: intent.ICMP}, nil
		}
		fallthrough
	default:
		return port{}, fmt.Errorf("port %q: expected tcp/80, udp/53, sctp/9999, tcp/NAME or icmp", text)
	}
	if n, err := strconv.ParseUint(number, 10, 16); err == nil && n > 0 {
		p.number = uint16(n)
		return p, nil
	}
	if !portName.MatchString(number) || strings.Trim(number, "0123456789") == "" {
		return port{}, fmt.Errorf("port %q: expected a number from 1 to 65535, or a port's name", text)
	}
	p.name = number
	return p, nil
}

// of returns p with the number that a pod assigns to its name.
func (p port) of(e *end) (port, error) {
	if p.name == "" {
		return p, nil
	}
	var known []string
	for _, named := range e.ports {
		if named.Protocol == labelcache.Protocol(p.protocol) && named.Name == p.name {
			return port{protocol: p.protocol, number: named.Number}, nil
		}
		known = append(known, fmt.Sprintf("%s/%s (%d)", named.Protocol, named.Name, named.Number))
	}
	if len(known) == 0 {
		return port{}, fmt.Errorf("%s has no named ports: use a number instead of %s", e.name, p)
	}
	return port{}, fmt.Errorf("%s has no port %s: it has %s", e.name, p, joinAnd(known))
}
