package kernel

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const (
	mainTable = "main"
	cnfTable  = "40" // of routes for the table cnf, and of applications
)

// prefixName formats a prefix of a rule as the kernel does; "" for any address.
func prefixName(text string) string {
	if text = routeName(text); text == "default" || text == "all" {
		return ""
	}
	return text
}

// routeName formats a destination as the kernel does.
func routeName(text string) string {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return text
	case p.Bits() == 0:
		return "default"
	case p.IsSingleIP():
		return p.Addr().String()
	default:
		return p.Masked().String()
	}
}

func markName(text string) string {
	value, mask, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(value, 0, 32)
	if err != nil {
		return text
	}
	value = fmt.Sprintf("%#x", n)
	if m, err := strconv.ParseUint(mask, 0, 32); err == nil && m != 1<<32-1 {
		value += fmt.Sprintf("/%#x", m)
	}
	return value
}

func tableName(text string) string {
	names := map[string]string{"": mainTable, "253": "default", "254": mainTable, "255": "local", "prelocal": "128", "cnf": cnfTable}
	if name, ok := names[text]; ok {
		return name
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return text
}

// Selected parses a prefix as prefixName formats it. "" is every address.
func Selected(text string) netip.Prefix {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}
