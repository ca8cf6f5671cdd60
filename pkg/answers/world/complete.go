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
