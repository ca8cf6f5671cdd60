package world

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// concern is which connections a doubt is about. The zero value is every one.
type concern struct {
	nothing   bool   // it is about no connection, but about other things
	namespace string // only those of pods in it
	services  bool   // of these, only those that a Service balances
	pod       string // only those of one pod, namespace/name
	cluster   string // only those of pods of another cluster
	open      *Open  // only those that it is about
}

// involved is what takes part in a connection at one end.
type involved struct {
	cluster    string
	namespaces []string // of the pods and Services that it names or whose address it is
	service    bool
	pod        string // namespace/name; "" if it is no single pod, or one that no doubt is about
	networks   []string
	other      Other // without what depends on the first end
}

func (i *involved) key() string {
	return fmt.Sprint(i.cluster, "|", strings.Join(i.namespaces, ","), "|", i.service, "|", i.pod, "|", strings.Join(i.networks, ","), "|", i.other)
}

// about reports whether a doubt is about the connections of one end.
func (c *concern) about(i *involved) bool {
	switch {
	case c.nothing:
		return false
	case c.cluster != "":
		return i.cluster == c.cluster
	case c.pod != "":
		namespace, _, _ := strings.Cut(c.pod, "/")
		return i.pod == c.pod || i.service && slices.Contains(i.namespaces, namespace)
	case c.namespace != "":
		return (i.service || !c.services) && slices.Contains(i.namespaces, c.namespace)
	default:
		return true
	}
}

// concernOf is which connections a problem of an object is about.
func concernOf(ref object.Ref) concern {
	switch ref.Kind {
	case object.KindNetworkPolicy, object.KindEgressFirewall:
		return concern{namespace: ref.Namespace}
	case object.KindService, object.KindEndpoints, object.KindEndpointSlice, object.KindServiceImport:
		return concern{namespace: ref.Namespace, services: true}
	case object.KindPod:
		return concern{pod: ref.NamespacedName()}
	}
	_, device := v1alpha1.ResourceOfKind(ref.Kind)
	return concern{nothing: device}
}

// in is the concern of a doubt about another cluster. It is not known what matches pods that were not read.
func (c concern) in(of *State) concern {
	if of.Unread != "" || c == (concern{}) || c.nothing || c.open != nil {
		return c
	}
	return concern{cluster: of.Cluster}
}

// doubting is what DoubtsOn looks up. It is made once, for the first question.
type doubting struct {
	any       bool                      // there are doubts at all
	pods      map[string]bool           // those that doubts are about, namespace/name
	vips      map[netip.Addr][]string   // the namespaces of the Services with an address
	frontends map[netip.Addr][]frontend // if networks leave anything open
	found     sync.Map                  // the doubts, by what is involved
}

// frontend is an address of a Service for networks.
type frontend struct {
	other    Other
	backends []object.Key // the pods behind it
}

// concern is which connections it is about.
func (o *Open) concern() concern {
	switch {
	case o.Pod != "":
		return concern{pod: o.Pod}
	case o.Namespace != "":
		return concern{namespace: o.Namespace}
	}
	return concern{open: o}
}

// about reports whether it is about a connection between ends, or about those of a single end.
func (o *Open) about(ends []involved) bool {
	for i := range ends {
		if !slices.Contains(ends[i].networks, o.Network) {
			continue
		}
		if len(ends) == 1 {
			return o.wide()
		}
		for k := range ends {
			if o.Direct && ends[k].other&OtherService != 0 {
				continue
			}
			if k != i && (o.With == 0 || o.With&ends[k].as(o.Network, ends[i].other) != 0) {
				return true
			}
		}
	}
	return false
}

// as is what an end is, seen from a pod on a network, or from a Service with such pods.
func (i *involved) as(network string, from Other) Other {
	out := i.other &^ OtherVIP
	for _, n := range i.networks {
		if n == network {
			out |= OtherSame
		} else {
			out |= OtherPod
		}
	}
	if (i.other|from)&OtherVIP != 0 {
		if out&OtherPod != 0 {
			out |= OtherVIP
		}
		if out&OtherOutside != 0 {
			out |= OtherVIPOutside
		}
	}
	return out
}

// concerns lists which connections it is about.
func (f *Foreign) concerns() []concern {
	if f.Namespaces == nil {
		return []concern{{}}
	}
	out := make([]concern, len(f.Namespaces))
	for i, namespace := range f.Namespaces {
		out[i] = concern{namespace: namespace}
	}
	return out
}
