package object

import (
	"cmp"
	"strings"
)

// Key names an object of a known kind, such as an endpoint. Its order is that of Compare.
type Key struct {
	Cluster   string // "" is the only, unnamed cluster
	Namespace string
	Name      string
}

// String formats k as [cluster/]namespace/name.
func (k Key) String() string {
	if k.Cluster == "" {
		return k.Namespace + "/" + k.Name
	}
	return k.Cluster + "/" + k.Namespace + "/" + k.Name
}

// Repeats reports whether k is that of the second of two equal pods that stand for those of a workload, such as shop/deploy/web+1, which
// only matters for connections between the two. No pod in a cluster has such a name.
func (k Key) Repeats() bool { return strings.HasSuffix(k.Name, "+1") }

// Compare orders keys by cluster, namespace and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(
		strings.Compare(k.Cluster, o.Cluster),
		strings.Compare(k.Namespace, o.Namespace),
		strings.Compare(k.Name, o.Name),
	)
}
