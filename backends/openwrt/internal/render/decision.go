package render

import (
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Decision is what a rule does with a packet that it matches. The zero value means that no order matters.
type Decision struct {
	Chain string // of the rules of one chain, the first that matches decides
	Does  string // rules that do the same may be in any order
}

// firewallDecision is that of a rule between zones.
func firewallDecision(o openwrt.Object) Decision {
	switch target := section.Text(o, "target"); target {
	case "MARK":
		return Decision{"mark", section.Text(o, "set_mark") + " " + section.Text(o, "set_xmark")}
	case "NOTRACK":
		return Decision{}
	default:
		return Decision{"filter", target}
	}
}

// translationDecision is that of a translation between zones.
func translationDecision(o openwrt.Object) Decision {
	if section.Text(o, "target") == "SNAT" {
		return Decision{"snat", section.Text(o, "src_dip") + " " + section.Text(o, "src_dport")}
	}
	return Decision{"dnat", section.Text(o, "dest_ip") + " " + section.Text(o, "dest_port")}
}

// wanDecision is that of a rule of mwan3.
func wanDecision(o openwrt.Object) Decision {
	return Decision{"mwan3", strings.Join([]string{section.Text(o, "policy"), section.Text(o, "sticky"), section.Text(o, "timeout")}, " ")}
}
