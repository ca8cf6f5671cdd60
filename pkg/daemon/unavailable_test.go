package daemon_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

// service is a service of the namespace shop that is served by the pod at ip, and from some sources only.
func service(ip string) []runtime.Object {
	port, name := int32(8080), ""
	return []runtime.Object{
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"},
				Ports:                    []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
				LoadBalancerSourceRanges: []string{"192.0.2.0/24"},
			},
			Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "198.51.100.1"}}}},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "db-1", Labels: map[string]string{discoveryv1.LabelServiceName: "db"},
			},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{ip}}},
			Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		},
	}
}

// shop is a cluster with a service, one policy and pods.
func shop(objects ...runtime.Object) *fake.Clientset {
	return fake.NewClientset(append(objects, pipelinetest.Namespace("shop"),
		pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Pod("db-0", "db", "n2", "10.0.0.3"))...)
}

// TestServicesThatMayNotBeRead starts without the right to list services, which an earlier run had: policies are still
// enforced, and the rows of services stay until the right is back.
func TestServicesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	balancers := func() string { return p.server.Dump("Load_Balancer", "Load_Balancer_Group", "Logical_Switch") }
	begin := func(client *fake.Clientset) *running {
		opts := p.options()
		opts.Manifests, opts.Source = "", kube.New(client, kube.Options{}, testLog(t))
		return startReady(t, opts)
	}
	r := begin(shop(append(service("10.0.0.3"), pipelinetest.Policy("db", "web", "db"))...))
	owned := r.metric("netloom_owned_rows")
	r.stop()
	stood := balancers()
	require.Contains(t, stood, "10.96.0.1:80=10.0.0.3:8080")
	require.Contains(t, p.rows(), "spec.ingress[0]")

	client := shop(append(service("10.0.0.9"), pipelinetest.Policy("web", "db", "web"))...)
	var granted atomic.Bool
	client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		return !granted.Load(), nil, apierrors.NewForbidden(corev1.Resource("services"), "", nil)
	})
	r = begin(client)
	_, body := r.get("/readyz")
	require.Equal(t, "ok\ndegraded: Service cannot be read, so load balancers stay as they are\n", withoutConfirmed(body))
	_, problems := r.get("/debug/problems")
	require.Contains(t, problems, "services: ")
	require.Contains(t, problems, "what was written for such objects stays as it is until they can be read")
	require.InDelta(t, 1, r.metric(`netloom_source_unavailable_kinds{kind="Service"}`), 0)
	require.Contains(t, p.rows(), "netloom.io/name=web", "the new policy is written")
	require.NotContains(t, p.rows(), "netloom.io/name=db", "the old one is gone")
	require.Equal(t, stood, balancers())
	require.InDelta(t, owned, r.metric("netloom_owned_rows"), 0)
	_, plan := r.get("/debug/plan")
	require.Equal(t, "nothing to do\n", plan)

	r.edit(func() { // a plan from changes
		err := client.NetworkingV1().NetworkPolicies("shop").Delete(t.Context(), "web", metav1.DeleteOptions{})
		require.NoError(t, err)
	})
	require.NotContains(t, p.rows(), "netloom.io/name=web")
	require.Equal(t, stood, balancers())

	granted.Store(true)
	r.await("services to be read", func() bool { _, body := r.get("/readyz"); return isWell(body) })
	r.await("the load balancers to change", func() bool { return balancers() != stood })
	require.Contains(t, balancers(), "10.96.0.1:80=10.0.0.9:8080")
	_, body = r.get("/metrics")
	require.NotContains(t, body, "netloom_source_unavailable_kinds{")
}

// TestReadinessNamesWhatGrowsStale takes the right to read pods away from a daemon that has read them.
func TestReadinessNamesWhatGrowsStale(t *testing.T) {
	source := pipelinetest.New()
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web", "web", "n", "10.0.0.1"))
	source.Sync()
	d, err := daemon.New(embeddedOptions(source), testLog(t))
	require.NoError(t, err)
	r := startMade(t, d)
	r.await("ready", func() bool { _, body := r.get("/readyz"); return isWell(body) })
	source.SetProblems(object.Problem{Place: object.Place{Path: "pods"}, Message: "forbidden", Unread: object.UnreadResource}, object.Problem{Place: object.Place{Path: "a.yaml"}, Message: "not a manifest"})
	r.await("it is told", func() bool { _, body := r.get("/readyz"); return !isWell(body) })
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\ndegraded: pods can no longer be read; what was read earlier stays in force: forbidden\n", body)
	source.SetProblems()
	r.await("it is well", func() bool { _, body := r.get("/readyz"); return isWell(body) })
}

func TestReadinessNamesUnavailableKinds(t *testing.T) {
	src := pipelinetest.New()
	src.Put(pipelinetest.Namespace("shop"))
	src.SetUnavailable(object.KindEndpointSlice, "FirewallZone", "IpsecSite", object.KindService)
	src.Sync()
	d, err := daemon.New(embeddedOptions(src), testLog(t))
	require.NoError(t, err)
	r := startMade(t, d)
	r.await("ready", func() bool { code, _ := r.get("/readyz"); return code == http.StatusOK })
	_, body := r.get("/readyz")
	require.Equal(t, "ok\ndegraded: EndpointSlice, Service cannot be read, so load balancers stay as they are\n"+
		"degraded: FirewallZone, IpsecSite cannot be read, so settings of CNFs stay as they are\n", body)
}
