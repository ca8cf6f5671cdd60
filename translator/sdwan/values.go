package sdwan

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// The format of values of SD-WAN resources. The CRDs have the same patterns, but only objects from an API server have
// been checked against those.
var (
	referencePattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)
	zonePattern      = regexp.MustCompile(`^[a-z0-9.-]*$`) // of a FirewallZone
	interfacePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@:-]*$`)
	domainPattern    = regexp.MustCompile(
		`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*[.]?$`)
	macPattern    = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$`)
	markPattern   = regexp.MustCompile(`^(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})(/(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10}))?$`)
	fwmarkPattern = regexp.MustCompile(`^(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})$`)
)

// matches reports whether a non-empty value matches its pattern.
func (e *translation) matches(field, text string, pattern *regexp.Regexp, expected string) bool {
	if pattern.MatchString(text) {
		return true
	}
	e.refuse(field, "%q: expected %s", text, expected)
	return false
}

// text returns a value that matches the pattern, or is empty.
func (e *translation) text(field, text string, pattern *regexp.Regexp, expected string) string {
	if text == "" || e.matches(field, text, pattern, expected) {
		return text
	}
	return ""
}

// word returns one of some words, or empty.
func (e *translation) word(field, text string, words ...string) string {
	if text == "" || slices.Contains(words, text) {
		return text
	}
	e.refuse(field, "%q: expected %s", text, oneOf(words))
	return ""
}

// oneOf formats the possible words, or some of them if there are many.
func oneOf(words []string) string {
	const shown = 10
	if len(words) > shown {
		return "one of " + strings.Join(words[:shown], ", ") + " and others"
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// need reports a field that is empty and must not be.
func (e *translation) need(field string, given bool, what string) {
	if !given {
		e.refuse(field, "expected %s", what)
	}
}

// prefix returns an IPv4 address or prefix; invalid if empty. Leading zeros are ambiguous.
func (e *translation) prefix(field, text string) netip.Prefix {
	p, err := parseIPv4Prefix(text)
	if err != nil {
		e.refuse(field, "%v", err)
	}
	return p
}

// parseIPv4Prefix parses an address or prefix, with host bits masked off. The empty string is not a prefix.
func parseIPv4Prefix(text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
		return p.Masked(), nil
	}
	return netip.Prefix{}, fmt.Errorf("%q: expected an IPv4 address such as 10.0.0.1, or a prefix such as 10.0.0.0/24", text)
}

// prefixMatch returns a prefix with or without an exclamation mark before it.
func (e *translation) prefixMatch(field, text string) intent.PrefixMatch {
	rest, not := strings.CutPrefix(text, "!")
	if not && rest == "" {
		e.refuse(field, "%q: expected an IPv4 address or prefix after the exclamation mark", text)
	}
	return intent.PrefixMatch{Prefix: e.prefix(field, rest), Not: not}
}

// addr returns the new address of packets, from a prefix of one address; invalid if empty.
func (e *translation) addr(field, text string) netip.Addr {
	p := e.prefix(field, text)
	if p.IsValid() && !p.IsSingleIP() {
		e.refuse(field, "%q: expected a single address", text)
		return netip.Addr{}
	}
	return p.Addr()
}

// host returns an IPv4 address without a mask; invalid if empty.
func (e *translation) host(field, text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() {
		e.refuse(field, "%q: expected an IPv4 address without a mask, such as 10.0.0.1", text)
		return netip.Addr{}
	}
	return a
}

// port returns the number of a port; 0 if empty.
func (e *translation) port(field, text string) uint16 {
	const most = 65535
	return uint16(e.number(field, text, 1, most, "a port, 1 to 65535")) //nolint:gosec // not more than most
}

// number returns a whole number written without signs and leading zeros; 0 if empty.
func (e *translation) number(field, text string, least, most int, expected string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most || strconv.Itoa(n) != text {
		e.refuse(field, "%q: expected %s", text, expected)
		return 0
	}
	return n
}

// maxPositive is the highest number of ten digits, as many as the CRDs accept.
const maxPositive = 9_999_999_999

// positive returns a positive integer; 0 if empty.
func (e *translation) positive(field, text string) int {
	return e.number(field, text, 1, maxPositive, "a positive integer")
}

// flag returns a switch that is 1 or 0.
func (e *translation) flag(field, text string) intent.Toggle {
	switch text {
	case "":
		return intent.Unset
	case "0":
		return intent.Off
	case "1":
		return intent.On
	default:
		e.refuse(field, "%q: expected 0 or 1", text)
		return intent.Unset
	}
}

// family returns spec.family; anyWord is the kind's word for both.
func (e *translation) family(text, anyWord string) intent.Families {
	switch e.word("spec.family", text, "ipv4", "ipv6", anyWord) {
	case "ipv4":
		return intent.IPv4
	case "ipv6":
		return intent.IPv6
	default:
		return 0
	}
}

// mark returns a firewall mark, with or without a mask.
func (e *translation) mark(field, text string) string {
	return e.text(field, text, markPattern, "a mark such as 16, 0x10 or 0x10/0xff")
}

// link returns an interface: by name, #default, or # and its address.
func (e *translation) link(field, text string) intent.Link {
	hash, isHash := strings.CutPrefix(text, "#")
	switch {
	case text == "":
		return intent.Link{}
	case text == "#default":
		return intent.Link{Default: true}
	case !isHash && interfacePattern.MatchString(text):
		return intent.Link{Name: text}
	}
	if a, err := netip.ParseAddr(hash); isHash && err == nil && a.Is4() {
		return intent.Link{Addr: a}
	}
	e.refuse(field, "%q: expected an interface such as net1, #default, or # and an IPv4 address", text)
	return intent.Link{}
}

// natLink returns an interface of a NAT: by name, #default or #source.
func (e *translation) natLink(field, text string) intent.Link {
	switch {
	case text == "":
		return intent.Link{}
	case text == "#default":
		return intent.Link{Default: true}
	case text == "#source":
		return intent.Link{Source: true}
	case interfacePattern.MatchString(text):
		return intent.Link{Name: text}
	}
	e.refuse(field, "%q: expected an interface such as net1, #default or #source", text)
	return intent.Link{}
}
