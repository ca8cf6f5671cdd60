package sdwan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// protocols are those of the firewall.
var protocols = [...]string{"tcp", "udp", "tcpudp", "udplite", "icmp", "esp", "ah", "sctp", "all"}

// icmpTypes are the types of ICMP messages that the firewall has names for.
const icmpTypes = " address-mask-reply any communication-prohibited destination-unreachable echo-reply echo-request" +
	" fragmentation-needed host-precedence-violation host-prohibited host-redirect host-unknown host-unreachable" +
	" ip-header-bad network-prohibited network-redirect network-unknown network-unreachable parameter-problem ping pong" +
	" port-unreachable precedence-cutoff protocol-unreachable redirect required-option-missing router-advertisement" +
	" router-solicitation source-quench source-route-failed time-exceeded timestamp-reply timestamp-request" +
	" TOS-host-redirect TOS-host-unreachable TOS-network-redirect TOS-network-unreachable ttl-exceeded" +
	" ttl-zero-during-reassembly ttl-zero-during-transit "

// addressMaskRequest is another, which the device supports only between interfaces: between zones it expects a blank after it,
// which it removes from what it gets.
const addressMaskRequest = "address-mask-request"

// bothPorts is the protocol that the firewall assumes if a rule between zones names none.
const bothPorts = "tcpudp"

func (e *translation) readZone(s *v1alpha1.FirewallZoneSpec) {
	for i, n := range s.Network {
		e.need(fmt.Sprintf("spec.network[%d]", i), n != "", "the name of a network")
	}
	var subnets []netip.Prefix
	for i, text := range s.Subnet {
		if p := e.prefix(fmt.Sprintf("spec.subnet[%d]", i), string(text)); p.IsValid() {
			subnets = append(subnets, p)
		}
	}
	e.setOnlyPart(&intent.Zone{
		Networks:       slices.Clone(s.Network),
		Subnets:        subnets,
		Masquerade:     e.flag("spec.masq", string(s.Masq)),
		MasqueradeFrom: e.prefixMatches("spec.masq_src", s.MasqSrc),
		MasqueradeTo:   e.prefixMatches("spec.masq_dest", s.MasqDest),
		AllowInvalid:   e.flag("spec.masq_allow_invalid", string(s.MasqAllowInvalid)),
		ClampMSS:       e.flag("spec.mtu_fix", string(s.MTUFix)),
		Input:          e.zonePolicy("spec.input", s.Input),
		Forward:        e.zonePolicy("spec.forward", s.Forward),
		Output:         e.zonePolicy("spec.output", s.Output),
		Family:         e.family(string(s.Family), "any"),
		RawSrc:         s.ExtraSrc,
		RawDst:         s.ExtraDest,
	})
}

func (e *translation) prefixMatches(field string, texts []v1alpha1.NegatableAddress) []intent.PrefixMatch {
	var out []intent.PrefixMatch
	for i, text := range texts {
		if text != "" {
			out = append(out, e.prefixMatch(fmt.Sprintf("%s[%d]", field, i), string(text)))
		}
	}
	return out
}

func (e *translation) zonePolicy(field string, text v1alpha1.ZonePolicy) intent.Disposition {
	return disposition(e.word(field, string(text), "ACCEPT", "REJECT", "DROP"))
}

func disposition(word string) intent.Disposition {
	switch word {
	case "ACCEPT":
		return intent.Accept
	case "REJECT":
		return intent.Reject
	case "DROP":
		return intent.Drop
	case "MARK":
		return intent.Mark
	case "NOTRACK":
		return intent.NoTrack
	default:
		return intent.Undecided
	}
}

// longestZone is the maximum length of the name of a zone that is not a FirewallZone.
const longestZone = 11

// zone returns a reference to a zone of the firewall.
func (e *translation) zone(field string, name v1alpha1.Zone) intent.DeviceRef {
	if len(name) > longestZone && !zonePattern.MatchString(string(name)) {
		e.refuse(field, "%q: expected a FirewallZone, or a zone of the CNF with at most %d characters", name, longestZone)
	}
	return e.refer(field, string(name))
}

