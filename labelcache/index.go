package labelcache

import (
	"cmp"
	"slices"
)

// manyPlaces limits the number of pairs of scope and facet under which one term is filed.
const manyPlaces = 256

// file indexes t where the endpoints that can match it will find it: within a scope (the cluster, a namespace, or a
// label of namespaces) and under a facet (a label, a node, a port, or everything). A term that names several values is
// filed under each; an endpoint has only one of them, and finds t once.
func (c *Cache) file(t *term) {
	if t.spec == nil {
		return
	}
	scopes, facets := c.rarest(t.spec.places()), c.rarest(t.spec.choices())
	if len(scopes)*len(facets) > manyPlaces {
		scopes = []facetKey{{kind: inCluster, key: t.spec.cluster}}
	}
	for _, k := range scopes {
		t.scopes = append(t.scopes, c.pin(k))
	}
	for _, k := range facets {
		t.facets = append(t.facets, c.pin(k))
	}
	for _, f := range t.facets {
		file := f.file()
		if file.under == nil {
			file.under = map[*facet][]uint32{}
		}
		for _, s := range t.scopes {
			file.under[s] = append(file.under[s], t.slot)
			s.file().scoping++
		}
	}
	for _, k := range t.spec.watched() {
		f := c.pin(k)
		file := f.file()
		file.watchers = append(file.watchers, t.slot)
		t.watched = append(t.watched, f)
	}
}

// unfile undoes file.
func (c *Cache) unfile(t *term) {
	for _, f := range t.facets {
		for _, s := range t.scopes {
			s.filed.scoping--
			if left := without(f.filed.under[s], t.slot); len(left) > 0 {
				f.filed.under[s] = left
			} else {
				delete(f.filed.under, s)
			}
		}
	}
	for _, f := range t.watched {
		f.filed.watchers = without(f.filed.watchers, t.slot)
	}
	for _, fs := range [][]*facet{t.facets, t.scopes, t.watched} {
		for _, f := range fs {
			c.unpin(f)
		}
	}
}

// without removes one v from list, which is in no order.
func without(list []uint32, v uint32) []uint32 {
	if i := slices.Index(list, v); i >= 0 {
		list[i] = list[len(list)-1]
		list = list[:len(list)-1]
	}
	return list
}

// choice is a group of facets of which an endpoint, or its namespace, must have one to match a term.
type choice struct {
	facets []facetKey
	rank   int // facets of low rank are rare by nature
}

// places lists the choices of scopes that s offers: facets of which a namespace must have one for its endpoints to match.
// The last is the whole cluster.
func (s *spec) places() []choice {
	if s.namespace != "" && s.cluster != AnyCluster {
		return []choice{{[]facetKey{{kind: inNamespace, key: s.cluster, value: s.namespace}}, 0}}
	}
	var cs []choice
	for i := range s.namespaces {
		switch cl := &s.namespaces[i]; {
		case cl.in != nil:
			cs = append(cs, choice{withValues(facetKey{kind: namespaceLabel, key: cl.key}, cl.in), 0})
		case cl.present:
			cs = append(cs, choice{[]facetKey{{kind: namespaceKey, key: cl.key}}, 1})
		}
	}
	return append(cs, choice{[]facetKey{{kind: inCluster, key: s.cluster}}, 2})
}

// choices lists the choices that s offers, the last of which is everything.
func (s *spec) choices() []choice {
	var cs []choice
	if s.node != "" {
		cs = append(cs, choice{[]facetKey{{kind: nodeName, key: s.node}}, 0})
	}
	for i := range s.pods {
		switch cl := &s.pods[i]; {
		case cl.in != nil:
			cs = append(cs, choice{withValues(facetKey{kind: podLabel, key: cl.key}, cl.in), 0})
		case cl.present:
			cs = append(cs, choice{[]facetKey{{kind: podKey, key: cl.key}}, 2})
		}
	}
	if s.port.Name != "" {
		k := facetKey{kind: portName, protocol: s.port.Protocol, key: s.port.Name}
		if !s.port.open() {
			k.kind, k.number = portNumber, s.port.Number
		}
		cs = append(cs, choice{[]facetKey{k}, 1})
	}
	return append(cs, choice{[]facetKey{{kind: everything}}, 3})
}

// withValues returns k once for each of the values.
func withValues(k facetKey, values []string) []facetKey {
	keys := make([]facetKey, len(values))
	for i, v := range values {
		keys[i] = k
		keys[i].value = v
	}
	return keys
}

// rarest returns the choice with the fewest objects, among those of the lowest rank. It counts the objects of each choice once.
func (c *Cache) rarest(cs []choice) []facetKey {
	best, least := 0, -1
	for i := range cs {
		if cs[i].rank > cs[best].rank {
			continue
		}
		n := c.countObjects(cs[i].facets)
		if least < 0 || cmp.Or(cmp.Compare(cs[i].rank, cs[best].rank), cmp.Compare(n, least),
			cmp.Compare(len(cs[i].facets), len(cs[best].facets))) < 0 {
			best, least = i, n
		}
	}
	return cs[best].facets
}

// countObjects counts the objects of facets.
func (c *Cache) countObjects(keys []facetKey) int {
	n := 0
	for _, k := range keys {
		if f := c.facets[k]; f != nil {
			n += f.objects.len()
		}
	}
	return n
}

