package tungsten

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// Annotations of the interfaces of pods, as kube-manager writes them.
const (
	kubeKind      = "kind"
	kubeNamespace = "namespace"
	kubeName      = "name"
	kubeCluster   = "cluster"
	kubeIndex     = "index" // "0/2": the first of two
)

// port is the interface of a pod.
type port struct {
	uuid string
	name string
	key  object.Key
	tags map[string]bool // UUIDs of the owner's tags
	// rival is somebody else's tag of the type of the tag for egress; "" if there is none, and the first of several. A vrouter keeps only one
	// of them, so policies for egress may have no effect.
	rival string
}

// equal reports whether two readings of an interface are the same.
func (p *port) equal(o *port) bool {
	return p.key == o.key && maps.Equal(p.tags, o.tags) && p.rival == o.rival
}

// ports are the interfaces of pods. A pod that was created again under its name may have two for a while.
type ports struct {
	byUUID map[string]*port
	byKey  map[object.Key][]*port
}

func newPorts() *ports { return &ports{byUUID: map[string]*port{}, byKey: map[object.Key][]*port{}} }

// put adds or replaces an interface.
func (p *ports) put(of *port) {
	p.remove(of.uuid)
	p.byUUID[of.uuid] = of
	list := slices.Concat(p.byKey[of.key], []*port{of})
	slices.SortFunc(list, func(a, b *port) int { return strings.Compare(a.uuid, b.uuid) })
	p.byKey[of.key] = list
}

// remove removes an interface, if it is there, and returns it.
func (p *ports) remove(uuid string) *port {
	old := p.byUUID[uuid]
	if old == nil {
		return nil
	}
	delete(p.byUUID, uuid)
	left := slices.DeleteFunc(slices.Clone(p.byKey[old.key]), func(o *port) bool { return o == old })
	if len(left) == 0 {
		delete(p.byKey, old.key)
	} else {
		p.byKey[old.key] = left
	}
	return old
}

// sorted lists all interfaces by UUID.
func (p *ports) sorted() []*port {
	out := slices.Collect(maps.Values(p.byUUID))
	slices.SortFunc(out, func(a, b *port) int { return strings.Compare(a.uuid, b.uuid) })
	return out
}

// portFields are the fields of an interface that portOf needs.
func portFields() []string { return []string{"annotations", "tag_refs"} }

// portOf reads an interface; nil if it is not the first one of a pod of the cluster that kube-manager calls by that name.
func portOf(names namer, clusters map[string]string, o *tungsten.Object) *port {
	a := o.Annotations
	cluster, known := clusters[a.Get(kubeCluster)]
	if a.Get(kubeKind) != "Pod" || a.Get(kubeNamespace) == "" || a.Get(kubeName) == "" || !known {
		return nil
	}
	if index := a.Get(kubeIndex); index != "" && index != "0" && !strings.HasPrefix(index, "0/") {
		return nil
	}
	p := tagged(names, o)
	p.key = object.Key{Cluster: cluster, Namespace: a.Get(kubeNamespace), Name: a.Get(kubeName)}
	return p
}

// tagged reads the tags of an interface, whatever it is of.
func tagged(names namer, o *tungsten.Object) *port {
	p := &port{uuid: o.UUID, name: o.Name(), tags: map[string]bool{}}
	for _, ref := range o.TagRefs {
		name := ""
		if n := len(ref.To); n > 0 {
			name = ref.To[n-1]
		}
		switch {
		case len(ref.To) == 1 && names.ownsTag(name) || ref.Dangling() && names.ownsUUID(ref.UUID):
			p.tags[ref.UUID] = !ref.Dangling()
		case typeOf(name) == typeFWaaS && (p.rival == "" || ref.Target() < p.rival):
			p.rival = ref.Target()
		}
	}
	return p
}
