package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
)

// Object finds the object that a text names, in the form that package name reads, and the world of its cluster; the namespace is the
// default for names without one. A workload is named by its first pod. It fails if there is no such object.
func (w *World) Object(text, namespace string) (*World, name.Name, error) {
	known := w.known()
	known.Namespace = nil // no object is explained without its kind unless it is a pod or a workload
	n, err := name.Parse(text, namespace, known)
	if err != nil {
		return nil, name.Name{}, fmt.Errorf("%w%s", err, name.DidYouMean(text, w.EveryName()))
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
	if n.Kind == name.Pod && w.pods[n.Full()] == nil && w.pods[n.Namespace+"/"+ofSet(n.Name)] != nil {
		n.Name = ofSet(n.Name)
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

func (w *World) unexplained(n *name.Name) error {
	return fmt.Errorf("%q: expected networkpolicy/NAMESPACE/NAME, pod/NAMESPACE/NAME, service/NAMESPACE/NAME, a workload such as"+
		" deploy/NAMESPACE/NAME, clusternetworkpolicy/NAME or an existing SD-WAN object%s", n.Text, name.DidYouMean(n.Text, w.EveryName()))
}