// watched returns the facets that can change the answer of s when a namespace gains or loses them. The facet of the
// cluster means that the namespace becomes known; a selector that requires a label need not watch it.
func (s *spec) watched() []facetKey {
	if s.anyLabels {
		return nil
	}
	var keys []facetKey
	asks := false
	for i := range s.namespaces {
		cl := &s.namespaces[i]
		asks = asks || cl.present
		if cl.in != nil {
			keys = append(keys, withValues(facetKey{kind: namespaceLabel, key: cl.key}, cl.in)...)
			continue
		}
		keys = append(keys, withValues(facetKey{kind: namespaceLabel, key: cl.key}, cl.notIn)...)
		if cl.present || cl.absent {
			keys = append(keys, facetKey{kind: namespaceKey, key: cl.key})
		}
	}
	if !asks {
		keys = append(keys, facetKey{kind: inCluster, key: s.cluster})
	}
	return keys
}

// matching appends the terms that an endpoint matches to dst, sorted.
func (c *Cache) matching(dst []uint32, e *Endpoint, ns *namespace) []uint32 {
	scopes := c.scopes[:0]
	for _, s := range ns.scopes {
		if s.scopes() {
			scopes = append(scopes, s)
		}
	}
	c.scopes = scopes
	dst = c.collect(dst, c.every, e, ns)
	for k, v := range e.Labels {
		if f := c.facets[facetKey{kind: podLabel, key: k, value: v}]; f != nil {
			dst = c.collect(dst, f, e, ns)
			dst = c.collect(dst, f.parent, e, ns)
		}
	}
	if f := c.facets[facetKey{kind: nodeName, key: e.Node}]; f != nil {
		dst = c.collect(dst, f, e, ns)
	}
	for _, p := range e.Ports {
		if f := c.facets[e.facetOf(p)]; f != nil {
			dst = c.collect(dst, f, e, ns)
			dst = c.collect(dst, f.parent, e, ns)
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst) // an endpoint may declare a port twice
}

// collect appends the terms filed under f that the endpoint matches.
func (c *Cache) collect(dst []uint32, f *facet, e *Endpoint, ns *namespace) []uint32 {
	if f.filed == nil || len(f.filed.under) == 0 {
		return dst
	}
	take := func(slots []uint32) {
		for _, slot := range slots {
			if s := c.terms[slot].spec; s.matchesPlace(e.Key.Cluster, e.Key.Namespace, ns.known, ns.labels) && s.matchesPod(e) {
				dst = append(dst, slot)
			}
		}
	}
	if len(f.filed.under) < len(c.scopes) { // otherwise the labels of pod and namespace would multiply
		for scope, slots := range f.filed.under {
			if ns.within(scope) {
				take(slots)
			}
		}
		return dst
	}
	for _, scope := range c.scopes {
		take(f.filed.under[scope])
	}
	return dst
}

// objectCount counts the objects of facets that exist.
func objectCount(fs []*facet) int {
	n := 0
	for _, f := range fs {
		n += f.objects.len()
	}
	return n
}

// scan calls visit with a superset of the endpoints that match t: the objects of the facets that have the fewest, without those
// that lack a label, node, port or namespace that t requires. The latter are found without looking at the endpoints.
func (c *Cache) scan(t *term, visit func(id uint32)) {
	if t.spec == nil {
		return
	}
	best := []facetKey{{kind: inCluster, key: t.spec.cluster}}
	least := c.countObjects(best)
	choices := t.spec.choices()
	choices = choices[:len(choices)-1] // without everything
	if t.spec.namespace != "" && t.spec.cluster != AnyCluster {
		choices = append(choices, t.spec.places()[0])
	}
	var required []*facet
	for _, ch := range choices {
		n := c.countObjects(ch.facets)
		if len(ch.facets) == 1 && n > 0 {
			required = append(required, c.facets[ch.facets[0]])
		}
		if n < least {
			best, least = ch.facets, n
		}
	}
	if t.spec.namespace == "" && !t.spec.anyLabels && least > len(c.namespaces) {
		if spaces, n := c.spaces(t.spec); n < least {
			best = spaces
		}
	}
	slices.SortFunc(required, func(a, b *facet) int { return cmp.Compare(a.objects.len(), b.objects.len()) })
	for _, k := range best {
		if f := c.facets[k]; f != nil {
			f.shared(slices.DeleteFunc(required, func(o *facet) bool { return o == f }), visit)
		}
	}
}

// shared calls visit with the objects that f shares with all others.
func (f *facet) shared(others []*facet, visit func(id uint32)) {
	if len(others) == 0 {
		f.objects.each(func(id uint32) bool { visit(id); return true })
		return
	}
	meet(f.objects, others[0].objects, func(id uint32) {
		for _, o := range others[1:] {
			if !o.objects.has(id) {
				return
			}
		}
		visit(id)
	})
}

// spaces lists the namespaces whose endpoints can match s, and counts those.
func (c *Cache) spaces(s *spec) ([]facetKey, int) {
	var keys []facetKey
	n := 0
	for _, ns := range c.namespaces {
		if s.matchesPlace(ns.facet.key, ns.facet.value, ns.known, ns.labels) {
			keys = append(keys, ns.facet.facetKey)
			n += ns.facet.objects.len()
		}
	}
	return keys, n
}
