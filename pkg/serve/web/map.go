package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/web/chart"
)

// Map shows which connections are allowed between namespaces, workloads and addresses outside.
type Map struct {
	Revision intent.Revision `json:"revision"`
	Number   uint64          `json:"number"` // of the state
	Port     string          `json:"port,omitempty"`
	// Nodes are in order: addresses outside, namespaces, and workloads of opened namespaces.
	Nodes     []MapNode `json:"nodes"`
	Links     []MapLink `json:"links"`
	MoreLinks int       `json:"moreLinks,omitempty"`
	// NodeAccess means that nodes reach the pods that run on them, whatever policies say. That is not among the links.
	NodeAccess  bool `json:"nodeAccess,omitempty"`
	Unaddressed int  `json:"unaddressed,omitempty"` // pods that are not shown because they have no address
	// Undecided are the other clusters whose pods are shown: their own policies are not considered.
	Undecided []string `json:"undecided,omitempty"`
	Unknown   []string `json:"unknown,omitempty"` // what cannot be read or is not evaluated, and may affect the map

	chart *chart.Chart
}

// MapNode is a node of the map.
type MapNode struct {
	chart.Node

	Title string `json:"title"`
	// Ingress and Egress are how many of the pods NetworkPolicies isolate.
	Ingress int `json:"ingress"`
	Egress  int `json:"egress"`
	// Unknown means that something that is not evaluated decides on connections of some of the pods or addresses.
	Unknown bool `json:"unknown,omitempty"`
}

// MapLink is what is allowed from one node to another, or within one.
type MapLink struct {
	From      int      `json:"from"` // indexes of nodes
	To        int      `json:"to"`
	Ports     []string `json:"ports"` // texts such as "TCP 80, 443", each for some of the pairs
	MorePorts bool     `json:"morePorts,omitempty"`
	Pairs     int      `json:"pairs"` // of workloads between which something is allowed
	Of        int      `json:"of"`    // all pairs
	// Each means that the link is within each of several namespaces, and not between two of them.
	Each bool `json:"each,omitempty"`
	// Open means that everything is allowed only because no NetworkPolicy isolates either end.
	Open bool `json:"open,omitempty"`
	// Unknown means that policies allow it, and something that is not evaluated may deny it.
	Unknown bool `json:"unknown,omitempty"`
	// Example is one of the connections, as a question, and By the rules that allow it, the first shownRules; none if no policy decides.
	Example Example      `json:"example"`
	By      []world.Rule `json:"by,omitempty"`
	MoreBy  int          `json:"moreBy,omitempty"`
}

// Example is a connection.
type Example struct {
	From string `json:"from"`
	To   string `json:"to"`
	Port string `json:"port"`
}

// shownRules is how many rules a link lists.
const shownRules = 4

// maxListed is how many namespaces a request may list.
const maxListed = 50

// mapRequest is a request for the map.
type mapRequest struct {
	filter     connections.Filter
	filterText string // what identifies the filter
	opened     []string
	port       string
}

func (h *Handler) connections(r *http.Request, b *board) (any, error) { return b.mapOf(r.URL.Query()) }

// mapOf answers a request for the map.
func (b *board) mapOf(q url.Values) (*Map, error) {
	asked, err := b.readMap(q)
	if err != nil {
		return nil, err
	}
	key := asked.filterText + " open " + strings.Join(asked.opened, ",")
	made, err := b.maps.answer(key, func() (any, error) {
		report, err := b.reports.answer(asked.filterText, func() (any, error) {
			report := connections.Of(b.inventory(), asked.filter)
			return &report, nil
		})
		if err != nil {
			return nil, err
		}
		return b.draw(report.(*connections.Report), &asked), nil //nolint:forcetypeassert // it was put there above
	})
	if err != nil {
		return nil, err
	}
	return made.(*Map), nil //nolint:forcetypeassert // it was put there above
}

