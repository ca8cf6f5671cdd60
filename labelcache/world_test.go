package labelcache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

// world makes random objects from few words, so that they collide.
type world struct {
	*rand.Rand
	names int
}

func (w world) one(words ...string) string { return words[w.IntN(len(words))] }

func (w world) labels() map[string]string {
	var out map[string]string
	for range w.IntN(4) {
		if out == nil {
			out = map[string]string{}
		}
		out[w.one("a", "b", "c")] = w.one("", "x", "y", "z", "1", "5", "9")
	}
	return out
}

func (w world) cluster() string {
	if w.IntN(6) == 0 {
		return "west"
	}
	return ""
}

func (w world) key() object.Key {
	return object.Key{Cluster: w.cluster(), Namespace: w.one("n1", "n2", "n3"), Name: fmt.Sprint("p", w.IntN(w.names))}
}

func (w world) protocol() labelcache.Protocol {
	return []labelcache.Protocol{labelcache.TCP, labelcache.UDP, labelcache.SCTP}[w.IntN(3)]
}

func (w world) endpoint() labelcache.Endpoint {
	e := labelcache.Endpoint{Key: w.key(), Labels: w.labels(), Node: w.one("", "k1", "k2")}
	for range w.IntN(3) {
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(w.IntN(12))})
		if w.IntN(3) == 0 {
			a = netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(w.IntN(8))})
		}
		e.Addrs = append(e.Addrs, a)
	}
	for range w.IntN(3) {
		e.Ports = append(e.Ports, labelcache.NamedPort{Name: w.one("web", "dns"), Protocol: w.protocol(), Number: uint16(80 + w.IntN(3))})
	}
	return e
}

func (w world) selector() labels.Selector {
	switch w.IntN(10) {
	case 0:
		return nil
	case 1:
		return labels.Nothing()
	}
	s := labels.NewSelector()
	for range w.IntN(4) {
		s = s.Add(w.requirement())
	}
	return s
}

func (w world) requirement() labels.Requirement {
	ops := []selection.Operator{
		selection.In, selection.In, selection.Equals, selection.DoubleEquals, selection.NotIn, selection.NotEquals,
		selection.Exists, selection.DoesNotExist, selection.GreaterThan, selection.LessThan,
	}
	op := ops[w.IntN(len(ops))]
	var vals []string
	switch op {
	case selection.In, selection.NotIn:
		for range 1 + w.IntN(3) {
			vals = append(vals, w.one("", "x", "y", "z", "1", "5", "9"))
		}
	case selection.Equals, selection.DoubleEquals, selection.NotEquals:
		vals = []string{w.one("", "x", "y", "5")}
	case selection.GreaterThan, selection.LessThan:
		vals = []string{w.one("0", "1", "5", "6", "9")}
	case selection.Exists, selection.DoesNotExist:
	}
	r, err := labels.NewRequirement(w.one("a", "b", "c"), op, vals)
	if err != nil {
		panic(err)
	}
	return *r
}

func (w world) selection() labelcache.Selection {
	s := labelcache.Selection{Cluster: w.cluster(), Namespaces: w.selector(), Pods: w.selector()}
	if w.IntN(4) == 0 {
		s.Cluster = labelcache.AnyCluster
	}
	if w.IntN(2) == 0 {
		s.Namespace = w.one("n1", "n2", "n3")
	}
	if w.IntN(2) == 0 {
		s.Namespaces = nil
	}
	if w.IntN(8) == 0 {
		s.Node = w.one("k1", "k2")
	}
	if w.IntN(4) == 0 {
		s.Port = labelcache.PortMatch{Name: w.one("web", "dns"), Protocol: w.protocol(), Number: uint16([]int{0, 80, 81}[w.IntN(3)])}
	}
	return s
}

// step changes the cache and the model in the same random way.
func (w world) step(c *labelcache.Cache, m *model) {
	switch w.IntN(12) {
	case 0, 1, 2:
		e := w.endpoint()
		if old, ok := m.pods[e.Key]; ok { // most changes change one thing
			switch w.IntN(6) {
			case 0:
				e.Labels, e.Ports, e.Node = old.Labels, old.Ports, old.Node
			case 1, 2:
				e.Addrs, e.Ports, e.Node = old.Addrs, old.Ports, old.Node
			case 3:
				e.Addrs, e.Labels, e.Node = old.Addrs, old.Labels, old.Node
			case 4:
				e.Addrs, e.Labels, e.Ports = old.Addrs, old.Labels, old.Ports
			}
		}
		c.SetEndpoint(e)
		m.pods[e.Key] = e
	case 3, 4:
		k := w.key()
		c.DeleteEndpoint(k)
		delete(m.pods, k)
	case 5, 6:
		s, set := space{w.cluster(), w.one("n1", "n2", "n3", "n4")}, w.labels()
		c.SetNamespace(s.cluster, s.name, set)
		m.spaces[s] = set
	case 7:
		s := space{w.cluster(), w.one("n1", "n2", "n3", "n4")}
		c.DeleteNamespace(s.cluster, s.name)
		delete(m.spaces, s)
	case 8, 9:
		id, sel := labelcache.SetID(fmt.Sprint("s", w.IntN(8))), w.selection()
		wanted := wanted{sel, labelcache.NewTerm(sel)}
		if other := w.wanted(m); other != nil && w.IntN(2) == 0 {
			wanted = *other
		}
		c.AddTerm(id, wanted.term)
		m.sets[id] = append(m.sets[id], wanted)
	default:
		w.removeTerm(c, m)
	}
}

// wanted picks a term that some set has.
func (w world) wanted(m *model) *wanted {
	for _, id := range slices.Sorted(maps.Keys(m.sets)) {
		if w.IntN(len(m.sets)) == 0 {
			return &m.sets[id][w.IntN(len(m.sets[id]))]
		}
	}
	return nil
}

func (w world) removeTerm(c *labelcache.Cache, m *model) {
	id := labelcache.SetID(fmt.Sprint("s", w.IntN(8)))
	ws := m.sets[id]
	if len(ws) == 0 || w.IntN(4) == 0 { // one that it has not
		term := labelcache.NewTerm(w.selection())
		if !slices.ContainsFunc(ws, func(x wanted) bool { return x.term.ID() == term.ID() }) {
			c.RemoveTerm(id, term)
		}
		return
	}
	i := w.IntN(len(ws))
	c.RemoveTerm(id, ws[i].term)
	m.sets[id] = slices.Delete(ws, i, i+1)
	if len(m.sets[id]) == 0 {
		delete(m.sets, id)
	}
}
