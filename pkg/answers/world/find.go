package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
)

// known is what decides how a text is read.
func (w *World) known() name.Known {
	return name.Known{
		Clusters:  slices.Sorted(maps.Keys(w.set.members)),
		Namespace: func(is string) bool { return w.namespaces[is] },
		Kind:      w.sdwanKind,
	}
}

// of is the world of the cluster that a name is in.
func (w *World) of(n *name.Name) *World {
	if n.Cluster == "" {
		return w
	}
	return w.set.members[n.Cluster]
}

// Object finds the object that a text names, in the form that package name reads, and the world of its cluster; the namespace is the
// default for names without one. A workload is named by its first pod. It fails if there is no such object.
func (w *World) Object(text, namespace string) (*World, name.Name, error) {
	known := w.known()
	known.Namespace = nil // no object is explained without its kind unless it is a pod or a workload
	n, err := name.Parse(text, namespace, known)
	if err != nil {
		return nil, name.Name{}, fmt.Errorf("%w%s", err, name.DidYouMean(text, w.everyName()))
	}
	member := w.of(&n)
	if err := member.object(&n); err != nil {
		if n.Cluster != "" {
			err = fmt.Errorf("in cluster %s: %w", n.Cluster, member.OrUnread(err))
		}
		return nil, name.Name{}, err
	}
	return member, n, nil
}

// object completes the name of an object that exists.
func (w *World) object(n *name.Name) error {
	switch {
	case n.Kind == name.Address || n.Kind == name.Node || n.Kind == name.Namespace:
		return w.unexplained(n)
	case n.Kind.Workload():
		return w.toPod(n, w.workload)
	case n.Kind == "" && n.Namespace == "":
		return w.unexplained(n)
	case n.Kind == "":
		return w.toPod(n, w.podEnds)
	case !n.Kind.Namespaced():
		if names := w.Names(n.Kind); !slices.Contains(names, n.Name) {
			return name.NotFound(n.Kind, n.Name, names)
		}
		return nil
	}
	if err := w.complete(n); err != nil {
		return err
	}
	if names := w.Names(n.Kind); !slices.Contains(names, n.Full()) {
		return w.orUnknownService(n, name.NotFound(n.Kind, n.Full(), names))
	}
	return nil
}

// toPod has a name be that of the first pod found.
func (w *World) toPod(n *name.Name, find func(*name.Name) ([]End, error)) error {
	pods, err := find(n)
	if err != nil {
		return err
	}
	n.Kind = name.Pod
	n.Namespace, n.Name, _ = strings.Cut(strings.TrimPrefix(pods[0].Name, w.Prefix()), "/")
	return nil
}

// complete gives a name without a namespace, or with all, that of the only object of its kind that has the name.
func (w *World) complete(n *name.Name) error {
	if n.Namespace != "" && n.Namespace != name.AllNamespaces {
		return nil
	}
	var found []string
	for _, full := range w.Names(n.Kind) {
		if namespace, short, _ := strings.Cut(full, "/"); short == n.Name {
			found = append(found, namespace)
		}
	}
	switch len(found) {
	case 0:
		return w.orUnknownService(n, name.NotFound(n.Kind, n.Name, w.Names(n.Kind)))
	case 1:
		n.Namespace = found[0]
		return nil
	default:
		return fmt.Errorf("%s %s: expected a namespace: there is one in %s", n.Kind, n.Name, name.And(found))
	}
}

// orUnknownService adds to an error about a Service that Services cannot be read.
func (w *World) orUnknownService(n *name.Name, err error) error {
	if n.Kind != name.Service {
		return err
	}
	return w.OrUnknown(err)
}

func (w *World) unexplained(n *name.Name) error {
	return fmt.Errorf("%q: expected networkpolicy/NAMESPACE/NAME, pod/NAMESPACE/NAME, service/NAMESPACE/NAME, a workload such as"+
		" deploy/NAMESPACE/NAME, clusternetworkpolicy/NAME or an existing SD-WAN object%s", n.Text, name.DidYouMean(n.Text, w.everyName()))
}

// everyName lists all objects that can be explained.
func (w *World) everyName() []string {
	var all []string
	for _, k := range append(name.ClusterPolicyKinds(), name.NetworkPolicy, name.Pod, name.Service) {
		for _, n := range w.Names(k) {
			all = append(all, string(k)+"/"+n)
		}
	}
	return append(all, w.SDWANNames()...)
}
