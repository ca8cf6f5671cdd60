package acllog

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Entry is one packet that an ACL matched.
type Entry struct {
	At        time.Time // the stamp of the line; zero if it has none
	Name      string    // of the ACL; any text
	Verdict   Verdict
	Severity  string
	Direction string // to-lport or from-lport; "" before OVN 21.12
	Protocol  string // tcp, udp, sctp, icmp, icmp6, or a number
	Src, Dst  netip.Addr
	Port      uint16 // the destination port; 0 for protocols without ports
}

// Verdict is what an ACL does with a packet, as ovn-controller writes it.
type Verdict string

// The verdicts.
const (
	Allow  Verdict = "allow"
	Drop   Verdict = "drop"
	Reject Verdict = "reject"
	Pass   Verdict = "pass"
)

// unnamed is what ovn-controller writes for an ACL without a name.
const unnamed = "<unnamed>"

// module is the part of ovn-controller that writes the lines.
const module = "acl_log"

// Parse reads a line: the name, the verdict and the packet. It returns false if the line is not a complete acl_log line. Now supplies
// the year and time zone of a timestamp that has none.
func Parse(line string, now time.Time) (Entry, bool) {
	head, message, ok := message(line)
	if !ok {
		return Entry{}, false
	}
	e := Entry{At: stamp(head, now)}
	rest, ok := strings.CutPrefix(message, "name=")
	if !ok {
		return Entry{}, false
	}
	if e.Name, rest, ok = quoted(rest); !ok {
		return Entry{}, false
	}
	if e.Name == unnamed {
		e.Name = ""
	}
	fields, tuple, ok := strings.Cut(rest, ": ")
	if !ok || !e.attributes(fields) || !e.packet(tuple) {
		return Entry{}, false
	}
	return e, true
}

// Is reports whether a line may be one of acl_log, without reading it.
func Is(line []byte) bool { return bytes.Contains(line, []byte("|"+module)) }

// message splits a line "STAMP|NUMBER|acl_log(THREAD)|LEVEL|MESSAGE". Only the third field is compared: what others may write
// into the message of another module does not count.
func message(line string) (head, message string, ok bool) {
	head, rest, ok := strings.Cut(line, "|")
	if !ok {
		return "", "", false
	}
	number, rest, ok := strings.Cut(rest, "|")
	if !ok || strings.Trim(number, "0123456789") != "" {
		return "", "", false
	}
	name, rest, ok := strings.Cut(rest, "|")
	if !ok || name != module && !strings.HasPrefix(name, module+"(") {
		return "", "", false
	}
	_, message, ok = strings.Cut(rest, "|")
	return head, message, ok
}

// quoted splits a JSON string from what follows it.
func quoted(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			if err := json.Unmarshal([]byte(text[:i+1]), &value); err != nil {
				return "", "", false
			}
			return value, text[i+1:], true
		}
	}
	return "", "", false
}

// attributes reads ", verdict=drop, severity=alert, direction=to-lport".
func (e *Entry) attributes(text string) bool {
	for part := range strings.SplitSeq(text, ", ") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "verdict":
			e.Verdict = Verdict(value)
		case "severity":
			e.Severity = word(value, "alert", "warning", "notice", "info", "debug")
		case "direction":
			e.Direction = word(value, "to-lport", "from-lport")
		}
	}
	return e.Verdict == Allow || e.Verdict == Drop || e.Verdict == Reject || e.Verdict == Pass
}

// word returns a text if it is one of some.
func word(text string, of ...string) string {
	for _, w := range of {
		if w == text {
			return w
		}
	}
	return ""
}

// packet reads the fields of a packet, in the format of ovs-fields(7): tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=80.
func (e *Entry) packet(text string) bool {
	for part := range strings.SplitSeq(strings.TrimRight(text, " \r\n"), ",") {
		key, value, has := strings.Cut(part, "=")
		switch {
		case !has && e.Protocol == "":
			e.Protocol = protocol(key)
		case key == "nw_proto":
			if _, err := strconv.ParseUint(value, 10, 8); err == nil {
				e.Protocol = value
			}
		case key == "nw_src" || key == "ipv6_src":
			e.Src, _ = netip.ParseAddr(value)
		case key == "nw_dst" || key == "ipv6_dst":
			e.Dst, _ = netip.ParseAddr(value)
		case key == "tp_dst":
			port, err := strconv.ParseUint(value, 10, 16)
			if err != nil {
				return false
			}
			e.Port = uint16(port)
		}
	}
	return e.Protocol != "" && e.Src.IsValid() && e.Dst.IsValid() && e.Src.Zone() == "" && e.Dst.Zone() == "" &&
		e.Src.Is4() == e.Dst.Is4()
}

// protocol returns the name of a protocol without its family; "" for an unknown word.
func protocol(word string) string {
	switch word {
	case "tcp", "udp", "sctp", "icmp", "icmp6":
		return word
	case "tcp6", "udp6", "sctp6":
		return strings.TrimSuffix(word, "6")
	default:
		return ""
	}
}
