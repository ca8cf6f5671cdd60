package daemon

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// Embedded is a Northbound database within the process, for a machine without OVN. It also plays the part of the network
// plugin: every pod gets a logical port on the switch of its node, one for each name that a port may have.
type Embedded struct {
	server  *simulator.Server
	dir     string
	cluster string
	names   ovn.PortNames
	nodes   map[string]bool // those with a switch
	placed  map[object.Ref]place
}

// place is where the ports of a pod are. The zero value is nowhere.
type place struct {
	node  string
	ports []string // sorted
}

// StartEmbedded starts an empty database of OVN 23.03's schema on a socket in a new directory, for the pods of cluster.
func StartEmbedded(portNames, cluster string) (*Embedded, error) {
	names, err := ovn.ParsePortNames(portNames)
	if err != nil {
		return nil, err
	}
	if names.IndexKey() != "" {
		return nil, fmt.Errorf("port names %q: the embedded database names its ports by a template", portNames)
	}
	server, err := simulator.NewServer(schema.NB2303())
	if err != nil {
		return nil, fmt.Errorf("embedded database: %w", err)
	}
	dir, err := os.MkdirTemp("", "netloom-")
	if err != nil {
		return nil, fmt.Errorf("embedded database: %w", err)
	}
	if err := server.Start("unix:" + filepath.Join(dir, "nb.sock")); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("embedded database: %w", err)
	}
	return &Embedded{
		server: server, dir: dir, cluster: cluster, names: names,
		nodes: map[string]bool{}, placed: map[object.Ref]place{},
	}, nil
}

// Address returns the endpoint of the database.
func (e *Embedded) Address() string { return e.server.Addr() }

// Close ends the database and removes its directory.
func (e *Embedded) Close() {
	e.server.Close()
	_ = os.RemoveAll(e.dir)
}

// Ports lists the names of the logical ports, in no order.
func (e *Embedded) Ports() []string {
	var names []string
	for _, p := range e.placed {
		names = append(names, p.ports...)
	}
	return names
}

// Seed adds and removes the logical ports of the pods among refs.
func (e *Embedded) Seed(from source.Source, refs []object.Ref) error {
	for _, ref := range refs {
		if ref.Kind != object.KindPod {
			continue
		}
		object, _ := from.Get(ref)
		pod, _ := object.(*corev1.Pod)
		if err := e.seedPod(ref, pod); err != nil {
			return fmt.Errorf("seed %s: %w", ref, err)
		}
	}
	return nil
}

func (e *Embedded) seedPod(ref object.Ref, pod *corev1.Pod) error {
	want, was := e.placeOf(ref, pod), e.placed[ref]
	if was.node == want.node && slices.Equal(was.ports, want.ports) {
		return nil
	}
	delete(e.placed, ref)
	for _, port := range was.ports {
		if err := e.server.DeletePort(was.node, port); err != nil {
			return err
		}
	}
	if len(want.ports) == 0 {
		return nil
	}
	if !e.nodes[want.node] {
		if err := e.server.AddSwitch(want.node); err != nil {
			return err
		}
		e.nodes[want.node] = true
	}
	for i, port := range want.ports {
		if err := e.server.AddPort(want.node, port, nil); err != nil {
			return err
		}
		e.placed[ref] = place{node: want.node, ports: want.ports[:i+1]}
	}
	return nil
}

// placeOf returns where the ports of a pod belong; nil has none.
func (e *Embedded) placeOf(ref object.Ref, pod *corev1.Pod) place {
	if pod == nil || pod.Spec.HostNetwork {
		return place{}
	}
	names := e.names.Names(object.Key{Cluster: e.cluster, Namespace: ref.Namespace, Name: ref.Name})
	slices.Sort(names)
	return place{node: cmp.Or(pod.Spec.NodeName, "unscheduled"), ports: slices.Compact(names)}
}