// readMap reads the parameters of a request.
func (b *board) readMap(q url.Values) (mapRequest, error) {
	out := mapRequest{port: strings.TrimSpace(q.Get("port"))}
	opened, err := b.namespaces("open", q["open"], chart.MaxOpen)
	if err != nil {
		return out, err
	}
	out.opened = opened
	if out.port != "" {
		port, err := readPort(out.port)
		if err != nil {
			return out, err
		}
		out.filter.Port = connections.PortFilter(name.Port{Protocol: port.protocol, Number: port.number})
	}
	of, err := b.namespaces("namespace", q["namespace"], maxListed)
	if err != nil {
		return out, err
	}
	var selector labels.Selector
	text := strings.TrimSpace(q.Get("labels"))
	if text != "" {
		if selector, err = labels.Parse(text); err != nil {
			return out, fmt.Errorf("labels: %q: expected labels such as app=web,tier!=db: %w", text, err)
		}
	}
	if selector != nil || len(of) > 0 {
		out.filter.Of = b.endsWith(of, selector)
	}
	switch policed := q.Get("policed"); policed {
	case "", "false":
	case "true":
		out.filter.Policed = true
	default:
		return out, fmt.Errorf("policed: %q: expected true or false", policed)
	}
	out.filterText = fmt.Sprintf("%q %q %q %t", of, text, out.port, out.filter.Policed)
	return out, nil
}

// namespaces reads namespaces with a pod, separated by commas or repeated: each once, in order.
func (b *board) namespaces(parameter string, texts []string, most int) ([]string, error) {
	var out []string
	for text := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > most {
		return nil, fmt.Errorf("%s: expected at most %d namespaces", parameter, most)
	}
	for _, ns := range out {
		if !b.namespaceSet()[ns] {
			return nil, fmt.Errorf("%s: namespace %s with a pod: %w", parameter, ns, name.ErrNotFound)
		}
	}
	return out, nil
}

// spaceOf is the namespace of a pod, with its cluster if that is another one.
func (b *board) spaceOf(k object.Key) string {
	if k.Cluster == b.state.Cluster {
		return k.Namespace
	}
	return k.Cluster + "/" + k.Namespace
}

// endsWith lists the pods in some namespaces, all if there are none, with some labels.
func (b *board) endsWith(namespaces []string, selector labels.Selector) []world.End {
	out := []world.End{}
	for _, e := range b.inventory().Endpoints() {
		if len(namespaces) > 0 && !slices.Contains(namespaces, b.spaceOf(e.Key)) || selector != nil && !selector.Matches(labels.Set(e.Labels)) {
			continue
		}
		out = append(out, world.End{Key: e.Key})
	}
	return out
}

// draw makes the map of a report.
func (b *board) draw(report *connections.Report, asked *mapRequest) *Map {
	c := chart.Of(report, asked.opened)
	m := &Map{
		Revision: b.state.Snapshot.Revision(), Number: b.state.Number, Port: asked.port, Nodes: []MapNode{}, Links: []MapLink{}, MoreLinks: c.MoreLinks,
		NodeAccess: report.NodeAccess, Unaddressed: len(report.Unaddressed), Undecided: report.Undecided,
		Unknown: b.unread(), chart: c,
	}
	bound := make([][2]int, len(c.Nodes)) // by direction: the pods that are isolated
	unknown := make([]bool, len(c.Nodes))
	for n := range c.Nodes {
		unknown[n] = b.unjudged().Concerns("")
	}
	for key, n := range c.Pods() {
		unknown[n] = unknown[n] || key.Cluster == b.state.Cluster && b.unjudged().Concerns(key.Namespace)
		for d, is := range b.ground().isolatedAt(key) {
			if is {
				bound[n][d]++
			}
		}
	}
	for n := range c.Nodes {
		node := c.Nodes[n]
		m.Nodes = append(m.Nodes, MapNode{Node: node, Title: titleOf(&node), Ingress: bound[n][intent.Ingress], Egress: bound[n][intent.Egress], Unknown: unknown[n]})
	}
	for i := range c.Links {
		l := &c.Links[i]
		link := MapLink{From: l.From, To: l.To, Ports: l.Ports, MorePorts: l.More, Pairs: l.Pairs, Of: l.Of, Each: l.Each, Unknown: unknown[l.From] || unknown[l.To]}
		link.Open = !link.Unknown && l.Whole() && l.Traffic.Equal(reach.All()) && bound[l.From][intent.Egress]+bound[l.To][intent.Ingress] == 0
		b.exemplify(&link, l)
		m.Links = append(m.Links, link)
	}
	return m
}

