package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/object"
)

// Names lists the names of a kind of object, sorted: pods, policies and services as namespace/name, nodes and cluster-wide policies
// by name. An unknown kind has no names.
func (w *World) Names(kind name.Kind) []string {
	switch {
	case kind == name.Pod:
		return w.podNames()
	case kind == name.NetworkPolicy:
		return sortedKeys(w.policies)
	case kind == name.Service:
		names := map[string]bool{}
		for full := range w.services {
			names[full] = true
		}
		for full := range w.balancers {
			names[full] = true
		}
		return sortedKeys(names)
	case kind == name.Node:
		return sortedKeys(w.nodes)
	case kind.Object() != "":
		return sortedKeys(w.cluster[kind.Object()])
	default:
		return w.sdwanOf(kind)
	}
}

// podNames lists the pods of the cluster: its objects, and its endpoints, which are all that is known of some clusters.
func (w *World) podNames() []string {
	names := map[string]bool{}
	for full := range w.pods {
		names[full] = true
	}
	for _, e := range w.endpoints {
		if w.IsOwn(e) {
			names[e.Key.Namespace+"/"+e.Key.Name] = true
		}
	}
	maps.DeleteFunc(names, func(full string, _ bool) bool { return (object.Key{Name: full}).Repeats() })
	return sortedKeys(names)
}

// WorkloadNames lists the workloads that were read, such as deploy/shop/web, sorted.
func (w *World) WorkloadNames() []string {
	names := w.workloadNames()
	slices.Sort(names)
	return names
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}

// EveryName lists all objects that can be explained.
func (w *World) EveryName() []string {
	var all []string
	for _, k := range append(name.ClusterPolicyKinds(), name.NetworkPolicy, name.Pod, name.Service) {
		for _, n := range w.Names(k) {
			all = append(all, string(k)+"/"+n)
		}
	}
	return append(all, w.SDWANNames()...)
}

// SDWANNames lists the SD-WAN objects as kind/namespace/name in lower case, sorted.
func (w *World) SDWANNames() []string {
	var out []string
	for i := range w.State.Objects.SDWAN {
		o := &w.State.Objects.SDWAN[i]
		out = append(out, strings.ToLower(o.Kind)+"/"+o.Namespace+"/"+o.Name)
	}
	slices.Sort(out)
	return out
}

// sdwanOf lists the SD-WAN objects of a kind as namespace/name, sorted.
func (w *World) sdwanOf(kind name.Kind) []string {
	var out []string
	for i := range w.State.Objects.SDWAN {
		if o := &w.State.Objects.SDWAN[i]; strings.EqualFold(o.Kind, string(kind)) {
			out = append(out, o.Namespace+"/"+o.Name)
		}
	}
	slices.Sort(out)
	return out
}
