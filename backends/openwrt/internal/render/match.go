package render

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// The words that the device has for an intent's conditions. A condition without a word is an error: a rule with fewer
// conditions than it should have would match more packets than it should.

// prefixWord formats an IPv4 prefix, "" for none.
func prefixWord(field string, p netip.Prefix) (string, error) {
	switch {
	case !p.IsValid():
		return "", nil
	case !p.Addr().Is4():
		return "", fmt.Errorf("%s: %s is not IPv4", field, p)
	case p.IsSingleIP():
		return p.Addr().String(), nil
	default:
		return p.String(), nil
	}
}

// addrWord formats an IPv4 address, "" for none.
func addrWord(field string, a netip.Addr) (string, error) {
	if a.IsValid() && !a.Is4() {
		return "", fmt.Errorf("%s: %s is not IPv4", field, a)
	}
	if !a.IsValid() {
		return "", nil
	}
	return a.String(), nil
}

// number formats a number, "" for 0.
func number[T uint16 | int](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// toggle formats a switch.
func toggle(t intent.Toggle) (string, error) {
	switch t {
	case intent.Unset:
		return "", nil
	case intent.Off:
		return "0", nil
	case intent.On:
		return "1", nil
	default:
		return "", fmt.Errorf("no position %d of a switch", t)
	}
}

// familyWord formats families; both is the word for both of them together.
func familyWord(f intent.Families, both string) (string, error) {
	switch f {
	case 0:
		return "", nil
	case intent.IPv4:
		return "ipv4", nil
	case intent.IPv6:
		return "ipv6", nil
	case intent.IPv4 | intent.IPv6:
		return both, nil
	default:
		return "", fmt.Errorf("no family %d", f)
	}
}

// dispositionWord formats what happens to packets, as one of those that are possible. Undecided is "".
func dispositionWord(d intent.Disposition, possible ...intent.Disposition) (string, error) {
	words := map[intent.Disposition]string{
		intent.Accept: "ACCEPT", intent.Reject: "REJECT", intent.Drop: "DROP", intent.Mark: "MARK", intent.NoTrack: "NOTRACK",
	}
	if d == intent.Undecided {
		return "", nil
	}
	if !slices.Contains(possible, d) || words[d] == "" {
		return "", fmt.Errorf("the device cannot do %s here", cmp.Or(words[d], fmt.Sprintf("disposition %d", d)))
	}
	return words[d], nil
}

// conditions are those that most kinds have in common.
type conditions struct {
	src, dst, srcPort, dstPort, proto, family string
}

// read formats the conditions of m. Ported are the protocols for which the device evaluates ports; for others it
// ignores them. Anything is its word for every protocol.
func read(m *intent.Match, anything, bothFamilies string, ported ...string) (c conditions, err error) {
	var errs [4]error
	c.src, errs[0] = prefixWord("source", m.Src)
	c.dst, errs[1] = prefixWord("destination", m.Dst)
	c.family, errs[2] = familyWord(m.Family, bothFamilies)
	c.srcPort, c.dstPort, c.proto = number(m.SrcPort), number(m.DstPort), m.Protocol
	if c.proto == "" {
		c.proto = anything
	}
	if c.srcPort+c.dstPort != "" && !slices.Contains(ported, m.Protocol) {
		errs[3] = fmt.Errorf("ports: the device ignores them unless the protocol is one of %s", strings.Join(ported, ", "))
	}
	return c, errors.Join(errs[:]...)
}

// without returns an error if m has further conditions besides those named, which its kind does not know.
func without(m *intent.Match, but ...string) error {
	for _, c := range []struct {
		name  string
		there bool
	}{
		{"hardware address", m.SrcMAC != ""},
		{"ICMP types", len(m.ICMPTypes) > 0},
		{"mark", m.Mark != ""},
	} {
		if c.there && !slices.Contains(but, c.name) {
			return fmt.Errorf("%s: the device does not support this condition here", c.name)
		}
	}
	return nil
}

// markWord returns an error unless text is a mark: value or value/mask, with an exclamation mark before it for any other. ""
// is none.
func markWord(field, text string) error {
	if text == "" {
		return nil
	}
	for _, n := range strings.SplitN(strings.TrimPrefix(text, "!"), "/", 2) {
		if _, err := strconv.ParseUint(n, 0, 32); err != nil {
			return fmt.Errorf("%s: %q is not a mark such as 0x1 or 0x1/0xff", field, text)
		}
	}
	return nil
}