// isolatedAt reports by direction whether a NetworkPolicy isolates a pod of the own cluster.
func (g *ground) isolatedAt(key object.Key) (out [2]bool) {
	at, known := slices.BinarySearchFunc(g.pods, key, func(p groundPod, k object.Key) int { return p.Key.Compare(k) })
	if !known {
		return out
	}
	for _, d := range []intent.Direction{intent.Ingress, intent.Egress} {
		out[d] = slices.ContainsFunc(g.pods[at].classes, func(c int) bool { return g.classes[c].Isolated(0, d) })
	}
	return out
}

// titleOf names a node in a few words.
func titleOf(n *chart.Node) string {
	all, of := len(n.Names)+n.More, ""
	if n.Namespace != "" {
		of = " of " + n.Namespace
	}
	switch {
	case n.Kind == chart.Outside:
		return "outside " + intent.PrefixText(n.Prefixes)
	case n.Kind == chart.Rest && n.Namespace == "":
		return fmt.Sprintf("%d more namespaces", all)
	case n.Kind == chart.Rest:
		return fmt.Sprintf("%d more workloads%s", all, of)
	case n.Kind == chart.Several && n.Namespace == "":
		return fmt.Sprintf("%d namespaces alike", all)
	case n.Kind == chart.Several:
		return fmt.Sprintf("%d workloads alike%s", all, of)
	}
	return n.Names[0]
}

// exemplify finds one of the connections of a link, and the rules that allow it.
func (b *board) exemplify(out *MapLink, l *chart.Link) {
	w := b.inventory()
	from, to := l.Source, l.Target
	source, target := b.endpoint(from.Pod), b.endpoint(to.Pod)
	out.Example = Example{From: b.spotName(from, target), To: b.spotName(to, source), Port: portOf(l.Traffic, target)}
	answers, err := probe.Of(w, question.Question{From: out.Example.From, To: out.Example.To, Port: out.Example.Port}, question.Where{})
	if err != nil || len(answers) != 1 {
		return // such as a pod without a name of its own: the link says what is allowed
	}
	for i := range answers[0].Flows {
		f := &answers[0].Flows[i]
		for _, side := range []*probe.Side{f.Egress, f.Ingress} {
			if f.Verdict != probe.Allow || side == nil {
				continue
			}
			for _, rule := range side.AllowedBy {
				if !slices.Contains(out.By, rule) {
					out.By = append(out.By, rule)
				}
			}
		}
	}
	out.By, out.MoreBy = cut(out.By, shownRules)
}

// endpoint finds a pod; nil if there is none.
func (b *board) endpoint(k object.Key) *labelcache.Endpoint {
	if k == (object.Key{}) {
		return nil
	}
	return b.pods()[k]
}

// spotName names an end of a connection with another, as a question does: a pod, or an address that the other has the family of.
func (b *board) spotName(s chart.Spot, other *labelcache.Endpoint) string {
	if len(s.Outside) == 0 {
		return b.inventory().NameOf(s.Pod)
	}
	all := s.Outside
	if other != nil && len(other.Addrs) > 0 {
		all = slices.DeleteFunc(slices.Clone(all), func(p netip.Prefix) bool { return p.Addr().Is4() != other.Addrs[0].Is4() })
	}
	for _, a := range familiar() {
		if slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) }) && len(b.inventory().PodsAt(a)) == 0 {
			return a.String()
		}
	}
	if len(all) == 0 {
		all = s.Outside
	}
	a := all[0].Addr()
	for range maxNames { // past those that pods have
		if next := a.Next(); (a.IsUnspecified() || len(b.inventory().PodsAt(a)) > 0) && all[0].Contains(next) {
			a = next
		}
	}
	return a.String()
}

// portOf is a port of traffic: one that the destination listens on, or the first.
func portOf(t reach.Traffic, to *labelcache.Endpoint) string {
	if to != nil {
		for _, p := range to.Ports {
			if t.Has(intent.Protocol(p.Protocol), p.Number) {
				return fmt.Sprintf("%s/%d", p.Protocol, p.Number)
			}
		}
	}
	for _, p := range []asked{{intent.TCP, 443}, {intent.TCP, 80}, {intent.UDP, 53}} {
		if t.Has(p.protocol, p.number) {
			return fmt.Sprintf("%s/%d", p.protocol, p.number)
		}
	}
	if len(t.Ranges) > 0 {
		return fmt.Sprintf("%s/%d", t.Ranges[0].Protocol, max(1, t.Ranges[0].First))
	}
	return "icmp"
}
