package daemon

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
)

// EmbeddedController is a simulated Tungsten Fabric controller within the process, for a machine without one. It also plays the
// part of kube-manager: every pod gets an interface with its addresses.
type EmbeddedController struct {
	server  *simulator.Server
	url     string
	cluster string // as kube-manager calls it
	placed  map[object.Ref]simulator.Pod
}

// StartEmbeddedController starts a controller without objects, on a free port of this machine, for the pods of a cluster by the name
// that kube-manager gives it.
func StartEmbeddedController(ctx context.Context, cluster string) (*EmbeddedController, error) {
	server := simulator.New(simulator.Options{ServiceMonitor: true})
	err := server.AddCluster(cluster)
	var url string
	if err == nil {
		url, err = server.Start(ctx, "127.0.0.1:0")
	}
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("embedded controller: %w", err)
	}
	return &EmbeddedController{server: server, url: url, cluster: cluster, placed: map[object.Ref]simulator.Pod{}}, nil
}

// URL is the address of the configuration server.
func (e *EmbeddedController) URL() string { return e.url }

// Close ends the controller.
func (e *EmbeddedController) Close() { e.server.Close() }

// Seed adds and removes the interfaces of the pods among refs.
func (e *EmbeddedController) Seed(from source.Source, refs []object.Ref) error {
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

// seedPod gives a pod its interface, or removes it if pod is nil.
func (e *EmbeddedController) seedPod(ref object.Ref, pod *corev1.Pod) error {
	was, placed := e.placed[ref]
	want, wanted := e.interfaceOf(ref, pod)
	if placed == wanted && was.UID == want.UID && slices.Equal(was.Addrs, want.Addrs) {
		return nil
	}
	if placed {
		e.server.RemovePod(was.UID)
		delete(e.placed, ref)
	}
	if !wanted {
		return nil
	}
	if err := e.server.AddPod(want); err != nil {
		e.server.RemovePod(want.UID) // what there is of it
		return err
	}
	e.placed[ref] = want
	return nil
}

// interfaceOf returns the interface that kube-manager makes for a pod; ok is false if it makes none.
func (e *EmbeddedController) interfaceOf(ref object.Ref, pod *corev1.Pod) (p simulator.Pod, ok bool) {
	if pod == nil || pod.Spec.HostNetwork || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return p, false
	}
	p = simulator.Pod{
		Cluster: e.cluster, Namespace: ref.Namespace, Name: ref.Name,
		UID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(ref.Namespace+"/"+ref.Name+"/"+string(pod.UID))).String(),
	}
	for _, ip := range pod.Status.PodIPs {
		if addr, err := netip.ParseAddr(ip.IP); err == nil {
			p.Addrs = append(p.Addrs, addr)
		}
	}
	return p, true
}
