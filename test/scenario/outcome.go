package scenario

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
)

// outcome is the result for a flow.
type outcome string

// A flow to a plain address is allowed or denied. One to a frontend of a Service is allowed or denied if policies decide
// so on every backend that it may be sent on to, some if on only some, refused if there is no backend at all, and dropped
// if there is none for it.
const (
	allow  outcome = "allow"
	deny   outcome = "deny"
	some   outcome = "some"
	refuse outcome = "refuse"
	drop   outcome = "drop"
)

func outcomes() []outcome { return []outcome{allow, deny, some, refuse, drop} }

func isOutcome(word string) bool { return slices.Contains(outcomes(), outcome(word)) }

// judgement is one evaluation of a flow.
type judgement struct {
	outcome outcome
	choices []choice // in order; none for a flow that is not load-balanced
}

// choice is a backend that a flow may be sent on to.
type choice struct {
	at      netip.AddrPort
	allowed bool
}

func (j judgement) String() string {
	text := string(j.outcome)
	for i, c := range j.choices {
		text += map[bool]string{true: " via ", false: ","}[i == 0]
		if !c.allowed {
			text += "!"
		}
		text += c.at.String()
	}
	return text
}

func (j judgement) equal(o judgement) bool {
	return j.outcome == o.outcome && slices.Equal(j.choices, o.choices)
}

// plain evaluates a flow without load balancing.
func plain(allowed bool) judgement {
	if allowed {
		return judgement{outcome: allow}
	}
	return judgement{outcome: deny}
}

// balanced evaluates a flow by the backends that it may be sent on to; there is at least one.
func balanced(choices []choice) judgement {
	passes := func(c choice) bool { return c.allowed }
	fails := func(c choice) bool { return !c.allowed }
	j := judgement{outcome: some, choices: choices}
	switch {
	case !slices.ContainsFunc(choices, fails):
		j.outcome = allow
	case !slices.ContainsFunc(choices, passes):
		j.outcome = deny
	}
	return j
}

// ofOracle is the oracle's judgement.
func ofOracle(v oracle.Verdict) judgement {
	switch {
	case v.Service == "":
		return plain(v.Allowed)
	case v.Refused:
		return judgement{outcome: refuse}
	case len(v.Backends) == 0:
		return judgement{outcome: drop}
	}
	var choices []choice
	for _, b := range v.Backends {
		choices = append(choices, choice{netip.AddrPortFrom(b.Addr, uint16(b.Port)), b.Allowed}) //nolint:gosec // G115: a port.
	}
	return balanced(choices)
}

// ofIntents is the intents' judgement.
func ofIntents(v intent.Verdict) judgement {
	if v.Balanced == nil {
		return plain(v.Allowed)
	}
	switch v.Balanced.Outcome {
	case intent.Refused:
		return judgement{outcome: refuse}
	case intent.Unserved, intent.Barred:
		return judgement{outcome: drop}
	case intent.SentOn:
	}
	var choices []choice
	for i := range v.Balanced.Choices {
		c := &v.Balanced.Choices[i]
		choices = append(choices, choice{c.Backend.AddrPort(), c.Allowed})
	}
	return balanced(choices)
}

// ofRows is the judgement of native rows.
func ofRows(v backendtest.Verdict) judgement {
	switch {
	case v.Refused:
		return judgement{outcome: refuse}
	case len(v.Backends) == 0:
		return plain(v.Allowed)
	}
	var choices []choice
	for at, allowed := range v.Backends {
		choices = append(choices, choice{at, allowed})
	}
	slices.SortFunc(choices, func(a, b choice) int { return a.at.Compare(b.at) })
	return balanced(choices)
}

// matches reports whether native, the result of rows, is that of j. Rows do not show why a flow is dropped.
func (j judgement) matches(native judgement) bool {
	if j.outcome == drop {
		j.outcome = deny
	}
	return j.equal(native)
}

// oracleFlow converts f for the oracle.
func oracleFlow(f intent.Flow) oracle.Flow {
	end := func(p intent.Party) oracle.End {
		if p.Key == (object.Key{}) {
			return oracle.End{Addr: p.Addr}
		}
		return oracle.End{Pod: p.Key.Namespace + "/" + p.Key.Name, Addr: p.Addr}
	}
	o := oracle.Flow{Src: end(f.Src), Dst: end(f.Dst), Port: int32(f.Port), Node: f.Node, Network: f.Network}
	switch f.Protocol {
	case intent.TCP:
		o.Protocol = corev1.ProtocolTCP
	case intent.UDP:
		o.Protocol = corev1.ProtocolUDP
	case intent.SCTP:
		o.Protocol = corev1.ProtocolSCTP
	case intent.ICMP, intent.ICMPv6:
		o.Protocol = oracle.ICMP
	}
	return o
}

// via is a backend in a probe: an endpoint with one of the addresses, and with the port if there is one.
type via struct {
	text   string
	addrs  []netip.Addr
	port   uint16 // 0 is any
	denied bool
}

// vias reads [!]POD|ADDRESS[:PORT],... where ! marks those that policies deny. A pod stands for its address of the flow's
// family.
func (st *stage) vias(list string) ([]via, error) {
	var all []via
	for text := range strings.SplitSeq(list, ",") {
		v := via{text: text}
		who, denied := strings.CutPrefix(text, "!")
		v.denied = denied
		if at, err := netip.ParseAddrPort(who); err == nil {
			v.addrs, v.port = []netip.Addr{at.Addr()}, at.Port()
		} else if a, err := netip.ParseAddr(who); err == nil {
			v.addrs = []netip.Addr{a}
		} else {
			name, port, ok := strings.Cut(who, ":")
			if ok {
				if _, err := fmt.Sscan(port, &v.port); err != nil {
					return nil, fmt.Errorf("%q: expected a port", port)
				}
			}
			ends, err := sites(name, st.pods)
			if err != nil {
				return nil, err
			}
			for _, s := range ends {
				v.addrs = append(v.addrs, s.Addr)
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// meets reports whether j matches the probe: its outcome, and exactly the backends that it lists.
func (p *probe) meets(j judgement) bool {
	if j.outcome != p.outcome {
		return false
	}
	if p.via == nil {
		return true
	}
	named := func(c choice) bool {
		return slices.ContainsFunc(p.via, func(v via) bool { return v.is(c) })
	}
	chosen := func(v via) bool { return slices.ContainsFunc(j.choices, v.is) }
	return !slices.ContainsFunc(j.choices, func(c choice) bool { return !named(c) }) &&
		!slices.ContainsFunc(p.via, func(v via) bool { return !chosen(v) })
}

func (v via) is(c choice) bool {
	return v.denied != c.allowed && slices.Contains(v.addrs, c.at.Addr()) && (v.port == 0 || v.port == c.at.Port())
}
