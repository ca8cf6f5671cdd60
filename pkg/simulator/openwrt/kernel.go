package openwrt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The chains of iptables that the device's scripts write to.
const (
	natPre   = "nat PREROUTING"
	natPost  = "nat POSTROUTING"
	mangle   = "mangle PREROUTING"
	filterIn = "filter INPUT"
	filterFw = "filter FORWARD"
)

// kernel is the state of a pod's kernel that the device's scripts write. It outlives the device's container.
type kernel struct {
	chains map[string][]chainRule
	rules  []ipRule // by preference, without those of every pod
	routes []ipRoute
}

// chainRule is one rule of iptables, or the place of the rules that the firewall service makes.
type chainRule struct {
	service            bool // the place of the service's own rules
	in, out            string
	proto              string
	src, dst           string
	srcPort, dstPort   string
	icmp, mac, mark    string
	target, to, toPort string
	setMark            string
}

// spec is the rule as on the command line, without the command.
func (r chainRule) spec() string {
	var b strings.Builder
	add := func(flag, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s %s", flag, value)
		}
	}
	add("-i", r.in)
	add("-o", r.out)
	add("-p", r.proto)
	add("-s", r.src)
	add("-d", r.dst)
	add("--sport", r.srcPort)
	add("--dport", r.dstPort)
	add("--icmp-type", r.icmp)
	add("-m mac --mac-source", r.mac)
	add("-m mark --mark", r.mark)
	add("-j", r.target)
	switch r.target {
	case "SNAT":
		add("--to-source", r.destination())
	case "DNAT":
		add("--to-destination", r.destination())
	case "REDIRECT":
		add("--to-port", r.toPort)
	case "MARK":
		add("--set-mark", r.setMark)
	}
	return strings.TrimSpace(b.String())
}

func (r chainRule) destination() string {
	if r.toPort != "" {
		return r.to + ":" + r.toPort
	}
	return r.to
}

// possible reports whether iptables accepts the rule. The scripts ignore its exit code.
func (r chainRule) possible() bool {
	ported := slices.Contains([]string{"tcp", "udp", "sctp", "udplite"}, r.proto)
	known := ported || slices.Contains([]string{"", "all", "icmp", "esp", "ah"}, r.proto)
	port := func(text string) bool {
		_, err := strconv.ParseUint(text, 0, 16)
		return text == "" || err == nil
	}
	return known && port(r.srcPort) && port(r.dstPort) && port(r.toPort) && r.target != "" && (ported || r.srcPort == "" && r.dstPort == "" && r.toPort == "") &&
		(r.target != "SNAT" && r.target != "DNAT" || r.to != "")
}

// appendRule adds r at the end of a chain.
func (k *kernel) appendRule(chain string, r chainRule) {
	if r.possible() {
		k.chains[chain] = append(k.chains[chain], r)
	}
}

// insertRule adds r so that it becomes rule number at, counted from 1; own is how many rules the service has at its
// place. A number beyond the end adds nothing.
func (k *kernel) insertRule(chain string, at, own int, r chainRule) {
	if !r.possible() {
		return
	}
	for i, before := 0, 1; i <= len(k.chains[chain]); i++ {
		if before >= at {
			k.chains[chain] = slices.Insert(k.chains[chain], i, r)
			return
		}
		if i == len(k.chains[chain]) {
			return
		}
		if before++; k.chains[chain][i].service {
			before += own - 1
		}
	}
}

// deleteRule removes the first rule that is equal to r.
func (k *kernel) deleteRule(chain string, r chainRule) {
	for i, old := range k.chains[chain] {
		if old == r {
			k.chains[chain] = slices.Delete(k.chains[chain], i, i+1)
			return
		}
	}
}

// restartService removes the service's rules and appends them again, after all that others appended before.
func (k *kernel) restartService() {
	for _, chain := range []string{natPre, natPost, mangle, filterIn, filterFw} {
		rest := slices.DeleteFunc(k.chains[chain], func(r chainRule) bool { return r.service })
		k.chains[chain] = append(rest, chainRule{service: true})
	}
}

// text prints the state in order, without the service's own rules.
func (k *kernel) text() string {
	var b strings.Builder
	for _, chain := range []string{natPre, natPost, mangle, filterIn, filterFw} {
		table, name, _ := strings.Cut(chain, " ")
		for _, r := range k.chains[chain] {
			if !r.service {
				fmt.Fprintf(&b, "iptables -t %s -A %s %s\n", table, name, r.spec())
			}
		}
	}
	for _, r := range k.rules {
		fmt.Fprintf(&b, "ip rule add %s\n", r)
	}
	for _, r := range k.routes {
		fmt.Fprintf(&b, "ip route add %s\n", r)
	}
	return b.String()
}
