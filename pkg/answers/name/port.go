package name

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// Port is a protocol with a destination port, by number or by name. The zero value is none.
type Port struct {
	Protocol intent.Protocol
	Number   uint16 // 0 with a name, or for a protocol without ports
	Name     string
}

// String formats p as ParsePort reads it.
func (p Port) String() string {
	switch {
	case p.Protocol == intent.ICMP:
		return "icmp"
	case p.Name != "":
		return p.Protocol.String() + "/" + p.Name
	default:
		return fmt.Sprintf("%s/%d", p.Protocol, p.Number)
	}
}

// portName matches the names of ports of containers and services.
var portName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// ParsePort reads tcp/80, udp/dns, icmp, or 80, which is TCP.
func ParsePort(text string) (Port, error) {
	proto, number, ok := strings.Cut(strings.ToLower(text), "/")
	if !ok && proto != "icmp" {
		proto, number = "tcp", proto
	}
	p := Port{}
	switch proto {
	case "tcp":
		p.Protocol = intent.TCP
	case "udp":
		p.Protocol = intent.UDP
	case "sctp":
		p.Protocol = intent.SCTP
	case "icmp":
		if !ok {
			return Port{Protocol: intent.ICMP}, nil
		}
		fallthrough
	default:
		return Port{}, fmt.Errorf("port %q: expected tcp/80, udp/53, sctp/9999, tcp/NAME or icmp", text)
	}
	if n, err := strconv.ParseUint(number, 10, 16); err == nil && n > 0 {
		p.Number = uint16(n)
		return p, nil
	}
	if !portName.MatchString(number) || strings.Trim(number, "0123456789") == "" {
		return Port{}, fmt.Errorf("port %q: expected a number from 1 to 65535, or a port's name", text)
	}
	p.Name = number
	return p, nil
}
