package query

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// Question asks whether connections get through. Its ends are texts: see ParseQuestion.
type Question struct {
	From, To string
	Port     string // such as tcp/80; "" if To is a port of a service
}

// String formats q as ParseQuestion reads it.
func (q Question) String() string {
	if q.Port == "" {
		return q.From + " -> " + q.To
	}
	return q.From + " -> " + q.To + " " + q.Port
}

// Where completes the texts of a question.
type Where struct {
	Namespace string // default for pods and services; "" requires one, and AllNamespaces looks in all
	// Node is where connections from outside enter the network, if the choice of a service's endpoint depends on it; ""
	// is unknown.
	Node    string
	Network string // the logical network; "" is that of the service in question, or the default one
	// Rows returns the rows of a data plane that decide. Nil returns none.
	Rows RowNamer
}

// AllNamespaces as the default for names without a namespace looks for them in all namespaces.
const AllNamespaces = "*"

// withPort matches a destination with its port after a colon or a space.
var withPort = regexp.MustCompile(`^(.*\S)(?:\s*:\s*|\s+)((?:(?i:tcp|udp|sctp)/[\w-]+)|(?i:icmp))$`)

// ParseQuestion reads "shop/web-0 -> shop/db-0:tcp/5432": two ends and a port, with or without spaces. An end is a pod
// (namespace/name), an address, node/NAME or, as destination, svc/namespace/name:port. A pod's name may be a pattern such
// as web-*, or a selector such as app=web. The name of a cluster may come before that of an end, as in b/shop/db-0. The port is tcp/80, udp/53, sctp/9999, tcp/NAME or icmp; after an IPv4
// address, an IPv6 address in brackets or a pod a bare number is TCP.
func ParseQuestion(text string) (Question, error) {
	from, to, ok := strings.Cut(text, "->")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	switch {
	case !ok && strings.HasSuffix(from, "-"):
		return Question{}, fmt.Errorf("%q: expected SRC->DST:tcp/80; quote it because of the shell", text)
	case !ok || from == "" || to == "":
		return Question{}, fmt.Errorf("%q: expected SRC->DST:tcp/80, such as shop/web-0->shop/db-0:tcp/5432", text)
	}
	q := Question{From: from, To: to}
	if m := withPort.FindStringSubmatch(to); m != nil {
		q.To, q.Port = m[1], m[2]
		return q, nil
	}
	if at, err := netip.ParseAddrPort(to); err == nil {
		q.To, q.Port = at.Addr().String(), fmt.Sprint(at.Port())
		return q, nil
	}
	_, err := netip.ParseAddr(to)
	if end, number, found := strings.Cut(to, ":"); found && err != nil && !isService(to) {
		q.To, q.Port = end, number
	}
	return q, nil
}

func isService(text string) bool {
	words := strings.SplitN(text, "/", 3)
	if len(words) == 3 { // the name of a cluster may come first
		words = words[:2]
	} else {
		words = words[:1]
	}
	return slices.ContainsFunc(words, func(word string) bool {
		kind, ok := kindOf(word)
		return ok && kind == KindService
	})
}

// pair is one source and one destination of a question.
type pair struct {
	from, to *end
	port     port
	at       *Inventory // whose Services the source uses
}

func (p *pair) String() string {
	if p.to.service != nil {
		return p.from.name + " -> " + p.to.service.name + " " + p.port.String()
	}
	return p.from.name + " -> " + p.to.name + " " + p.port.String()
}

// maxPairs is how many pairs a question with patterns may have.
const maxPairs = 100_000

