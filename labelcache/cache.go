package labelcache

import (
	"hash/maphash"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/netloom/netloom/pkg/object"
)

// Cache keeps endpoints, namespaces and the sets that are selected from them. It is safe for concurrent use; make one with New.
type Cache struct {
	mu    sync.Mutex // guards all below but seed and view
	seed  maphash.Seed
	view  atomic.Pointer[state]
	epoch uint64 // owns the nodes that may be changed in place; replaced after each commit

	changed    bool // since the last commit
	pods       []pod
	podSlots   slots
	dirtyPods  []uint32
	endpoints  table[Endpoint]
	keys       hashes
	addrs      hashes
	v4, v6     int // how many addresses endpoints have
	namespaces map[spaceKey]*namespace
	spaceTable table[object.Key]
	spaceSlots slots

	facets    map[facetKey]*facet
	every     *facet
	tags      table[tagState]
	tagIndex  hashes
	tagSlots  slots
	dirtyTags []*facet

	terms     []*term
	termSlots slots
	termByID  map[string]*term
	resized   []*term // that Matches may have to report
	stamp     uint64

	sets      map[SetID]*set
	setTable  table[setState]
	setIndex  hashes
	setSlots  slots
	dirtySets []*set

	onCreated, onDropped func(Tag)
	events               []tagEvent
	delivering           bool

	scopes []*facet // scratch
	found  []uint32 // scratch
}

// pod is what the cache knows about an endpoint.
type pod struct {
	ep    *Endpoint
	ns    *namespace
	terms []uint32 // those that it matches, sorted
	gone  bool     // deleted since the last commit: the slot still belongs to the key
	dirty bool     // the endpoint differs from the published one
}

// has reports whether p matches a term.
func (p *pod) has(slot uint32) bool {
	_, ok := slices.BinarySearch(p.terms, slot)
	return ok
}

// lose removes a term from those that p matches.
func (p *pod) lose(slot uint32) {
	if i, ok := slices.BinarySearch(p.terms, slot); ok {
		p.terms = slices.Delete(p.terms, i, i+1)
	}
}

// Option changes how a new cache behaves.
type Option func(*Cache)

// OnTag has functions called for tags that were created or dropped. Commit calls them after it has published the view with
// the change, without a lock and never two at a time; either may be nil, and both may use the cache. A tag that is dropped by one commit and created by a later one is reported in that order. When several
// goroutines commit, the call may come from any of them.
func OnTag(created, dropped func(Tag)) Option {
	return func(c *Cache) { c.onCreated, c.onDropped = created, dropped }
}

// New makes an empty cache. Its view has revision zero.
func New(opts ...Option) *Cache {
	c := &Cache{
		seed:       maphash.MakeSeed(),
		epoch:      private + 1,
		namespaces: map[spaceKey]*namespace{},
		facets:     map[facetKey]*facet{},
		termByID:   map[string]*term{},
		sets:       map[SetID]*set{},
	}
	c.every = c.pin(facetKey{kind: everything})
	c.view.Store(&state{seed: c.seed})
	for _, o := range opts {
		o(c)
	}
	return c
}

// View returns what the last Commit published. It takes no lock.
func (c *Cache) View() View { return View{c.view.Load()} }

// find looks up the slot of an endpoint. The endpoint may have gone since the last commit.
func (c *Cache) find(k object.Key) (uint32, bool) {
	for _, e := range c.keys.find(hashOf(c.seed, k)) {
		if id := slotOf(e); c.pods[id].ep.Key == k {
			return id, true
		}
	}
	return 0, false
}

// SetEndpoint adds or replaces an endpoint. It is read-only from now on. It returns the endpoint as the cache keeps it, so that a
// caller that needs it too need not keep another.
func (c *Cache) SetEndpoint(e Endpoint) *Endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.index()
	id, ok := c.find(e.Key)
	switch {
	case !ok:
		c.insert(c.slotFor(e.Key), &e)
	case c.pods[id].gone:
		c.insert(id, &e)
	default:
		c.update(id, &e)
		return c.pods[id].ep
	}
	return &e
}

