package translator

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// addressSpace is the pod CIDRs of the own cluster's nodes, and which pods of other clusters have an address in one of them. In that case,
// pods of both clusters get the same address sooner or later, and until both are known, rules mistake one for the other.
type addressSpace struct {
	nodes  map[string][]netip.Prefix // spec.podCIDRs
	owners map[netip.Prefix][]string // the nodes that have a range: usually one
	bits   map[addressLength]int     // how many ranges have a length
	inside map[string]map[object.Key]overlap
	stale  bool            // the ranges changed after inside was computed
	news   map[string]bool // clusters for which inside changed after it was reported
}

// addressLength is the length of a prefix of a family.
type addressLength struct {
	v6   bool
	bits int
}

// overlap is an address of a pod of another cluster in a range of a node.
type overlap struct {
	addr netip.Addr
	in   netip.Prefix
	node string
}

func newAddressSpace() addressSpace {
	return addressSpace{
		nodes: map[string][]netip.Prefix{}, owners: map[netip.Prefix][]string{}, bits: map[addressLength]int{},
		inside: map[string]map[object.Key]overlap{}, news: map[string]bool{},
	}
}

// putNode sets the ranges of a node; nil removes the node. Invalid prefixes are ignored: the API server accepts none.
func (s *addressSpace) putNode(name string, node *corev1.Node) {
	var ranges []netip.Prefix
	if node != nil {
		for _, text := range node.Spec.PodCIDRs {
			if p, err := netip.ParsePrefix(text); err == nil {
				ranges = append(ranges, p.Masked())
			}
		}
	}
	if slices.Equal(ranges, s.nodes[name]) {
		return
	}
	s.stale = true
	for _, p := range s.nodes[name] {
		s.owners[p] = slices.DeleteFunc(s.owners[p], func(n string) bool { return n == name })
		if len(s.owners[p]) == 0 {
			delete(s.owners, p)
			s.count(p, -1)
		}
	}
	delete(s.nodes, name)
	for _, p := range ranges {
		if len(s.owners[p]) == 0 {
			s.count(p, 1)
		}
		s.owners[p] = append(s.owners[p], name)
	}
	if len(ranges) > 0 {
		s.nodes[name] = ranges
	}
}

func (s *addressSpace) count(p netip.Prefix, by int) {
	length := addressLength{p.Addr().Is6(), p.Bits()}
	if s.bits[length] += by; s.bits[length] == 0 {
		delete(s.bits, length)
	}
}

// find returns the first of some addresses that is in a range, and the narrowest such range.
func (s *addressSpace) find(addrs []netip.Addr) (found overlap, ok bool) {
	for _, a := range addrs {
		for length := range s.bits {
			if length.v6 != a.Is6() || ok && length.bits <= found.in.Bits() {
				continue
			}
			p := netip.PrefixFrom(a, length.bits).Masked()
			if nodes := s.owners[p]; len(nodes) > 0 {
				found, ok = overlap{a, p, nodes[0]}, true
			}
		}
		if ok {
			break
		}
	}
	return found, ok
}

// look checks a pod of another cluster; a deleted pod has no addresses.
func (s *addressSpace) look(key object.Key, addrs []netip.Addr) {
	if s.stale {
		return // everything is looked at anyway
	}
	of := s.inside[key.Cluster]
	was, had := of[key]
	is, has := s.find(addrs)
	if was == is && had == has {
		return
	}
	s.news[key.Cluster] = true
	if !has {
		delete(of, key)
		return
	}
	if of == nil {
		of = map[object.Key]overlap{}
		s.inside[key.Cluster] = of
	}
	of[key] = is
}

// reportOverlaps reports the clusters with pods in the ranges of the own cluster's nodes, with one pod as an example.
func (t *Translator) reportOverlaps() {
	s := &t.space
	if s.stale {
		s.stale = false
		for cluster := range s.inside {
			s.news[cluster] = true
		}
		clear(s.inside)
		for _, of := range t.others {
			for key := range of.pods {
				if e := t.pods.byKey[key]; e != nil {
					s.look(key, e.endpoint.Addrs)
				}
			}
		}
	}
	for cluster := range s.news {
		var faults field.Faults
		if of := s.inside[cluster]; len(of) > 0 {
			key := slices.MinFunc(slices.Collect(maps.Keys(of)), object.Key.Compare)
			o := of[key]
			faults.Of = intent.Origin{Cluster: cluster, Kind: object.KindPod, Namespace: key.Namespace, Name: key.Name}
			faults.Add("status.podIPs", "%s is in %s, a pod CIDR of node %s of this cluster: clusters of a set need "+
				"address spaces that do not overlap (pods of cluster %s with such addresses: %d)", o.addr, o.in, o.node, cluster, len(of))
		}
		t.problems.Set(object.Ref{Kind: "address space", Name: cluster}, faults.List) // a reference that no object has
	}
	clear(s.news)
}
