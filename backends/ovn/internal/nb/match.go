package nb

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// MatchPorts returns the expression for ranges of one protocol, which are not empty. Ranges stay ranges; single ports
// become one set.
func MatchPorts(ranges []intent.PortRange) string {
	proto := ranges[0].Protocol.String()
	field := proto + ".dst"
	var single, runs []string
	for _, r := range ranges {
		switch {
		case r.First == 0 && r.Last == 65535:
			return proto
		case r.First == r.Last:
			single = append(single, fmt.Sprint(r.First))
		default:
			runs = append(runs, fmt.Sprintf("%d <= %s <= %d", r.First, field, r.Last))
		}
	}
	if len(single) > 0 {
		runs = append([]string{MatchAny(field, single)}, runs...)
	}
	if len(runs) == 1 {
		return runs[0]
	}
	return "(" + strings.Join(runs, " || ") + ")"
}

// MatchAny returns the expression for a field that equals one of several constants, of which there is at least one.
func MatchAny(field string, values []string) string {
	if len(values) == 1 {
		return field + " == " + values[0]
	}
	return field + " == {" + strings.Join(values, ", ") + "}"
}

// AddressField returns a field of the IP header, "src" or "dst", in a match for one family.
func AddressField(f intent.Families, end string) string { return "ip" + FamilyName(f)[1:] + "." + end }

// PrefixText renders a prefix as OVN does: just the address if the prefix contains only that.
func PrefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
