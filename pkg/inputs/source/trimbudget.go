package source

import (
	"maps"
	"math"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/budget"
)

// fewBlocks is up to how many ipBlocks and excepts of a direction are kept without looking at what they cost.
const fewBlocks = 1000

// trimBeyondBudget drops what follows in a policy that is refused whatever that is, because what comes before it already exceeds the budget of
// one object: an empty rule takes 48 bytes of memory and 2 of the 1.5 MiB that an object may have in the API, so that 26 policies would take
// 1 GiB. What remains is refused for the same reason: the budget of one object is no setting, and every translator that reads from a source has
// the default, which test/arch checks. Each program trims what it reads itself, with its own.
func trimBeyondBudget(spec *networkingv1.NetworkPolicySpec) {
	limits := budget.Default()
	values := limits[budget.Values]
	trimSelector(&spec.PodSelector, &values)
	if most := limits[budget.Rules] + 1; len(spec.Ingress) > most {
		spec.Ingress = slices.Clone(spec.Ingress[:most])
	}
	if most := limits[budget.Rules] + 1; len(spec.Egress) > most {
		spec.Egress = slices.Clone(spec.Egress[:most])
	}
	t := newTrimmer(limits)
	for i := range spec.Ingress {
		t.count(spec.Ingress[i].From, spec.Ingress[i].Ports)
	}
	for i := range spec.Ingress {
		spec.Ingress[i].From, spec.Ingress[i].Ports = t.peers(spec.Ingress[i].From), t.trimPorts(spec.Ingress[i].Ports)
	}
	t = newTrimmer(limits)
	for i := range spec.Egress {
		t.count(spec.Egress[i].To, spec.Egress[i].Ports)
	}
	for i := range spec.Egress {
		spec.Egress[i].To, spec.Egress[i].Ports = t.peers(spec.Egress[i].To), t.trimPorts(spec.Egress[i].Ports)
	}
}

// trimmer trims the rules of one direction. Its budgets are those that the direction has alone, and become -1 when they are exceeded.
type trimmer struct {
	selectors, values, prefixes, ports int

	blocks, allPorts int // how many there are: ipBlocks and excepts, and ports
}

func newTrimmer(limits budget.Limits) *trimmer {
	return &trimmer{
		selectors: limits[budget.Selectors], values: limits[budget.Values], prefixes: limits[budget.Prefixes], ports: limits[budget.Ports],
	}
}

// count notes how much a rule has.
func (t *trimmer) count(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) {
	t.allPorts += len(ports)
	for i := range peers {
		if b := peers[i].IPBlock; b != nil {
			t.blocks += 1 + len(b.Except)
		}
	}
}

// peers returns the peers of a rule up to the one with which a budget is exceeded. A rule after that has a peer that matches nothing, as no
// peer means all.
func (t *trimmer) peers(peers []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer {
	if t.exceeded() && len(peers) > 0 {
		const host = "0.0.0.0/32"
		return []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: host, Except: []string{host}}}}
	}
	for i := range peers {
		t.peer(&peers[i])
		if t.exceeded() && i+1 < len(peers) {
			return slices.Clone(peers[:i+1])
		}
	}
	return peers
}

// exceeded reports whether the peers so far are more than a policy may have.
func (t *trimmer) exceeded() bool { return t.selectors < 0 || t.values < 0 || t.prefixes < 0 }

// peer spends what a peer costs, and trims one that exceeds a budget. One that the translation would not accept costs nothing.
func (t *trimmer) peer(p *networkingv1.NetworkPolicyPeer) {
	switch {
	case p.IPBlock != nil:
		if p.PodSelector == nil && p.NamespaceSelector == nil && t.blocks > fewBlocks {
			t.block(p.IPBlock)
		}
	case p.PodSelector != nil || p.NamespaceSelector != nil:
		t.selectors--
		trimSelector(p.PodSelector, &t.values)
		trimSelector(p.NamespaceSelector, &t.values)
	}
}

