package translator

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// podEntry is a pod that can have traffic of its own, as its object says.
type podEntry struct {
	endpoint *labelcache.Endpoint // with every address; that of the label cache if they all count as addresses of this pod
	problems []object.Problem     // of the object itself
	leaving  bool                 // it has a deletion timestamp
	at       []int                // for each address, the index in its list of addrPods; nil outside the table
}

// podTable holds which pods have which address. An address belongs to one pod at a time: a pod that is not terminating
// takes precedence over one that is. If several remain, it belongs to none of them, because packets from it cannot be attributed to one
// pod. Such an address counts for none of them as a peer, and for each of them as a subject.
type podTable struct {
	byKey  map[object.Key]*podEntry
	byAddr map[netip.Addr]addrPods
}

func newPodTable() podTable {
	return podTable{byKey: map[object.Key]*podEntry{}, byAddr: map[netip.Addr]addrPods{}}
}

// addrPods are the pods that have the same address, in no particular order.
type addrPods struct{ running, leaving []*podEntry }

// like returns the list that e belongs to.
func (h *addrPods) like(e *podEntry) *[]*podEntry {
	if e.leaving {
		return &h.leaving
	}
	return &h.running
}

// contest is how many pods compete for an address.
type contest struct {
	running bool // some pod is not terminating, so those that are do not count
	rivals  int  // pods that count: 0, 1, or 2 for more than one
}

func (t *podTable) contest(a netip.Addr) contest {
	h := t.byAddr[a]
	if n := len(h.running); n > 0 {
		return contest{true, min(n, 2)}
	}
	return contest{false, min(len(h.leaving), 2)}
}

// replace sets the entry of a key, nil for none, and returns the other pods whose addresses count differently now. The cost
// does not depend on how many pods have an address, unless it changes for all of them.
func (t *podTable) replace(key object.Key, is *podEntry) []*podEntry {
	was := t.byKey[key]
	if is == nil {
		delete(t.byKey, key)
	} else {
		t.byKey[key] = is
	}
	if was != nil && is != nil && was.leaving == is.leaving && slices.Equal(was.endpoint.Addrs, is.endpoint.Addrs) {
		is.at = was.at
		for i, a := range is.endpoint.Addrs {
			h := t.byAddr[a]
			(*h.like(is))[is.at[i]] = is
		}
		return nil
	}
	before := map[netip.Addr]contest{}
	for _, e := range []*podEntry{was, is} {
		if e != nil {
			for _, a := range e.endpoint.Addrs {
				before[a] = t.contest(a)
			}
		}
	}
	if was != nil {
		t.withdraw(was)
	}
	if is != nil {
		t.enter(is)
	}
	var others []*podEntry
	listed := map[*podEntry]bool{is: true}
	for a, c := range before {
		for _, e := range t.affected(a, c) {
			if !listed[e] {
				listed[e] = true
				others = append(others, e)
			}
		}
	}
	return others
}

// affected lists the pods with an address that count differently than when its contest was c.
func (t *podTable) affected(a netip.Addr, c contest) []*podEntry {
	h, now := t.byAddr[a], t.contest(a)
	switch {
	case c == now:
		return nil
	case c.running && now.running:
		return h.running // those that are terminating do not count, as before
	default:
		return slices.Concat(h.running, h.leaving)
	}
}

// enter adds e to the pods of its addresses.
func (t *podTable) enter(e *podEntry) {
	e.at = make([]int, len(e.endpoint.Addrs))
	for i, a := range e.endpoint.Addrs {
		h := t.byAddr[a]
		list := h.like(e)
		e.at[i] = len(*list)
		*list = append(*list, e)
		t.byAddr[a] = h
	}
}

// withdraw undoes enter: the last of a list takes the place of e.
func (t *podTable) withdraw(e *podEntry) {
	for i, a := range e.endpoint.Addrs {
		h := t.byAddr[a]
		list := h.like(e)
		last := len(*list) - 1
		moved := (*list)[last]
		(*list)[e.at[i]] = moved
		moved.at[slices.Index(moved.endpoint.Addrs, a)] = e.at[i]
		(*list)[last] = nil
		*list = (*list)[:last]
		if len(h.running)+len(h.leaving) == 0 {
			delete(t.byAddr, a)
		} else {
			t.byAddr[a] = h
		}
	}
}

// settle returns the endpoint of e with the addresses that belong to it, and its faults including addresses that other
// pods have too.
func (t *podTable) settle(e *podEntry) (labelcache.Endpoint, []object.Problem) {
	out := *e.endpoint
	faults := field.Faults{
		Of:   intent.Origin{Cluster: out.Key.Cluster, Kind: object.KindPod, Namespace: out.Key.Namespace, Name: out.Key.Name},
		List: slices.Clip(e.problems),
	}
	out.Addrs = slices.DeleteFunc(slices.Clone(out.Addrs), func(a netip.Addr) bool {
		c := t.contest(a)
		if c.running && e.leaving {
			return true // another pod has it now
		}
		if c.rivals > 1 {
			out.Shared = append(out.Shared, a)
			faults.Add("status.podIPs", "%s is also the address of another pod: no rule that selects pods allows it until one of them is deleted", a)
		}
		return c.rivals > 1
	})
	if len(out.Addrs) == len(e.endpoint.Addrs) {
		out.Addrs = e.endpoint.Addrs
	}
	return out, faults.List
}

// putEndpoint sets the endpoint of a key in the label cache, nil for none, and settles which pods have its addresses.
func (t *Translator) putEndpoint(key object.Key, is *podEntry) {
	others := t.pods.replace(key, is)
	if is == nil {
		t.cache.DeleteEndpoint(key)
	} else {
		others = append(others, is)
	}
	for _, e := range others {
		endpoint, faults := t.pods.settle(e)
		if cached := t.cache.SetEndpoint(endpoint); len(cached.Addrs) == len(e.endpoint.Addrs) {
			e.endpoint = cached
		}
		t.problems.Set(t.podRef(endpoint.Key), faults)
	}
}
