package field

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// LabelCluster is the key by which selectors of pods and of namespaces name clusters of a set: its value is the name of the
// cluster, whatever labels the object has.
const LabelCluster = "netloom.io/cluster"

// LabelName is the label that the API server gives each namespace, with its name as the value (KEP-2161).
const LabelName = corev1.LabelMetadataName

// ClusterSet is in which clusters policies find peers.
type ClusterSet uint8

// The ways in which policies find peers.
const (
	// SingleCluster means that there is no other cluster: LabelCluster is a label like any other.
	SingleCluster ClusterSet = iota
	// LocalByDefault means that a selector of peers without LabelCluster selects pods of the own cluster.
	LocalByDefault
	// SetByDefault means that it selects pods of every cluster.
	SetByDefault
)

// InSet returns a namespace with the label of its cluster, if there is a set of clusters.
func (s Source) InSet(cluster string, ns *corev1.Namespace) *corev1.Namespace {
	if s.ClusterSet == SingleCluster {
		return ns
	}
	out := *ns
	out.Labels = maps.Clone(ns.Labels)
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels[LabelCluster] = cluster
	return &out
}
