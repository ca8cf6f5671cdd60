package labelcache

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// namespace is what the cache knows about a namespace. It exists while it is known or has endpoints.
type namespace struct {
	facet  *facet // its objects are the endpoints in it; key and value identify the namespace
	known  bool
	labels map[string]string
	slot   uint32 // while known: its slot as an object with tags
	// scopes are the facets within which terms for its endpoints are filed: the cluster, itself, any cluster, its labels and keys.
	scopes []*facet
}

// places is how many scopes a namespace has whatever its labels.
const places = 3

// spaceKey identifies a namespace.
type spaceKey struct{ cluster, name string }

// namespace finds or makes a namespace. The caller makes it known or puts an endpoint in it.
func (c *Cache) namespace(k spaceKey) *namespace {
	if ns := c.namespaces[k]; ns != nil {
		return ns
	}
	ns := &namespace{facet: c.pin(facetKey{kind: inNamespace, key: k.cluster, value: k.name})}
	ns.scopes = []*facet{c.pin(facetKey{kind: inCluster, key: k.cluster}), ns.facet, c.pin(facetKey{kind: inCluster, key: AnyCluster})}
	c.namespaces[k] = ns
	return ns
}

// within reports whether a facet is one of the scopes of ns.
func (ns *namespace) within(f *facet) bool {
	switch v, labelled := ns.labels[f.key]; f.kind {
	case inCluster, inNamespace:
		return slices.Contains(ns.scopes[:places], f)
	case namespaceLabel:
		return labelled && v == f.value
	case namespaceKey:
		return labelled
	case podLabel, podKey, nodeName, portName, portNumber, everything:
	}
	return false
}

// leave drops a namespace that is empty and not known.
func (c *Cache) leave(k spaceKey, ns *namespace) {
	if ns.known || ns.facet.objects.len() > 0 {
		return
	}
	delete(c.namespaces, k)
	for _, f := range ns.scopes[:places] {
		c.unpin(f)
	}
}

// SetNamespace adds a namespace or replaces its labels. The map is read-only from now on.
func (c *Cache) SetNamespace(cluster, name string, labels map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := spaceKey{cluster, name}
	ns := c.namespace(k)
	if ns.known && maps.Equal(ns.labels, labels) {
		return
	}
	if !ns.known {
		ns.slot = c.spaceSlots.take()
		c.spaceTable.set(ns.slot, &object.Key{Cluster: cluster, Namespace: name}, c.epoch)
	}
	c.turn(ns, true, labels)
}

// DeleteNamespace removes a namespace. Endpoints in it stay until they are deleted, but match no selector of namespaces
// any more.
func (c *Cache) DeleteNamespace(cluster, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := spaceKey{cluster, name}
	ns := c.namespaces[k]
	if ns == nil || !ns.known {
		return
	}
	c.turn(ns, false, nil)
	c.spaceTable.set(ns.slot, nil, c.epoch)
	c.spaceSlots.give(ns.slot)
	c.leave(k, ns)
}

// turn changes the labels of a namespace and updates the endpoints in it. Only terms that the change could affect are
// checked, each of them once for all endpoints.
func (c *Cache) turn(ns *namespace, known bool, set map[string]string) {
	c.changed = true
	touched := c.touchedBy(ns, known, set)
	cluster, name := ns.facet.key, ns.facet.value
	var came, went []*term
	for _, t := range touched {
		was := t.spec.matchesPlace(cluster, name, ns.known, ns.labels)
		is := t.spec.matchesPlace(cluster, name, known, set)
		switch {
		case is && !was:
			came = append(came, t)
		case was && !is:
			went = append(went, t)
		}
	}
	c.relabel(namespaceLabel, ns.slot, ns.labels, set)
	ns.known, ns.labels = known, set
	ns.scopes = ns.scopes[:places]
	for k, v := range set {
		f := c.facets[facetKey{kind: namespaceLabel, key: k, value: v}]
		ns.scopes = append(ns.scopes, f, f.parent)
	}
	for _, t := range went {
		c.within(t, ns, func(id uint32, p *pod) { c.quit(t, id, p, p.ep) })
	}
	for _, t := range came {
		c.within(t, ns, func(id uint32, p *pod) {
			if t.spec.matchesPod(p.ep) {
				c.join(t, id, p)
			}
		})
	}
}

// touchedBy lists the terms that watch a facet that the namespace gains or loses, once each.
func (c *Cache) touchedBy(ns *namespace, known bool, set map[string]string) []*term {
	c.stamp++
	var out []*term
	touch := func(k facetKey) {
		f := c.facets[k]
		if f == nil || f.filed == nil {
			return
		}
		for _, slot := range f.filed.watchers {
			if t := c.terms[slot]; t.stamp != c.stamp {
				t.stamp = c.stamp
				out = append(out, t)
			}
		}
	}
	if known != ns.known {
		for _, f := range ns.scopes[:places] {
			touch(f.facetKey)
		}
	}
	differing := func(a, b map[string]string) {
		for k, v := range a {
			if w, ok := b[k]; !ok || v != w {
				touch(facetKey{kind: namespaceLabel, key: k, value: v})
				touch(facetKey{kind: namespaceKey, key: k})
			}
		}
	}
	differing(ns.labels, set)
	differing(set, ns.labels)
	return out
}

// within calls visit with a superset of the endpoints of a namespace that t matches.
func (c *Cache) within(t *term, ns *namespace, visit func(id uint32, p *pod)) {
	if objectCount(t.facets) < ns.facet.objects.len() && t.facets[0] != c.every {
		for _, f := range t.facets {
			f.objects.each(func(id uint32) bool {
				if p := &c.pods[id]; p.ns == ns {
					visit(id, p)
				}
				return true
			})
		}
		return
	}
	ns.facet.objects.each(func(id uint32) bool { visit(id, &c.pods[id]); return true })
}
