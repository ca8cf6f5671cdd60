package openwrt

import (
	"slices"
	"strings"
)

// extra is the option extra of a rule: additional matches as words of iptables.
type extra []extraTest

// extraTest is one condition.
type extraTest struct {
	flag, value string
	not         bool
}

// extraMatches are the matches whose flags are modelled.
func extraMatches() []string { return []string{"multiport", "mark", "conntrack", "comment"} }

// extraFlags are the flags that are modelled. All have a value.
func extraFlags() []string {
	return []string{"-s", "-d", "--sport", "--dport", "--sports", "--dports", "--mark", "--ctstate", "--comment"}
}

// parseExtra reads the option extra. ok is false if it has words that are not modelled.
func parseExtra(text string) (e extra, ok bool) {
	not := false
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "!" {
			not = true
			continue
		}
		i++
		if i == len(words) {
			return nil, false
		}
		switch {
		case word == "-m" && slices.Contains(extraMatches(), words[i]):
		case slices.Contains(extraFlags(), word):
			e = append(e, extraTest{flag: word, value: words[i], not: not})
		default:
			return nil, false
		}
		not = false
	}
	return e, true
}

// covers reports whether a packet meets every condition.
func (e extra) covers(f *flight) bool {
	return !slices.ContainsFunc(e, func(t extraTest) bool { return t.covers(f) == t.not })
}

// covers ignores the exclamation mark.
func (t extraTest) covers(f *flight) bool {
	list := strings.Split(t.value, ",")
	anyPort := func(port uint16) bool {
		return slices.ContainsFunc(list, func(p string) bool { return portCovers(p, port) })
	}
	switch t.flag {
	case "-s":
		return prefixCovers(t.value, f.Src)
	case "-d":
		return prefixCovers(t.value, f.Dst)
	case "--sport", "--sports":
		return anyPort(f.SrcPort)
	case "--dport", "--dports":
		return anyPort(f.DstPort)
	case "--mark":
		return markCovers(t.value, f.mark)
	case "--ctstate": // of a connection's first packet
		return slices.Contains(list, "NEW") || f.translated && slices.Contains(list, "DNAT")
	default:
		return true
	}
}
