package object

import (
	"cmp"
	"regexp"
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

// StandsIn reports whether k is that of a made-up pod, which stands for those of a workload, such as shop/deploy/web or shop/sts/db-0. No
// pod of a cluster has a slash in its name.
func (k Key) StandsIn() bool { return strings.Contains(k.Name, "/") }

// twin is how the name of the second of two equal pods that stand for those of a workload ends. No name of a pod of a cluster ends so.
const twin = "+1"

// Repeats reports whether k is that of the second of two equal pods that stand for those of a workload, such as shop/deploy/web+1, which
// only matters for connections between the two.
func (k Key) Repeats() bool { return strings.HasSuffix(k.Name, twin) }

// First is the key of the first of the two if k Repeats, otherwise k.
func (k Key) First() Key {
	k.Name = strings.TrimSuffix(k.Name, twin)
	return k
}

// numbered is a pod that stands for one of a StatefulSet.
var numbered = regexp.MustCompile(`^(sts/.+)-\d+$`)

// Subject is what k counts as in reports: all made-up pods of one workload as one, such as shop/deploy/web and shop/sts/db; a pod of a
// cluster as itself.
func (k Key) Subject() Key {
	if k.StandsIn() {
		k.Name = numbered.ReplaceAllString(k.First().Name, "$1")
	}
	return k
}

// SubjectNoun is the word for n subjects: workloads if some pods are made up, otherwise pods.
func SubjectNoun(n int, standIns bool) string {
	noun := "pod"
	if standIns {
		noun = "workload"
	}
	if n != 1 {
		noun += "s"
	}
	return noun
}

// Compare orders keys by cluster, namespace and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(
		strings.Compare(k.Cluster, o.Cluster),
		strings.Compare(k.Namespace, o.Namespace),
		strings.Compare(k.Name, o.Name),
	)
}
