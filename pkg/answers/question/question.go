package question

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Question asks whether connections get through. Its ends are texts: see Parse.
type Question struct {
	From, To string
	Port     string // such as tcp/80; "" if To is a port of a service
}

// String formats q as Parse reads it.
func (q Question) String() string {
	if q.Port == "" {
		return q.From + " -> " + q.To
	}
	return q.From + " -> " + q.To + " " + q.Port
}

// Where completes the texts of a question.
type Where struct {
	Namespace string // default for pods and services; "" requires one, and name.AllNamespaces looks in all
	// Node is where connections from outside enter the network, if the choice of a service's endpoint depends on it; ""
	// is unknown.
	Node    string
	Network string // the logical network; "" is that of the service in question, or the default one
}

// withPort matches a destination with its port after a colon or a space.
var withPort = regexp.MustCompile(`^(.*\S)(?:\s*:\s*|\s+)((?:(?i:tcp|udp|sctp)/[\w-]+)|(?i:icmp))$`)

// Parse reads "shop/web-0 -> shop/db-0:tcp/5432": two ends and a port, with or without spaces. An end is a pod
// (namespace/name), an address, node/NAME or, as destination, svc/namespace/name:port. A pod's name may be a pattern such
// as web-*, or a selector such as app=web. The name of a cluster may come before that of an end, as in b/shop/db-0. The port is tcp/80, udp/53, sctp/9999, tcp/NAME or icmp; after an IPv4
// address, an IPv6 address in brackets or a pod a bare number is TCP.
func Parse(text string) (Question, error) {
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
	if end, number, found := strings.Cut(to, ":"); found && err != nil && !name.OfService(to) {
		q.To, q.Port = end, number
	}
	return q, nil
}

// Pair is one source and one destination of a question.
type Pair struct {
	From, To *world.End
	Port     name.Port
	At       *world.World // whose Services the source uses
}

// String formats the pair as a question.
func (p *Pair) String() string {
	if p.To.Service != nil {
		return p.From.Name + " -> " + p.To.Service.Name + " " + p.Port.String()
	}
	return p.From.Name + " -> " + p.To.Name + " " + p.Port.String()
}

// Doubts lists why an answer about the pair is not certain: see world.DoubtsOn.
func (p *Pair) Doubts() []string { return p.At.DoubtsOn(p.From, p.To) }

// maxPairs is how many pairs a question with patterns may have.
const maxPairs = 100_000

// PairsOf finds the pairs of a question: one for all pods that stand for those of a workload, unless each is wanted.
func PairsOf(w *world.World, q Question, at Where, each bool) ([]Pair, error) {
	from, err := w.Ends(q.From, at.Namespace)
	if err != nil {
		return nil, fmt.Errorf("from %w", err)
	}
	to, err := w.Ends(q.To, at.Namespace)
	if err != nil {
		return nil, fmt.Errorf("to %w", err)
	}
	if from[0].Service != nil {
		return nil, fmt.Errorf("from %s: a Service cannot be a source: use its pods", q.From)
	}
	if !each {
		from, to = representatives(from, to)
	}
	if q.Port == "" && to[0].Service == nil && name.OfService(q.To) { // headless: the port is that of its pods
		_, q.Port, _ = strings.Cut(q.To, ":")
	}
	if len(from)*len(to) > maxPairs {
		return nil, fmt.Errorf("%s: %d pairs are more than the limit of %d: use narrower patterns", q, len(from)*len(to), maxPairs)
	}
	var asked name.Port
	if q.Port != "" {
		if asked, err = name.ParsePort(q.Port); err != nil {
			return nil, err
		}
	}
	out := make([]Pair, 0, len(from)*len(to))
	for i := range to {
		resolved, err := to[i].Asks(asked)
		if err != nil {
			return nil, err
		}
		for j := range from {
			if itself := from[j].Kind == name.Pod && from[j].Name == to[i].Name && from[j].Key == to[i].Key; itself && len(from)*len(to) > 1 {
				continue // with patterns, skip a pod's connections to itself
			}
			if to[i].Key.Repeats() && from[j].Key != to[i].Key.First() && !each {
				continue // as to the first
			}
			judge, err := judgeOf(w, &from[j], &to[i])
			if err != nil {
				return nil, err
			}
			out = append(out, Pair{&from[j], &to[i], resolved, judge})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the patterns match only one pod", q)
	}
	return out, nil
}

// representatives leaves out the second of two equal pods that stand for a workload, except where a connection between the two is asked for.
func representatives(from, to []world.End) (sources, destinations []world.End) {
	sources = firsts(from, nil)
	sending := map[object.Key]bool{}
	for i := range sources {
		sending[sources[i].Key] = true
	}
	return sources, firsts(to, sending)
}

// firsts leaves out the second of two equal pods if the first is there, except of those that are also senders.
func firsts(ends []world.End, senders map[object.Key]bool) []world.End {
	known := map[object.Key]bool{}
	for i := range ends {
		known[ends[i].Key] = true
	}
	var out []world.End
	for i := range ends {
		if k := ends[i].Key; !k.Repeats() || !known[k.First()] || senders[k.First()] {
			out = append(out, ends[i])
		}
	}
	return out
}

// Flows lists the connections of a pair: one for each two addresses of one family.
func (p *Pair) Flows(w Where) ([]intent.Flow, error) {
	var out []intent.Flow
	for _, dst := range p.targets() {
		for _, src := range p.From.Addrs {
			if src.Is4() != dst.Is4() {
				continue
			}
			f := intent.Flow{
				Src: intent.Party{Key: p.From.Key, Addr: src}, Dst: intent.Party{Key: p.To.Key, Addr: dst},
				Protocol: p.Port.Protocol, Port: p.Port.Number, Node: p.From.Node, Network: w.Network,
			}
			if f.Protocol == intent.ICMP && !dst.Is4() {
				f.Protocol = intent.ICMPv6
			}
			if f.Node == "" {
				f.Node = w.Node
			}
			if node := p.At.NodeAt(src); p.From.Key == (object.Key{}) && node != "" && (f.Node == "" || f.Node == node) {
				f.Node, f.OwnNode = node, true
			}
			if f.Network == "" && p.To.Service != nil {
				f.Network = p.To.Service.Balancer.Network
			}
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s and %s have no address family in common", p.From.Name, p.To.Name)
	}
	return out, nil
}

// targets are the addresses to send to.
func (p *Pair) targets() []netip.Addr {
	if p.To.Service == nil {
		return p.To.Addrs
	}
	var addrs []netip.Addr
	for _, f := range p.To.Service.Frontends {
		if f.Protocol == p.Port.Protocol && f.Port == p.Port.Number {
			addrs = append(addrs, f.Addr)
		}
	}
	return addrs
}

// judgeOf is the world whose Services connections from one end to another may use: that of the source's cluster or, if
// the source is outside, that of the destination's Service.
func judgeOf(w *world.World, from, to *world.End) (*world.World, error) {
	at := cmp.Or(from.In, w)
	if to.Service == nil || to.In == at {
		return at, nil
	}
	if from.In == nil {
		return to.In, nil
	}
	return nil, fmt.Errorf("from %s to %s: a Service has connections of its own cluster only: use its pods", from.Name, to.Name)
}