// pairs finds the pairs of a question: one for all pods that stand for those of a workload, unless each is wanted.
func (inv *Inventory) pairs(q Question, w Where, each bool) ([]pair, error) {
	from, err := inv.ends(q.From, w.Namespace)
	if err != nil {
		return nil, fmt.Errorf("from %w", err)
	}
	to, err := inv.ends(q.To, w.Namespace)
	if err != nil {
		return nil, fmt.Errorf("to %w", err)
	}
	if from[0].service != nil {
		return nil, fmt.Errorf("from %s: a Service cannot be a source: use its pods", q.From)
	}
	if !each {
		from, to = representatives(from, to)
	}
	if q.Port == "" && to[0].service == nil && isService(q.To) { // headless: the port is that of its pods
		_, q.Port, _ = strings.Cut(q.To, ":")
	}
	if len(from)*len(to) > maxPairs {
		return nil, fmt.Errorf("%s: %d pairs are more than the limit of %d: use narrower patterns", q, len(from)*len(to), maxPairs)
	}
	var asked port
	if q.Port != "" {
		if asked, err = parsePort(q.Port); err != nil {
			return nil, err
		}
	}
	out := make([]pair, 0, len(from)*len(to))
	for i := range to {
		resolved, err := portAt(asked, &to[i])
		if err != nil {
			return nil, err
		}
		for j := range from {
			if from[j].kind == KindPod && from[j].name == to[i].name && len(from)*len(to) > 1 {
				continue // with patterns, skip a pod's connections to itself
			}
			at, err := inv.judgeOf(&from[j], &to[i])
			if err != nil {
				return nil, err
			}
			out = append(out, pair{&from[j], &to[i], resolved, at})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the patterns match only one pod", q)
	}
	return out, nil
}

// representatives leaves out ends that are equal to others: pods that stand for those of a workload. Where both ends are the same workload, two
// of its pods are left.
func representatives(from, to []end) (sources, destinations []end) {
	if w := standIn(from); w != nil && len(from) > 1 && w == standIn(to) {
		return from[:1], to[1:2]
	}
	if standIn(from) != nil {
		from = from[:1]
	}
	if standIn(to) != nil {
		to = to[:1]
	}
	return from, to
}

// standIn is the workload that ends stand for, if they are equal; nil if not. Pods of a StatefulSet have different labels.
func standIn(ends []end) *Workload {
	if w := ends[0].workload; w != nil && w.StandIn && w.Word != "sts" {
		return w
	}
	return nil
}

// portAt is the port at a destination.
func portAt(asked port, to *end) (port, error) {
	switch {
	case to.service != nil && asked == (port{}):
		return to.service.onlyPort()
	case to.service != nil:
		return to.service.port(asked)
	case asked == (port{}):
		return port{}, fmt.Errorf("%s: expected a port, such as %s:tcp/80", to.name, to.name)
	default:
		return asked.of(to)
	}
}

// flows lists the connections of a pair: one for each two addresses of one family.
func (p *pair) flows(w Where) ([]intent.Flow, error) {
	var out []intent.Flow
	for _, dst := range p.targets() {
		for _, src := range p.from.addrs {
			if src.Is4() != dst.Is4() {
				continue
			}
			f := intent.Flow{
				Src: intent.Party{Key: p.from.key, Addr: src}, Dst: intent.Party{Key: p.to.key, Addr: dst},
				Protocol: p.port.protocol, Port: p.port.number, Node: p.from.node, Network: w.Network,
			}
			if f.Protocol == intent.ICMP && !dst.Is4() {
				f.Protocol = intent.ICMPv6
			}
			if f.Node == "" {
				f.Node = w.Node
			}
			if f.Network == "" && p.to.service != nil {
				f.Network = p.to.service.balancer.Network
			}
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s and %s have no address family in common", p.from.name, p.to.name)
	}
	return out, nil
}

// targets are the addresses to send to.
func (p *pair) targets() []netip.Addr {
	if p.to.service == nil {
		return p.to.addrs
	}
	var addrs []netip.Addr
	for _, f := range p.to.service.frontends {
		if f.Protocol == p.port.protocol && f.Port == p.port.number {
			addrs = append(addrs, f.Addr)
		}
	}
	return addrs
}
