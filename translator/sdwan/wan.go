package sdwan

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/sets"
)

// The highest metric and weight that mwan3 accepts.
const (
	maxMetric = 256
	maxWeight = 1000
)

func (e *translation) readWANPolicy(s *v1alpha1.Mwan3PolicySpec) {
	e.need("spec.members", len(s.Members) > 0, "at least one network")
	seen := map[string]bool{}
	p := &intent.WANPolicy{}
	for i, m := range s.Members {
		path := fmt.Sprintf("spec.members[%d]", i)
		e.need(path+".network", m.Network != "", "the name of a network")
		if seen[m.Network] {
			e.refuse(path+".network", "%q: expected each network once", m.Network)
		}
		seen[m.Network] = true
		e.within(path+".metric", m.Metric, maxMetric)
		e.within(path+".weight", m.Weight, maxWeight)
		p.Members = append(p.Members, intent.WANMember{Network: m.Network, Metric: m.Metric, Weight: m.Weight})
	}
	e.setOnlyPart(p)
}

// within adds a fault for a number that is not between 1 and most.
func (e *translation) within(field string, n, most int) {
	if n < 1 || n > most {
		e.refuse(field, "%d: expected 1 to %d", n, most)
	}
}

func (e *translation) readWANRule(s *v1alpha1.Mwan3RuleSpec) {
	e.need("spec.policy", s.Policy != "", "the name of a policy")
	e.setOnlyPart(&intent.WANRule{
		Policy: e.refer("spec.policy", string(s.Policy)),
		Match: intent.Match{
			Src:      e.prefix("spec.src_ip", string(s.SrcIP)),
			Dst:      e.prefix("spec.dest_ip", string(s.DestIP)),
			Protocol: e.word("spec.proto", s.Proto, "tcp", "udp", "icmp", "all"),
			SrcPort:  e.port("spec.src_port", string(s.SrcPort)),
			DstPort:  e.port("spec.dest_port", string(s.DestPort)),
			Family:   e.family(s.Family, "all"),
		},
		Sticky:  e.flag("spec.sticky", string(s.Sticky)),
		Timeout: e.positive("spec.timeout", string(s.Timeout)),
	})
}

// defaultRoute is the word for 0.0.0.0/0 in a CNFRoute.
const defaultRoute = "default"

func (e *translation) readRoute(s *v1alpha1.CNFRouteSpec) {
	dst := s.Dst
	if dst == defaultRoute {
		dst = "0.0.0.0/0"
	}
	e.need("spec.dst", dst != "", "an IPv4 address, a prefix, or default")
	e.need("spec.dev", s.Dev != "", "the outgoing interface")
	r := &intent.Route{
		Dst: e.prefix("spec.dst", dst),
		Via: e.host("spec.gw", string(s.Gw)),
		Dev: e.link("spec.dev", string(s.Dev)),
	}
	if e.word("spec.table", s.Table, "default", "cnf") == "cnf" {
		r.Table = intent.TableCNF
	}
	e.setOnlyPart(r)
}

// maxUint32 is the highest priority, table and mark of the kernel, which ignores a rule with a higher one.
const maxUint32 = 1<<32 - 1

func (e *translation) readRouteRule(s *v1alpha1.CNFRouteRuleSpec) {
	r := &intent.RouteRule{
		Src:      e.prefix("spec.src", string(s.Src)),
		Dst:      e.prefix("spec.dst", string(s.Dst)),
		Not:      s.Not,
		Priority: e.number("spec.prio", string(s.Prio), 1, maxUint32, "a positive integer up to 4294967295"),
		Mark:     e.text("spec.fwmark", s.FWMark, fwmarkPattern, "a mark such as 16 or 0x10"),
		Table:    s.Table,
	}
	switch s.Table {
	case "", "main":
		r.Table = intent.TableMain
	case "local", "default":
	default:
		e.number("spec.table", s.Table, 1, maxUint32, "main, local, default or a positive integer up to 4294967295")
	}
	if n, err := strconv.ParseUint(r.Mark, 0, 64); err == nil && n > maxUint32 {
		e.refuse("spec.fwmark", "%q: expected at most 32 bits", r.Mark)
	}
	e.setOnlyPart(r)
}

// readApplication retains the set of the selected pods. The label cache tracks its members: nothing is translated again when
// pods are added or removed.
func (e *translation) readApplication(s *v1alpha1.SdewanApplicationSpec) {
	selector, err := metav1.LabelSelectorAsSelector(s.PodSelector.LabelSelector())
	if err != nil {
		e.refuse("spec.podSelector", "%v", err)
		return
	}
	namespace := s.AppNamespace
	if namespace == "" {
		namespace = e.object.GetNamespace()
	}
	if len(validation.IsDNS1123Label(namespace)) > 0 {
		e.refuse("spec.appNamespace", "%q: expected the name of a namespace", namespace)
		return
	}
	id := e.sets.Retain(&e.out.refs, sets.Spec{Terms: []labelcache.Term{
		labelcache.NewTerm(labelcache.Selection{Cluster: e.source.Cluster, Namespace: namespace, Pods: selector}),
	}})
	e.setOnlyPart(&intent.Application{Sources: id})
}