func (e *translation) readForwarding(s *v1alpha1.FirewallForwardingSpec) {
	e.need("spec.src", s.Src != "", "the source zone")
	e.need("spec.dest", s.Dest != "", "the destination zone")
	e.setOnlyPart(&intent.Forwarding{
		From:   e.zone("spec.src", s.Src),
		To:     e.zone("spec.dest", s.Dest),
		Family: e.family(string(s.Family), "any"),
	})
}

func (e *translation) readFirewallRule(s *v1alpha1.FirewallRuleSpec) {
	r := e.packetRule(&s.PacketRule, icmpTypes)
	if r.match.Protocol == "" {
		r.match.Protocol = bothPorts
	}
	e.setOnlyPart(&intent.FirewallRule{
		From: e.zone("spec.src", s.Src), To: e.zone("spec.dest", s.Dest),
		Match: r.match, Decides: r.decides, SetMark: r.setMark, XorMark: r.xorMark, Raw: s.Extra,
	})
}

func (e *translation) readNetworkFirewallRule(s *v1alpha1.NetworkFirewallRuleSpec) {
	e.need("spec.src", s.Src != "", "the interface that packets come in by")
	e.need("spec.target", s.Target != "", "the action for matching packets")
	e.need("spec.icmp_type", s.Proto != "icmp" || len(s.ICMPType) > 0, "ICMP types, such as any, for proto icmp")
	if s.Extra != "" {
		e.refuse("spec.extra", "the device ignores it between interfaces, so the rule would match more packets than it should")
	}
	r := e.packetRule(&s.PacketRule, icmpTypes+addressMaskRequest+" ")
	e.setOnlyPart(&intent.LinkRule{
		From: e.link("spec.src", string(s.Src)), To: e.link("spec.dest", string(s.Dest)),
		Match: r.match, Decides: r.decides, SetMark: r.setMark, XorMark: r.xorMark,
	})
}

// packetRule is what rules between zones and between interfaces have in common.
type packetRule struct {
	match            intent.Match
	decides          intent.Disposition
	setMark, xorMark string
}

func (e *translation) packetRule(s *v1alpha1.PacketRule, icmpTypes string) packetRule {
	target := e.word("spec.target", string(s.Target), "ACCEPT", "REJECT", "DROP", "MARK", "NOTRACK")
	e.need("spec.set_mark", target != "MARK" || s.SetMark != "" || s.SetXMark != "", "set_mark or set_xmark with target MARK")
	for i, name := range s.ICMPType {
		if name == "" || strings.Contains(string(name), " ") || !strings.Contains(icmpTypes, " "+string(name)+" ") {
			e.refuse(fmt.Sprintf("spec.icmp_type[%d]", i), "%q: expected an ICMP type such as echo-request", name)
		}
	}
	return packetRule{
		match: intent.Match{
			Src:       e.prefix("spec.src_ip", string(s.SrcIP)),
			Dst:       e.prefix("spec.dest_ip", string(s.DestIP)),
			SrcMAC:    e.mac("spec.src_mac", s.SrcMAC),
			Protocol:  e.word("spec.proto", string(s.Proto), protocols[:]...),
			SrcPort:   e.port("spec.src_port", string(s.SrcPort)),
			DstPort:   e.port("spec.dest_port", string(s.DestPort)),
			ICMPTypes: texts(s.ICMPType),
			Mark:      e.mark("spec.mark", string(s.Mark)),
			Family:    e.family(string(s.Family), "any"),
		},
		decides: disposition(target),
		setMark: e.mark("spec.set_mark", string(s.SetMark)),
		xorMark: e.mark("spec.set_xmark", string(s.SetXMark)),
	}
}

func (e *translation) mac(field string, text v1alpha1.MAC) string {
	return e.text(field, string(text), macPattern, "six pairs of hexadecimal digits, such as 00:16:3e:00:00:01")
}

// texts returns a list of strings; nil if empty.
func texts[T ~string](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}
