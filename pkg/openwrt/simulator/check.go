package simulator

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// check checks a value of a body. ok is the result, detail may explain it, and died means that the script aborted on it.
type check func(d *Device, v any) (ok bool, detail string, died bool)

// oneOf accepts one of some texts. Numbers are not text.
func oneOf(texts ...string) check {
	return func(_ *Device, v any) (bool, string, bool) {
		s, isText := v.(string)
		if !isText {
			return false, "", false
		}
		for _, t := range texts {
			if s == t {
				return true, "", false
			}
		}
		return false, "", false
	}
}

// above accepts text with a whole number greater than limit, in any notation of the device's language.
func above(limit float64) check {
	return func(_ *Device, v any) (bool, string, bool) {
		s, isText := v.(string)
		n, ok := number(s)
		return isText && ok && n == math.Floor(n) && n > limit, "", false
	}
}

// textual applies a test to text. Numbers are read as text, anything else aborts the script.
func textual(test func(string) bool) check {
	return func(_ *Device, v any) (bool, string, bool) {
		s, ok := asText(v)
		if !ok {
			return false, "", true
		}
		return test(s), "", false
	}
}

// exactly accepts one of words or what other accepts.
func exactly(other check, words ...string) check {
	word := oneOf(words...)
	return func(d *Device, v any) (bool, string, bool) {
		if ok, _, _ := word(d, v); ok {
			return true, "", false
		}
		return other(d, v)
	}
}

// known accepts the name of something that exists; kind is its name in the detail, "" for no detail.
func known(kind string, exists func(*Device, string) bool) check {
	return func(d *Device, v any) (bool, string, bool) {
		s, ok := asText(v)
		if !ok {
			return false, "", true
		}
		if _, isText := v.(string); isText && exists(d, s) {
			return true, "", false
		}
		if kind == "" {
			return false, "", false
		}
		return false, kind + "[" + s + "] is not definied", false
	}
}

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
	return n, err == nil
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

// isMark accepts hexadecimal text of at most ten characters.
func isMark(s string) bool {
	_, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 64)
	return err == nil && len(s) <= 10
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
