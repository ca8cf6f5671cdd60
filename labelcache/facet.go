package labelcache

// facetKind is what a facet is about. The first two are the kinds of tags.
type facetKind uint8

const (
	podLabel       = facetKind(PodLabel)       // key, value
	namespaceLabel = facetKind(NamespaceLabel) // key, value
	podKey         = facetKind(iota + 1)       // key: endpoints with the label, whatever its value
	namespaceKey                               // key: the same for namespaces
	nodeName                                   // key: endpoints on a node
	portName                                   // key and protocol: endpoints that declare a port
	portNumber                                 // key, protocol and number: those whose port has the number
	inNamespace                                // key: cluster, value: namespace
	inCluster                                  // key: cluster, or AnyCluster for the endpoints of all
	everything                                 // all there is; its objects are not stored
)

// facetKey identifies a facet.
type facetKey struct {
	kind       facetKind
	protocol   Protocol
	number     uint16
	key, value string
}

// facet is something that objects can have in common: terms are filed under facets, and the members of a new term are
// searched under them. The objects of facets of namespace labels are namespaces, those of all others are endpoints.
type facet struct {
	facetKey
	objects idset
	parent  *facet // of a label: the facet of its key; of the number of a port: that of its name
	pins    int    // how many terms, namespaces and children refer to the facet and keep it alive
	filed   *filed // nil while no term refers to the facet
	slot    uint32 // of a tag: its slot in the published view, plus one
	dirty   bool   // of a tag: the objects changed since the last commit
}

// filed holds the terms that depend on a facet.
type filed struct {
	// under lists, by scope, the terms filed under the facet.
	under map[*facet][]uint32
	// scoping counts the entries of other facets' under that have this one as their scope.
	scoping int
	// watchers are the terms whose answer can change when a namespace gains or loses the facet.
	watchers []uint32
}

// file returns f.filed, creating it if needed.
func (f *facet) file() *filed {
	if f.filed == nil {
		f.filed = &filed{}
	}
	return f.filed
}

// scopes reports whether a term is filed within f.
func (f *facet) scopes() bool { return f.filed != nil && f.filed.scoping > 0 }

func (f *facet) isTag() bool { return f.kind == podLabel || f.kind == namespaceLabel }

func (f *facet) tag() Tag { return Tag{Kind: TagKind(f.kind), Key: f.key, Value: f.value} }

// facet finds or makes the facet of a key.
func (c *Cache) facet(k facetKey) *facet {
	if f := c.facets[k]; f != nil {
		return f
	}
	f := &facet{facetKey: k}
	switch k.kind {
	case podLabel:
		f.parent = c.facet(facetKey{kind: podKey, key: k.key})
	case namespaceLabel:
		f.parent = c.facet(facetKey{kind: namespaceKey, key: k.key})
	case portNumber:
		f.parent = c.facet(facetKey{kind: portName, protocol: k.protocol, key: k.key})
	case podKey, namespaceKey, nodeName, portName, inNamespace, inCluster, everything:
	}
	if f.parent != nil {
		f.parent.pins++
	}
	c.facets[k] = f
	return f
}

// pin finds or makes a facet and keeps it alive until unpin.
func (c *Cache) pin(k facetKey) *facet {
	f := c.facet(k)
	f.pins++
	return f
}

func (c *Cache) unpin(f *facet) {
	f.pins--
	c.release(f)
}

// release drops f if it has no objects and is not needed.
func (c *Cache) release(f *facet) {
	if f.pins > 0 || f.dirty || f.objects.len() > 0 {
		return
	}
	delete(c.facets, f.facetKey)
	if f.parent != nil {
		c.unpin(f.parent)
	}
}

// addObject adds id to the facet and to its parent.
func (c *Cache) addObject(k facetKey, id uint32) {
	f := c.facet(k)
	f.objects.add(id, c.objectEpoch(f))
	if f.parent != nil {
		f.parent.objects.add(id, private)
	}
}

// removeObject undoes addObject. It removes id from the parent too, since an object has one value for a key and one number for
// a port.
func (c *Cache) removeObject(k facetKey, id uint32) {
	f := c.facets[k]
	if f == nil {
		return
	}
	f.objects.remove(id, c.objectEpoch(f))
	if f.parent != nil {
		f.parent.objects.remove(id, private)
	}
	c.release(f)
}

// objectEpoch returns the epoch for changing the objects of f. Those of tags are published at the next commit.
func (c *Cache) objectEpoch(f *facet) uint64 {
	if !f.isTag() {
		return private
	}
	if !f.dirty {
		f.dirty = true
		c.dirtyTags = append(c.dirtyTags, f)
	}
	return c.epoch
}

// relabel moves id from the facets of one label set to those of another. Either may be nil.
func (c *Cache) relabel(kind facetKind, id uint32, before, after map[string]string) {
	for k, v := range before {
		if now, ok := after[k]; !ok || now != v {
			c.removeObject(facetKey{kind: kind, key: k, value: v}, id)
		}
	}
	for k, v := range after {
		if was, ok := before[k]; !ok || was != v {
			c.addObject(facetKey{kind: kind, key: k, value: v}, id)
		}
	}
}

// reindex moves an endpoint from the facets of what it was to those of what it is. Either may be nil, but not both.
func (c *Cache) reindex(id uint32, before, after *Endpoint) {
	var was, is Endpoint
	if before != nil {
		was = *before
	}
	if after != nil {
		is = *after
	}
	c.relabel(podLabel, id, was.Labels, is.Labels)
	if was.Node != is.Node {
		if was.Node != "" {
			c.removeObject(facetKey{kind: nodeName, key: was.Node}, id)
		}
		if is.Node != "" {
			c.addObject(facetKey{kind: nodeName, key: is.Node}, id)
		}
	}
	for _, p := range was.Ports {
		if k := was.facetOf(p); !is.declares(k) {
			c.removeObject(k, id)
		}
	}
	for _, p := range is.Ports {
		if k := is.facetOf(p); !was.declares(k) {
			c.addObject(k, id)
		}
	}
}

// facetOf returns the facet of a port that e declares, with the effective number if several have the name.
func (e *Endpoint) facetOf(p NamedPort) facetKey {
	n, _ := e.Number(p.Name, p.Protocol)
	return facetKey{kind: portNumber, protocol: p.Protocol, number: n, key: p.Name}
}

// declares reports whether e has the facet of a port.
func (e *Endpoint) declares(k facetKey) bool {
	n, ok := e.Number(k.key, k.protocol)
	return ok && n == k.number
}
