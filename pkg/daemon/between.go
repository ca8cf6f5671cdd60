package daemon

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/reconcile"
)

// podSeeder plays the part of a network plugin in an embedded target.
type podSeeder interface {
	seedPod(ref object.Ref, pod *corev1.Pod) error
	Close()
}

// embedFor starts an embedded target for the pods of a cluster: a controller if the settings name one, else a database.
func embedFor(ctx context.Context, settings *builtin.Settings, cluster string) (podSeeder, error) {
	if settings.Tungsten.Configured() {
		fabric, err := StartEmbeddedController(ctx, settings.Tungsten.ClusterName)
		if err != nil {
			return nil, err
		}
		settings.OVN.Endpoints, settings.Tungsten.Servers = nil, []string{fabric.URL()}
		return fabric, nil
	}
	embedded, err := StartEmbedded(settings.OVN.PortNames, cluster)
	if err != nil {
		return nil, err
	}
	settings.OVN.Endpoints = []string{embedded.Address()}
	return embedded, nil
}

// PlanBetween returns the plan that takes a target from one state to another. The target is an embedded one with a port for every
// pod.
func PlanBetween(ctx context.Context, settings builtin.Settings, before, after world.State) (*backends.Plan, error) {
	embedded, err := embedFor(ctx, &settings, before.Cluster)
	if err != nil {
		return nil, err
	}
	defer embedded.Close()
	for _, pod := range append(append([]*corev1.Pod(nil), before.Objects.Pods...), after.Objects.Pods...) {
		ref := object.Ref{Kind: object.KindPod, Namespace: pod.Namespace, Name: pod.Name}
		if err := embedded.seedPod(ref, pod); err != nil {
			return nil, err
		}
	}
	if _, err := offline.Apply(ctx, settings, before.Snapshot, reconcile.Options{}, offline.Approval{All: true}); err != nil {
		return nil, err
	}
	planned, err := offline.DryRun(ctx, settings, after.Snapshot)
	return planned.Plan, err
}
