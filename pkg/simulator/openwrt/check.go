package openwrt

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check checks a value of a body. A nil value stands for the items of a text where a list belongs.
type check func(d *Device, v any) finding

// finding is the result of a check. The zero value rejects.
type finding struct {
	ok     bool
	died   bool   // the script aborted
	detail string // explains a rejection
	value  any    // replaces the value, unless it is nil
}

// oneOf accepts one of some texts. Numbers are not text.
func oneOf(texts ...string) check {
	return func(_ *Device, v any) finding {
		s, isText := v.(string)
		return finding{ok: isText && slices.Contains(texts, s)}
	}
}

// above accepts text with a whole number greater than limit, in any notation of the device's language.
func above(limit float64) check {
	return func(_ *Device, v any) finding {
		s, isText := v.(string)
		n, ok := number(s)
		return finding{ok: isText && ok && n == math.Floor(n) && n > limit}
	}
}

// textual applies a test to text. Numbers are read as text, anything else aborts the script.
func textual(test func(string) bool) check {
	return func(_ *Device, v any) finding {
		s, ok := asText(v)
		return finding{ok: ok && test(s), died: !ok}
	}
}

// prefix accepts an address, optionally with a mask of 0 to 32. An address alone loses the slashes around it.
func prefix(_ *Device, v any) finding {
	s, ok := asText(v)
	f := finding{ok: ok && isPrefix(s), died: !ok}
	if halves := parts(s, "/"); f.ok && len(halves) == 1 {
		f.value = halves[0]
	}
	return f
}

// exactly accepts one of words or what other accepts, as it is.
func exactly(other check, words ...string) check {
	word := oneOf(words...)
	return func(d *Device, v any) finding {
		if word(d, v).ok {
			return finding{ok: true}
		}
		f := other(d, v)
		f.value, f.detail = nil, ""
		return f
	}
}

// known accepts the name of something that exists; kind is its name in the detail.
func known(kind string, exists func(*Device, string) bool) check {
	return func(d *Device, v any) finding {
		s, ok := asText(v)
		if !ok {
			return finding{died: true}
		}
		if _, isText := v.(string); isText && exists(d, s) {
			return finding{ok: true}
		}
		return finding{detail: kind + "[" + s + "] is not definied"}
	}
}

// sectionOf accepts the name of any section of a package, and any value that is not text: asked for a section that is not a
// text, the device returns the whole package.
func sectionOf(kind, pkg string) check {
	name := known(kind, func(d *Device, name string) bool { return d.section(pkg, name) != nil })
	return func(d *Device, v any) finding {
		if _, isText := v.(string); !isText && !d.pkg(pkg).missing {
			return finding{ok: true}
		}
		return name(d, v)
	}
}

// mark accepts hexadecimal text of at most ten characters.
func mark(_ *Device, v any) finding {
	s, ok := asText(v)
	switch {
	case !ok:
		return finding{died: true}
	case !isHex(s):
		return finding{detail: "not a number"}
	case len(s) > longestMark:
		return finding{detail: "too large"}
	}
	return finding{ok: true}
}

const longestMark = 10

// asText returns text, or a number as text.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	default:
		return "", false
	}
}

// number reads what the device's language accepts as a number: decimal or hexadecimal, with fraction and exponent.
func number(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "_pP") {
		return 0, false
	}
	if digits, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		n, err := strconv.ParseUint(digits, 16, 64)
		return float64(n), err == nil
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange) // 1e400 is a number, and infinite
}

// parts splits at sep and skips empty parts, as all of the device's splitting does.
func parts(s, sep string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(sep, r) })
}

// isAddress accepts four numbers up to 255 with dots between them, skipping empty parts.
func isAddress(s string) bool {
	bytes := parts(s, ".")
	for _, b := range bytes {
		n, err := strconv.Atoi(b)
		if err != nil || len(b) > 3 || n < 0 || n > 255 || strings.ContainsAny(b, "+-") {
			return false
		}
	}
	return len(bytes) == 4
}

// isPrefix accepts an address, optionally with a mask of 0 to 32.
func isPrefix(s string) bool {
	halves := parts(s, "/")
	switch len(halves) {
	case 1:
		return isAddress(halves[0])
	case 2:
		n, ok := number(halves[1])
		return isAddress(halves[0]) && ok && n == math.Floor(n) && n > -1 && n < 33
	default:
		return false
	}
}

// isNegatable accepts a prefix, optionally after an exclamation mark.
func isNegatable(s string) bool { return isPrefix(strings.TrimPrefix(s, "!")) }

// isMAC accepts six pairs of hexadecimal digits.
func isMAC(s string) bool {
	pairs := parts(s, ":")
	for _, p := range pairs {
		if _, err := strconv.ParseUint(p, 16, 8); err != nil || len(p) != 2 {
			return false
		}
	}
	return len(pairs) == 6
}

// isHex accepts hexadecimal text of any length.
func isHex(s string) bool {
	digits := strings.TrimPrefix(strings.ToLower(s), "0x")
	return digits != "" && strings.Trim(digits, "0123456789abcdef") == ""
}

// icmpTypes are the names of ICMP types that both firewall modules accept.
func icmpTypes() []string {
	return strings.Fields(`address-mask-reply any communication-prohibited destination-unreachable echo-reply
		echo-request fragmentation-needed host-precedence-violation host-prohibited host-redirect host-unknown
		host-unreachable ip-header-bad network-prohibited network-redirect network-unknown network-unreachable
		parameter-problem ping pong port-unreachable precedence-cutoff protocol-unreachable redirect
		required-option-missing router-advertisement router-solicitation source-quench source-route-failed time-exceeded
		timestamp-reply timestamp-request TOS-host-redirect TOS-host-unreachable TOS-network-redirect
		TOS-network-unreachable ttl-exceeded ttl-zero-during-reassembly ttl-zero-during-transit`)
}
