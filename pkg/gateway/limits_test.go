package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/test/await"
)

// TestInstancesDivideLimits has two gateways with one API of Leases.
func TestInstancesDivideLimits(t *testing.T) {
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	leases := fake.NewClientset().CoordinationV1().Leases("netloom-system")
	o := cluster("a.example", ca, server)
	o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{{
		Name: "slow", Strategy: v1alpha1.StrategyGlobalAllocate,
		TokenBucket: &v1alpha1.TokenBucket{QPS: 8, Burst: 8}, GlobalTokenBucket: &v1alpha1.TokenBucket{QPS: 10, Burst: 10},
	}}
	o.Spec.DispatchPolicies[0].FlowControlSchemaName = "slow"
	instance := func(name string) (r *rig, limit func() float64) {
		metrics := prometheus.NewRegistry()
		r = newRig(t, func(o *gateway.Options) { o.Registerer = metrics })
		r.serve(o)
		require.Contains(t, r.readyz(), "limits of all instances together are not divided")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.gateway.DivideLimits(ctx, leases, name)
		}()
		t.Cleanup(func() {
			stop()
			<-ended
		})
		await.True(t, func() bool { return value(t, metrics, "netloom_gateway_limits_divided") == 1 }, "limits are divided")
		return r, func() float64 { return value(t, metrics, "netloom_gateway_limit") }
	}
	_, limit := instance("a")
	require.InDelta(t, 8, limit(), 0, "it is alone, and has the limit of one")
	r, limit := instance("b")
	require.InDelta(t, 5, limit(), 0, "it has half of the limit of all")
	require.NotContains(t, r.readyz(), "not divided")
	client, admitted := r.client("a.example", ca.pair("alice")), 0
	for range 8 {
		if r.ask(client, http.MethodGet, "https://a.example/api/v1/pods").code == http.StatusOK {
			admitted++
		}
	}
	require.GreaterOrEqual(t, admitted, 5)

	local := o.DeepCopy()
	local.Spec.FlowControl.FlowControlSchemas[0].Strategy = v1alpha1.StrategyLocal
	r.serve(local)
	require.Zero(t, limit(), "the limit is no longer one of all instances")
}

// value returns a metric without labels, or the only one with some; 0 if there is none.
func value(t *testing.T, of prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := of.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return 0
}
