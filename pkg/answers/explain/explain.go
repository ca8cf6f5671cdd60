package explain

import (
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// Object is everything that is known about one object. One of the pointers is set.
type Object struct {
	Policy  *Policy  `json:"networkPolicy,omitempty"`
	Cluster *Policy  `json:"clusterPolicy,omitempty"` // of a cluster-wide policy
	Pod     *Pod     `json:"pod,omitempty"`
	Service *Service `json:"service,omitempty"`
	SDWAN   *SDWAN   `json:"sdwan,omitempty"` // of an SD-WAN object
	// ClusterName is the cluster of the object, if there are several.
	ClusterName string `json:"cluster,omitempty"`
	// Unknown lists what the answer lacks because it cannot be read; see the function of that name.
	Unknown []string `json:"unknown,omitempty"`
}

// Of explains the object that a text names, in the form that package name reads: a policy, a pod, a workload by its first pod, a
// Service or one of its ports, or an SD-WAN object. The namespace is the default for names without one. It fails if there is no such object.
func Of(w *world.World, text, namespace string) (Object, error) {
	in, n, err := w.Object(text, namespace)
	if err != nil {
		return Object{}, err
	}
	out, err := of(in, &n)
	if err != nil {
		return Object{}, err
	}
	if out.Unknown = in.Unknown(); w.Several() {
		out.ClusterName = in.State.Cluster
	}
	return out, nil
}

func of(w *world.World, n *name.Name) (out Object, err error) {
	switch { // a workload was replaced by its first pod
	case n.Kind == name.NetworkPolicy:
		out.Policy = explainPolicy(w, object.Ref{Kind: object.KindNetworkPolicy, Namespace: n.Namespace, Name: n.Name})
	case n.Kind == name.Pod:
		out.Pod = explainPod(w, n.Full())
	case n.Kind == name.Service:
		out.Service, err = explainService(w, n)
	case n.Kind.Object() != "":
		out.Cluster = explainPolicy(w, object.Ref{Kind: n.Kind.Object(), Name: n.Name})
	default:
		out.SDWAN = sdwan(w, w.SDWAN(n))
	}
	return out, err
}