// DeleteEndpoint removes an endpoint, if it is there.
func (c *Cache) DeleteEndpoint(k object.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok := c.find(k)
	if !ok || c.pods[id].gone {
		return
	}
	p := &c.pods[id]
	for len(p.terms) > 0 {
		c.quit(c.terms[p.terms[len(p.terms)-1]], id, p, p.ep)
	}
	c.reindex(id, p.ep, nil)
	for _, f := range p.ns.scopes[:places] {
		f.objects.remove(id, private)
	}
	c.leave(spaceKey{k.Cluster, k.Namespace}, p.ns)
	c.address(id, p.ep.AllAddrs(), nil)
	c.endpoints.set(id, nil, c.epoch)
	p.ns, p.terms, p.gone = nil, nil, true
	c.markDirty(id)
}

// markDirty makes the next commit process an endpoint.
func (c *Cache) markDirty(id uint32) {
	c.changed = true
	if p := &c.pods[id]; !p.dirty {
		p.dirty = true
		c.dirtyPods = append(c.dirtyPods, id)
	}
}

// slotFor finds or allocates the slot of an endpoint.
func (c *Cache) slotFor(k object.Key) uint32 {
	id := c.podSlots.take()
	if int(id) == len(c.pods) {
		c.pods = append(c.pods, pod{})
	}
	c.keys.add(hashOf(c.seed, k), id, c.epoch)
	return id
}

// insert puts an endpoint in an empty slot.
func (c *Cache) insert(id uint32, e *Endpoint) {
	ns := c.namespace(spaceKey{e.Key.Cluster, e.Key.Namespace})
	for _, f := range ns.scopes[:places] {
		f.objects.add(id, private)
	}
	p := &c.pods[id]
	p.ep, p.ns, p.gone = e, ns, false
	c.endpoints.set(id, e, c.epoch)
	c.markDirty(id)
	c.address(id, nil, e.AllAddrs())
	c.reindex(id, nil, e)
	c.found = c.matching(c.found[:0], e, ns)
	p.terms = slices.Clone(c.found)
	for _, slot := range p.terms {
		c.enter(c.terms[slot], id, p)
	}
}

// update replaces an endpoint.
func (c *Cache) update(id uint32, e *Endpoint) {
	p := &c.pods[id]
	was := p.ep
	ports := !slices.Equal(was.Ports, e.Ports)
	other := ports || was.Opaque != e.Opaque || was.Node != e.Node || !maps.Equal(was.Labels, e.Labels)
	addrs := !slices.Equal(was.Addrs, e.Addrs) || !slices.Equal(was.Shared, e.Shared)
	if !other && !addrs {
		return
	}
	p.ep = e
	c.endpoints.set(id, e, c.epoch)
	c.markDirty(id)
	if addrs {
		c.address(id, was.AllAddrs(), e.AllAddrs())
	}
	if !other {
		return
	}
	c.reindex(id, was, e)
	c.found = c.matching(c.found[:0], e, p.ns)
	if ports {
		for _, slot := range p.terms {
			if _, stays := slices.BinarySearch(c.found, slot); stays {
				c.count(c.terms[slot], e, 1)
				c.count(c.terms[slot], was, -1)
			}
		}
	}
	for _, slot := range c.found {
		c.join(c.terms[slot], id, p)
	}
	for i := len(p.terms) - 1; i >= 0; i-- {
		if _, stays := slices.BinarySearch(c.found, p.terms[i]); !stays {
			c.quit(c.terms[p.terms[i]], id, p, was)
		}
	}
}

// address moves an endpoint from one list of addresses to another. The index only has hashes: one that an old and a new
// address have in common stays.
func (c *Cache) address(id uint32, before, after []netip.Addr) {
	c.families(before, -1)
	c.families(after, 1)
	var kept [4]uint32
	hashed := kept[:0]
	for _, a := range after {
		h := hashOf(c.seed, a)
		hashed = append(hashed, h)
		c.addrs.add(h, id, c.epoch)
	}
	slices.Sort(hashed)
	for _, a := range before {
		h := hashOf(c.seed, a)
		if _, stays := slices.BinarySearch(hashed, h); !stays {
			c.addrs.remove(h, id, c.epoch)
		}
	}
}

func (c *Cache) families(addrs []netip.Addr, by int) {
	for _, a := range addrs {
		switch {
		case a.Is4():
			c.v4 += by
		case a.Is6():
			c.v6 += by
		}
	}
}
