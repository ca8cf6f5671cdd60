package daemon

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/reconcile"
)

// PlanBetween returns the plan that takes a database from one state to another. The database is an embedded one with a
// logical port for every pod.
func PlanBetween(ctx context.Context, settings builtin.Settings, before, after query.State) (*backends.Plan, error) {
	embedded, err := StartEmbedded(settings.OVN.PortNames, before.Cluster)
	if err != nil {
		return nil, err
	}
	defer embedded.Close()
	settings.OVN.Endpoints = []string{embedded.Address()}
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
