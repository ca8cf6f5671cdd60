package registry

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// standingEvery is how often the conditions of all clusters are compared with what their objects say.
	standingEvery = 5 * time.Second
	// standingPause is the least time between two of these writes for one cluster, whose API servers may come and go.
	standingPause = 30 * time.Second
)

// ReportStanding writes the conditions that change while a cluster is served, which of returns, until ctx ends. Instances may see
// different things, so that only one of them should do it. What was written, stays.
func (a *API) ReportStanding(ctx context.Context, of func(name string, now time.Time) []metav1.Condition) {
	ticker := time.NewTicker(standingEvery)
	defer ticker.Stop()
	written := map[string]time.Time{}
	for {
		if a.state.get().Synced {
			a.reportAll(ctx, written, of)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// reportAll compares all objects. written has when each was last written.
func (a *API) reportAll(ctx context.Context, written map[string]time.Time, of func(name string, now time.Time) []metav1.Condition) {
	now := time.Now()
	for name, at := range written {
		if now.Sub(at) >= standingPause {
			delete(written, name)
		}
	}
	for _, found := range a.informer.GetStore().List() {
		object, ok := found.(*unstructured.Unstructured)
		if !ok || ctx.Err() != nil {
			return
		}
		name := object.GetName()
		if _, recent := written[name]; recent {
			continue
		}
		wrote, err := a.report(ctx, object, of(name, now)...)
		if err != nil {
			a.log.WithField("cluster", name).WithError(err).Warn("the status of an UpstreamCluster cannot be written")
		}
		if wrote || err != nil {
			written[name] = now
		}
	}
}