// block spends the prefixes of a block.
func (t *trimmer) block(b *networkingv1.IPBlock) {
	cidr, err := address.ParsePrefix(b.CIDR)
	if err != nil {
		return
	}
	excepts := make([]netip.Prefix, len(b.Except))
	for i, s := range b.Except {
		if excepts[i], err = address.ParsePrefix(s); err != nil {
			return
		}
	}
	var spent int
	exceeds := func(n int) bool {
		rest, fits := intent.SubtractAtMost(cidr, excepts[:n], t.prefixes)
		spent = len(rest)
		return !fits
	}
	if !exceeds(len(excepts)) {
		t.prefixes -= spent
		return
	}
	b.Except = slices.Clone(b.Except[:enough(len(excepts), exceeds)])
	t.prefixes = -1
}

// trimPorts returns the ports of a rule, or as many of them as exceed the budget. A rule after that keeps one port, as none means all.
func (t *trimmer) trimPorts(ports []networkingv1.NetworkPolicyPort) []networkingv1.NetworkPolicyPort {
	if t.allPorts <= budget.Default()[budget.Ports] {
		return ports
	}
	if t.ports < 0 {
		return slices.Clone(ports[:min(1, len(ports))])
	}
	var spent int
	exceeds := func(n int) bool {
		spent = len(rangesOf(ports[:n]))
		return spent > t.ports
	}
	if !exceeds(len(ports)) {
		t.ports -= spent
		return ports
	}
	ports = slices.Clone(ports[:enough(len(ports), exceeds)])
	t.ports = -1
	return ports
}

// rangesOf merges the numbers of ports as translator/policy does, which a source cannot import: TestTrimBeyondBudgetOtherShapes compares what
// becomes of both. Elements that the translation would not accept have none.
func rangesOf(ports []networkingv1.NetworkPolicyPort) []intent.PortRange {
	var out []intent.PortRange
	for i := range ports {
		p, r := &ports[i], intent.PortRange{Last: math.MaxUint16}
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		switch protocol {
		case corev1.ProtocolTCP, "":
			r.Protocol = intent.TCP
		case corev1.ProtocolUDP:
			r.Protocol = intent.UDP
		case corev1.ProtocolSCTP:
			r.Protocol = intent.SCTP
		default:
			continue
		}
		if p.Port == nil && p.EndPort != nil || p.Port != nil && p.Port.Type == intstr.String {
			continue
		}
		if p.Port != nil {
			first, last := p.Port.IntVal, p.Port.IntVal
			if p.EndPort != nil {
				last = *p.EndPort
			}
			if first < 1 || last < first || last > math.MaxUint16 {
				continue
			}
			r.First, r.Last = uint16(first), uint16(last) //nolint:gosec // both are ports
		}
		out = append(out, r)
	}
	return intent.MergePorts(out)
}

// enough returns how many of n elements, in their order, already exceed a budget, which all of them do. It tries powers of two, so it may return
// almost twice as many as are needed.
func enough(n int, exceeds func(n int) bool) int {
	for k := 256; k < n; k *= 2 {
		if exceeds(k) {
			return k
		}
	}
	return n
}

// trimSelector spends the values of a selector, nil for none, and keeps one more than there may be.
func trimSelector(s *metav1.LabelSelector, left *int) {
	if s == nil || *left < 0 {
		return
	}
	keep := *left + 1
	if len(s.MatchLabels) > keep {
		kept := make(map[string]string, keep)
		for _, key := range slices.Sorted(maps.Keys(s.MatchLabels))[:keep] {
			kept[key] = s.MatchLabels[key]
		}
		s.MatchLabels = kept
	}
	keep -= len(s.MatchLabels)
	for i := range s.MatchExpressions {
		if keep == 0 {
			s.MatchExpressions = slices.Clone(s.MatchExpressions[:i])
			break
		}
		keep--
		if e := &s.MatchExpressions[i]; len(e.Values) > keep {
			e.Values = slices.Clone(e.Values[:keep])
		}
		keep -= len(s.MatchExpressions[i].Values)
	}
	*left = keep - 1
}
