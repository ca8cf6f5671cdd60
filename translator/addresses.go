package translator

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// podEntry is a pod that can hold traffic of its own, as its object says.
type podEntry struct {
	ref      object.Ref
	endpoint labelcache.Endpoint // with every address
	faults   field.Faults        // of the object by itself
	leaving  bool                // it has a deletion timestamp
}

// podTable knows which pods have which address. An address belongs to one pod at a time: a terminating pod gives way to
// one that is not, and of several that are alike in that none has it, since nothing says whose packets they are. Such an
// address stands for no pod as a peer, and for each of them as a subject.
type podTable struct {
	byKey   map[object.Key]*podEntry
	holders map[netip.Addr][]*podEntry
}

func newPodTable() podTable {
	return podTable{byKey: map[object.Key]*podEntry{}, holders: map[netip.Addr][]*podEntry{}}
}

// contest is how many of the holders of an address are in question.
type contest struct {
	running bool // some holder is not terminating, so those that are do not count
	rivals  int  // holders that count: 0, 1, or 2 for more than one
}

func (t *podTable) contest(a netip.Addr) contest {
	var running, leaving int
	for _, e := range t.holders[a] {
		if e.leaving {
			leaving++
		} else {
			running++
		}
	}
	if running > 0 {
		return contest{true, min(running, 2)}
	}
	return contest{false, min(leaving, 2)}
}

// replace makes is what a key means, nil for nothing, and returns the other pods whose addresses count differently now.
func (t *podTable) replace(key object.Key, is *podEntry) []*podEntry {
	was := t.byKey[key]
	if is == nil {
		delete(t.byKey, key)
	} else {
		t.byKey[key] = is
	}
	if was != nil && is != nil && was.leaving == is.leaving && slices.Equal(was.endpoint.Addrs, is.endpoint.Addrs) {
		for _, a := range is.endpoint.Addrs {
			list := t.holders[a]
			list[slices.Index(list, was)] = is
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
		for _, a := range is.endpoint.Addrs {
			t.holders[a] = append(t.holders[a], is)
		}
	}
	var others []*podEntry
	for a, c := range before {
		if c == t.contest(a) {
			continue
		}
		for _, e := range t.holders[a] {
			if e != is && !slices.Contains(others, e) {
				others = append(others, e)
			}
		}
	}
	return others
}

func (t *podTable) withdraw(e *podEntry) {
	for _, a := range e.endpoint.Addrs {
		left := slices.DeleteFunc(t.holders[a], func(o *podEntry) bool { return o == e })
		if len(left) == 0 {
			delete(t.holders, a)
		} else {
			t.holders[a] = left
		}
	}
}

// settle is the endpoint of e with the addresses that it has, and its faults with those that other pods have too.
func (t *podTable) settle(e *podEntry) (labelcache.Endpoint, []field.Problem) {
	out, faults := e.endpoint, field.Faults{Of: e.faults.Of, List: slices.Clip(e.faults.List)}
	out.Addrs = slices.DeleteFunc(slices.Clone(out.Addrs), func(a netip.Addr) bool {
		c := t.contest(a)
		if c.running && e.leaving {
			return true // another pod has it now
		}
		if c.rivals > 1 {
			out.Shared = append(out.Shared, a)
			faults.Add("status.podIPs", "%s is the address of another pod too: no rule that selects pods admits it until one of them is gone", a)
		}
		return c.rivals > 1
	})
	if len(out.Addrs) == len(e.endpoint.Addrs) {
		out.Addrs = e.endpoint.Addrs
	}
	return out, faults.List
}

// putEndpoint makes is what the label cache knows under a key, nil for nothing, and settles who has its addresses.
func (t *Translator) putEndpoint(key object.Key, is *podEntry) {
	others := t.pods.replace(key, is)
	if is == nil {
		t.cache.DeleteEndpoint(key)
	} else {
		others = append(others, is)
	}
	for _, e := range others {
		endpoint, faults := t.pods.settle(e)
		t.cache.SetEndpoint(endpoint)
		t.problems.Set(e.ref, faults)
	}
}
