package sdwan

import (
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// natFields are the fields that FirewallSNAT, FirewallDNAT and CNFNAT share. What they mean depends on the kind of NAT.
type natFields struct {
	srcIP, srcDIP, srcPort, srcDPort, destIP, destPort string
	match                                              intent.Match // the rest of it
}

// translation returns what is translated, and to what. For SNAT and MASQUERADE, src_dip and src_dport are the new
// source of packets, and dest_ip and dest_port their destination; for DNAT it is the reverse.
func (e *translation) translation(kind intent.NATKind, f natFields) intent.Translation {
	t := intent.Translation{Kind: kind, Match: f.match}
	t.Match.Src = e.prefix("spec.src_ip", f.srcIP)
	t.Match.SrcPort = e.port("spec.src_port", f.srcPort)
	if kind == intent.DestinationNAT {
		t.Match.Dst, t.Addr = e.prefix("spec.src_dip", f.srcDIP), e.addr("spec.dest_ip", f.destIP)
		t.Match.DstPort, t.Port = e.port("spec.src_dport", f.srcDPort), e.port("spec.dest_port", f.destPort)
	} else {
		t.Match.Dst, t.Addr = e.prefix("spec.dest_ip", f.destIP), e.addr("spec.src_dip", f.srcDIP)
		t.Match.DstPort, t.Port = e.port("spec.dest_port", f.destPort), e.port("spec.src_dport", f.srcDPort)
	}
	return t
}

// readRedirection reads a FirewallSNAT or FirewallDNAT; target is the word for kind.
func (e *translation) readRedirection(s *v1alpha1.Redirection, kind intent.NATKind, given, target string) {
	e.word("spec.target", given, target)
	if kind == intent.SourceNAT {
		e.need("spec.src_dip", s.SrcDIP != "", "the new source address")
		e.need("spec.dest", s.Dest != "", "the destination zone")
	} else {
		e.need("spec.src", s.Src != "", "the source zone")
	}
	match := intent.Match{
		SrcMAC:   e.mac("spec.src_mac", s.SrcMAC),
		Protocol: e.word("spec.proto", string(s.Proto), protocols[:]...),
		Mark:     e.mark("spec.mark", string(s.Mark)),
		Family:   e.family(string(s.Family), "any"),
	}
	if match.Protocol == "" {
		match.Protocol = bothPorts
	}
	e.setOnlyPart(&intent.ZoneNAT{
		From: e.zone("spec.src", s.Src),
		To:   e.zone("spec.dest", s.Dest),
		Translation: e.translation(kind, natFields{
			srcIP: string(s.SrcIP), srcDIP: string(s.SrcDIP), srcPort: string(s.SrcPort), srcDPort: string(s.SrcDPort),
			destIP: string(s.DestIP), destPort: string(s.DestPort), match: match,
		}),
	})
}

// maxPlace is the highest place of a rule in a chain, as in the CRD.
const maxPlace = 99999

func (e *translation) readNAT(s *v1alpha1.CNFNATSpec) {
	kinds := map[string]intent.NATKind{
		"DNAT": intent.DestinationNAT, "SNAT": intent.SourceNAT, "MASQUERADE": intent.Masquerade,
	}
	e.need("spec.target", s.Target != "", "DNAT, SNAT or MASQUERADE")
	kind := kinds[e.word("spec.target", s.Target, "DNAT", "SNAT", "MASQUERADE")]
	switch kind {
	case intent.SourceNAT:
		e.need("spec.src_dip", s.SrcDIP != "", "the new source address")
		e.need("spec.dest", s.Dest != "", "the outgoing interface")
	case intent.Masquerade:
		e.need("spec.dest", s.Dest != "", "the outgoing interface")
	case intent.DestinationNAT:
		e.need("spec.dest_ip", s.DestIP != "" || s.DestPort != "", "dest_ip or dest_port, the new destination")
	}
	e.setOnlyPart(&intent.LinkNAT{
		From: e.natLink("spec.src", string(s.Src)),
		To:   e.natLink("spec.dest", string(s.Dest)),
		Translation: e.translation(kind, natFields{
			srcIP: string(s.SrcIP), srcDIP: string(s.SrcDIP), srcPort: string(s.SrcPort), srcDPort: string(s.SrcDPort),
			destIP: string(s.DestIP), destPort: string(s.DestPort),
			match: intent.Match{Protocol: e.word("spec.proto", string(s.Proto), protocols[:]...)},
		}),
		Place: e.number("spec.index", s.Index, 0, maxPlace, "a position in the chain, 0 or higher"),
	})
}
