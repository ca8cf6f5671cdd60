package firewall

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// traffic is what a rule matches of packets. An invalid peer is any.
type traffic struct {
	direction     intent.Direction
	subject, peer netip.Prefix
	ports         portMatch
}

// title is for display only.
func (t traffic) title(verb string) string {
	return fmt.Sprintf("%s %s %s", verb, t.direction, strings.TrimSuffix(t.subject.String(), "/32"))
}

// rule matches t between two zones. The device's own fields hold only IPv4 addresses; its firewall takes others as
// arguments of iptables.
func (t traffic) rule(z zonePair) openwrt.FirewallRule {
	src, dst := t.peer, t.subject
	if t.direction == intent.Egress {
		src, dst = dst, src
	}
	r := openwrt.FirewallRule{Src: z.from, Dest: z.to, Proto: t.ports.proto, DestPort: t.ports.port, Family: "ipv4"}
	var words []string
	for _, side := range []struct {
		flag   string
		field  *string
		prefix netip.Prefix
	}{{"-s", &r.SrcIP, src}, {"-d", &r.DestIP, dst}} {
		switch {
		case !side.prefix.IsValid() || side.prefix.Bits() == 0:
		case side.prefix.Addr().Is4():
			*side.field = side.prefix.String()
		default:
			words = append(words, side.flag, side.prefix.String())
		}
	}
	if t.subject.Addr().Is6() {
		r.Family = "ipv6"
	}
	if t.ports.words != "" {
		words = append(words, t.ports.words)
	}
	r.Extra = strings.Join(words, " ")
	return r
}

// zonePair is where a packet comes from and where it goes.
type zonePair struct{ from, to string }
