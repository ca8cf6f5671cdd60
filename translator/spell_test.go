package translator_test

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func spell[T any](list []T) string { return fmt.Sprintf("%+v", list) }

// nodeText formats a node.
func nodeText(n *intent.Node) string {
	return fmt.Sprintf("node %s zone=%q system=%q addresses: %s\n", n.Name, n.Zone, n.SystemID, join(n.Addrs))
}

// balancerText formats a load balancer, a line for each frontend and each of its backends.
func balancerText(lb *intent.LoadBalancer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "balancer %s", lb.ID)
	for _, part := range []struct {
		said bool
		text string
	}{
		{lb.Network != "", fmt.Sprintf("in network %s", lb.Network)},
		{lb.Affinity > 0, fmt.Sprintf("remembers %d s", lb.Affinity)},
		{lb.RejectEmpty, "refuses when empty"},
		{lb.HealthCheckPort > 0, fmt.Sprintf("health at %d", lb.HealthCheckPort)},
	} {
		if part.said {
			b.WriteString(", " + part.text)
		}
	}
	b.WriteString("\n")
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		fmt.Fprintf(&b, "  %s %s %s", f, f.Kind, f.Path)
		if f.Node != "" {
			b.WriteString(" of " + f.Node)
		}
		fmt.Fprintf(&b, ", %s", f.Locality)
		if len(f.Denied) > 0 {
			fmt.Fprintf(&b, ", bars %s", join(f.Denied))
		}
		b.WriteString("\n")
		for backend := range f.Backends.All() {
			b.WriteString("    " + backendText(backend) + "\n")
		}
	}
	return b.String()
}

func backendText(b *intent.Backend) string {
	text := b.AddrPort().String()
	if b.Key != (object.Key{}) {
		text += " " + b.Key.String()
	}
	if b.Node != "" {
		text += " on " + b.Node
	}
	if len(b.ForNodes) > 0 {
		text += " for nodes " + strings.Join(b.ForNodes, " ")
	}
	if len(b.ForZones) > 0 {
		text += " for zones " + strings.Join(b.ForZones, " ")
	}
	if b.Draining {
		text += " draining"
	}
	return text
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
