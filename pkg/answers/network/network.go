package network

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Evaluate makes the networks among the objects of a reading part of the snapshot, and the state list what they leave open. The snapshot
// must not be written to a target afterwards. Without any such object, or without a snapshot, the state remains as it is.
func Evaluate(state *world.State) {
	if state.Snapshot == nil || state.Reading == nil || len(state.Reading.Networks) == 0 {
		return
	}
	e := newEvaluation(state)
	e.userNetworks()
	e.subnets()
	state.Networks = &world.Networks{Of: map[object.Key]string{}, DNS: e.dns, Open: e.open}
	for _, n := range e.networks {
		for _, m := range n.members {
			state.Networks.Of[m.Key] = n.id()
		}
	}
	for _, s := range e.private {
		for _, m := range s.members {
			state.Networks.Of[m.Key] = s.id()
		}
	}
	if len(e.networks)+len(e.private) > 0 {
		state.Snapshot = e.snapshot()
	}
	reading := *state.Reading
	reading.Judged()
	state.Reading = &reading
}

// evaluation is what is found out about networks.
type evaluation struct {
	state      *world.State
	pods       []*labelcache.Endpoint // of the own cluster, by key
	objects    map[object.Key]*corev1.Pod
	namespaces map[string]*corev1.Namespace
	dns        map[object.Key]bool

	networks []*network // that are separate
	private  []*subnet  // Subnets that only admit some
	clusters bool       // there are pods of other clusters
	open     []world.Open
}

// network is one whose pods exchange packets with no pod of another one.
type network struct {
	object  *world.NetworkObject
	members []*labelcache.Endpoint
	dns     bool // its pods may use the DNS of the cluster
}

func (n *network) id() string { return n.object.String() }

func newEvaluation(state *world.State) *evaluation {
	e := &evaluation{
		state: state, objects: map[object.Key]*corev1.Pod{}, namespaces: map[string]*corev1.Namespace{}, dns: map[object.Key]bool{},
	}
	for pod := range state.View.Endpoints() {
		if pod.Key.Cluster == state.Cluster {
			e.pods = append(e.pods, pod)
		} else {
			e.clusters = true
		}
	}
	slices.SortFunc(e.pods, func(a, b *labelcache.Endpoint) int { return a.Key.Compare(b.Key) })
	for _, p := range state.Objects.Pods {
		e.objects[object.Key{Cluster: state.Cluster, Namespace: p.Namespace, Name: p.Name}] = p
	}
	for _, n := range state.Objects.Namespaces {
		e.namespaces[n.Name] = n
	}
	for _, pod := range e.pods {
		if pod.Key.Namespace == dnsNamespace && pod.Labels[dnsLabel] == dnsService {
			e.dns[pod.Key] = true
		}
	}
	return e
}

// leave leaves something open. The text is its reason, after the name of the object.
func (e *evaluation) leave(about world.Open, of fmt.Stringer, text string, args ...any) {
	about.Text = of.String() + ": " + fmt.Sprintf(text, args...)
	e.open = append(e.open, about)
}

// objectsOf lists the objects of a kind, by namespace and name.
func (e *evaluation) objectsOf(kind string) []*world.NetworkObject {
	var out []*world.NetworkObject
	for i := range e.state.Reading.Networks {
		if o := &e.state.Reading.Networks[i]; o.Kind == kind {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *world.NetworkObject) int {
		return object.Ref{Namespace: a.Namespace, Name: a.Name}.Compare(object.Ref{Namespace: b.Namespace, Name: b.Name})
	})
	return out
}

// namespacesOf lists those of some pods, sorted.
func namespacesOf(pods []*labelcache.Endpoint) []string {
	names := map[string]bool{}
	for _, p := range pods {
		names[p.Key.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// selected reports whether policies of a direction select any of some pods, apart from what nodes are always allowed.
func (e *evaluation) selected(d intent.Direction, pods map[object.Key]bool) bool {
	for p := range e.state.Snapshot.Policies() {
		if p.Direction != d || p.Tier == intent.TierSystem {
			continue
		}
		set := e.state.Snapshot.Set(p.Subject)
		for k := range pods {
			if set.HasKey(k) {
				return true
			}
		}
	}
	return false
}
