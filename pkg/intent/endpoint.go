package intent

import (
	"iter"
	"net/netip"
	"strings"
)

// Key names one endpoint. It is comparable; its order is that of Compare.
type Key struct {
	Cluster   string // "" is the only, unnamed cluster
	Namespace string
	Name      string
}

// String spells k as [cluster/]namespace/name.
func (k Key) String() string {
	if k.Cluster == "" {
		return k.Namespace + "/" + k.Name
	}
	return k.Cluster + "/" + k.Namespace + "/" + k.Name
}

// Compare orders keys by cluster, namespace and name.
func (k Key) Compare(o Key) int {
	if c := strings.Compare(k.Cluster, o.Cluster); c != 0 {
		return c
	}
	if c := strings.Compare(k.Namespace, o.Namespace); c != 0 {
		return c
	}
	return strings.Compare(k.Name, o.Name)
}

// Endpoint is something that holds addresses and can be the subject of a policy: a pod with its own network.
// It is read-only: the slices are shared.
type Endpoint struct {
	Key   Key
	Addrs []netip.Addr // every address the endpoint holds, unmapped and without zone; empty while none is known
	Node  string       // where it runs; "" when unknown
}

// Members is who belongs to a set at one revision. It is immutable and safe for concurrent use.
type Members interface {
	// Len counts the endpoints.
	Len() int
	// All yields each endpoint once, in no particular order.
	All() iter.Seq[Endpoint]
	// HasKey says whether the endpoint k is a member.
	HasKey(k Key) bool
	// HasAddr says whether some member holds a.
	HasAddr(a netip.Addr) bool
}
