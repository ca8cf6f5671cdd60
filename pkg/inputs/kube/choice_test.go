package kube

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

var webService = object.Ref{Kind: object.KindService, Namespace: "shop", Name: "web"}

func clusterService(revision string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", ResourceVersion: revision, CreationTimestamp: metav1.Unix(1, 0),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1", Selector: map[string]string{"app": "web"}},
	}
}

func clusterSlice(revision string, ips ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Namespace: "shop", ResourceVersion: revision,
			Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, ip := range ips {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
	}
	return s
}

// balancedCluster has a service with endpoints of both kinds.
func balancedCluster() *fake.Clientset {
	return fake.NewClientset(clusterService("1"), clusterSlice("1", "10.0.0.1"), classic("web", "1", "10.0.0.1"))
}

// asked says which of the resources of services the API was asked for.
func asked(client *fake.Clientset) map[string]bool {
	got := map[string]bool{}
	for _, a := range client.Actions() {
		switch r := a.GetResource().Resource; r {
		case "services", "endpointslices", "endpoints":
			got[r] = true
		}
	}
	return got
}

// unknown is the error of an API for what it does not serve.
func unknown() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "list", discoveryv1.Resource("endpointslices"), "", "404 page not found", 0, true)
}

// knowing makes the API say, of what it serves, that it has EndpointSlices.
func knowing(client *fake.Clientset) {
	client.Resources = append(client.Resources, &metav1.APIResourceList{GroupVersion: "discovery.k8s.io/v1"})
}

func TestServicesOfACluster(t *testing.T) {
	client := balancedCluster()
	k := New(client, Options{}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []object.Ref{sliceNamed("web-1"), webService}, k.Drain())
	require.Equal(t, map[string]bool{"services": true, "endpointslices": true}, asked(client))
	o, _ := k.Get(webService)
	require.Equal(t, []string{"10.96.0.1"}, o.(*corev1.Service).Spec.ClusterIPs)
	require.Equal(t, map[string]string{"app": "web"}, o.(*corev1.Service).Spec.Selector)
	require.Equal(t, metav1.Unix(1, 0), o.(*corev1.Service).CreationTimestamp)
	_, found := k.Get(sliceNamed("web-1"))
	require.True(t, found)
	_, found = k.Get(sliceNamed("endpoints/web/0-ipv4"))
	require.False(t, found)
	_, found = k.Get(object.Ref{Kind: object.KindEndpoints, Namespace: "shop", Name: "web"})
	require.False(t, found)

	_, err := client.DiscoveryV1().EndpointSlices("shop").Update(t.Context(), clusterSlice("2", "10.0.0.2"), metav1.UpdateOptions{})
	require.NoError(t, err)
	awaitDirty(t, k, sliceNamed("web-1"))
	require.NoError(t, client.CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	awaitDirty(t, k, webService)
	_, found = k.Get(webService)
	require.False(t, found)
}

func TestWhichEndpointsAreRead(t *testing.T) {
	refusal := func() error { return forbidden("endpointslices") }
	both := []string{"services", "endpointslices", "endpoints"}
	newer, older := []string{"services", "endpointslices"}, []string{"services", "endpoints"}
	for _, tc := range []struct {
		name   string
		opts   Options
		answer func() error // of a list of slices; nil lists them
		knows  bool         // whether discovery knows of slices
		asked  []string
		want   []object.Ref // of endpoints; nil when they cannot be read
	}{
		{name: "slices where there are any", asked: newer, want: []object.Ref{sliceNamed("web-1")}},
		{name: "Endpoints where there are none", answer: unknown, asked: both, want: []object.Ref{sliceNamed("endpoints/web/0-ipv4")}},
		{name: "Endpoints where slices are refused and not known", answer: refusal, asked: both, want: []object.Ref{sliceNamed("endpoints/web/0-ipv4")}},
		{name: "nothing where slices are known and refused", answer: refusal, knows: true, asked: newer},
		{name: "nothing where slices are asked for and not known", opts: Options{Options: source.Options{Endpoints: source.EndpointsSlices}}, answer: unknown, asked: newer},
		{name: "slices where they are asked for", opts: Options{Options: source.Options{Endpoints: source.EndpointsSlices}}, asked: newer, want: []object.Ref{sliceNamed("web-1")}},
		{name: "Endpoints where they are asked for", opts: Options{Options: source.Options{Endpoints: source.EndpointsClassic}}, asked: older, want: []object.Ref{sliceNamed("endpoints/web/0-ipv4")}},
		{name: "auto by its name", opts: Options{Options: source.Options{Endpoints: source.EndpointsAuto}}, answer: unknown, asked: both, want: []object.Ref{sliceNamed("endpoints/web/0-ipv4")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := balancedCluster()
			if tc.answer != nil {
				refusing(client, "endpointslices", tc.answer)
			}
			if tc.knows {
				knowing(client)
			}
			k := New(client, tc.opts, quiet())
			sourcetest.Run(t, k)
			sourcetest.Await(t, k, k.Synced)
			if tc.want == nil {
				require.Equal(t, []string{object.KindEndpointSlice}, k.Unavailable())
				require.Equal(t, []string{"endpointslices.discovery.k8s.io"}, places(k))
				require.Equal(t, []object.Ref{webService}, k.Drain(), "the rest is read")
			} else {
				require.Empty(t, k.Problems())
				require.Equal(t, append(tc.want, webService), k.Drain())
				o, found := k.Get(tc.want[0])
				require.True(t, found)
				require.Equal(t, "web", o.(*discoveryv1.EndpointSlice).Labels[discoveryv1.LabelServiceName])
				_, found = k.Get(object.Ref{Kind: object.KindEndpoints, Namespace: "shop", Name: "web"})
				require.False(t, found, "Endpoints are not delivered as such")
			}
			for _, r := range both {
				require.Equal(t, slices.Contains(tc.asked, r), asked(client)[r], r)
			}
		})
	}
}

// TestARefusalOutlastsTheStart: there is nothing to choose, so the kind may be refused before Run notices that.
func TestARefusalOutlastsTheStart(t *testing.T) {
	k := New(balancedCluster(), Options{Options: source.Options{Endpoints: source.EndpointsSlices}}, quiet())
	k.failed(&k.resources[object.KindEndpointSlice].Resource, unknown())
	require.True(t, k.chooseEndpoints(t.Context()))
	require.Equal(t, []string{"endpointslices.discovery.k8s.io"}, places(k))
}

func TestEndpointsOfAClusterChange(t *testing.T) {
	client := balancedCluster()
	k := New(client, Options{Options: source.Options{Endpoints: source.EndpointsClassic}}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	k.Drain()
	all := client.CoreV1().Endpoints("shop")
	_, err := all.Update(t.Context(), classic("web", "2", "10.0.0.1", "fd00::1"), metav1.UpdateOptions{})
	require.NoError(t, err)
	awaitDirty(t, k, sliceNamed("endpoints/web/0-ipv6"))
	require.NoError(t, all.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	awaitDirty(t, k, sliceNamed("endpoints/web/0-ipv4"), sliceNamed("endpoints/web/0-ipv6"))
	_, found := k.Get(sliceNamed("endpoints/web/0-ipv4"))
	require.False(t, found)
}

func TestRefusedSlicesAreReadOnceTheyAreNot(t *testing.T) {
	t.Parallel()
	client := balancedCluster()
	knowing(client)
	var allowed atomic.Bool
	refusing(client, "endpointslices", func() error {
		if allowed.Load() {
			return nil
		}
		return forbidden("endpointslices")
	})
	k := New(client, Options{}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 1 })
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []string{object.KindEndpointSlice}, k.Unavailable())
	require.Equal(t, []object.Ref{webService}, k.Drain(), "the rest is read meanwhile")
	allowed.Store(true)
	sourcetest.Await(t, k, func() bool { return len(k.Unavailable()) == 0 })
	require.True(t, k.Synced())
	require.Empty(t, k.Problems())
	require.Equal(t, []object.Ref{sliceNamed("web-1")}, k.Drain())
}

func TestEndpointsAreReadOnceSlicesAreKnownNotToBe(t *testing.T) {
	t.Parallel()
	client := balancedCluster()
	var up atomic.Bool
	refusing(client, "endpointslices", func() error {
		if up.Load() {
			return unknown()
		}
		return apierrors.NewServiceUnavailable("not now")
	})
	k := New(client, Options{}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 1 })
	up.Store(true)
	sourcetest.Await(t, k, k.Synced)
	require.Empty(t, k.Problems())
	require.Equal(t, []object.Ref{sliceNamed("endpoints/web/0-ipv4"), webService}, k.Drain())
}

func TestSourceWithoutServices(t *testing.T) {
	client := balancedCluster()
	require.NoError(t, client.Tracker().Add(sourcetest.Pod("a", "1")))
	k := New(client, Options{Options: source.Options{NoServices: true}}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []object.Ref{podA}, k.Drain())
	require.Empty(t, asked(client))
	for _, ref := range []object.Ref{webService, sliceNamed("web-1"), sliceNamed("endpoints/web/0-ipv4")} {
		_, found := k.Get(ref)
		require.False(t, found)
	}
}

func TestLostPermissionKeepsServices(t *testing.T) {
	t.Parallel()
	client := balancedCluster()
	first := apiwatch.NewFake()
	var denied atomic.Bool
	watched := make(chan struct{})
	begun := sync.OnceFunc(func() { close(watched) })
	client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		return denied.Load(), nil, forbidden("services")
	})
	client.PrependWatchReactor("services", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		if denied.Load() {
			return true, nil, forbidden("services")
		}
		begun()
		return true, first, nil
	})
	k := New(client, Options{}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	<-watched // what is listed is not watched at once
	k.Drain()

	denied.Store(true)
	first.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 1 })
	require.Equal(t, "services", k.Problems()[0].Where())
	require.True(t, k.Synced())
	require.Empty(t, k.Drain())
	_, found := k.Get(webService)
	require.True(t, found, "what was known stays")
	_, err := client.CoreV1().Pods("shop").Create(t.Context(), sourcetest.Pod("a", "2"), metav1.CreateOptions{})
	require.NoError(t, err)
	awaitDirty(t, k, podA)
}

func TestRunEndsBeforeItKnowsWhatToRead(t *testing.T) {
	client := balancedCluster()
	refusing(client, "endpointslices", func() error { return apierrors.NewServiceUnavailable("not now") })
	ctx, cancel := context.WithCancel(t.Context())
	k := New(client, Options{}, quiet())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 1 })
	cancel()
	require.NoError(t, <-done)
}

// classic are Endpoints of one subset with the addresses, as a cluster has them.
func classic(name, revision string, ips ...string) *source.Endpoints {
	e := &source.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", ResourceVersion: revision}}
	e.Subsets = slices.Grow(e.Subsets, 1)[:1]
	s := &e.Subsets[0]
	s.Ports = []corev1.EndpointPort{{Port: 80, Protocol: corev1.ProtocolTCP}}
	for _, ip := range ips {
		s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: ip})
	}
	return e
}

func sliceNamed(name string) object.Ref {
	return object.Ref{Kind: object.KindEndpointSlice, Namespace: "shop", Name: name}
}

func TestEndpointsThatChange(t *testing.T) {
	k := newAdapter()
	var dirty []object.Ref
	mark := func(refs ...object.Ref) { dirty = append(dirty, refs...) }
	handler := k.handler(mark, mark)
	marked := func(do func()) []object.Ref {
		t.Helper()
		dirty = nil
		do()
		return dirty
	}
	four, six := sliceNamed("endpoints/web/0-ipv4"), sliceNamed("endpoints/web/0-ipv6")
	both := classic("web", "1", "10.0.0.1", "fd00::1")
	require.Equal(t, []object.Ref{four, six}, marked(func() { handler.OnAdd(both, true) }))
	before, _ := k.get(six)

	leader := classic("web", "2", "10.0.0.1", "fd00::1")
	leader.Annotations = map[string]string{"control-plane.alpha.kubernetes.io/leader": "x"}
	row(object.KindEndpoints).Trim(leader)
	require.Empty(t, marked(func() { handler.OnUpdate(both, leader) }), "nothing that matters changed")

	edited := classic("web", "3", "10.0.0.2", "fd00::1")
	require.Equal(t, []object.Ref{four}, marked(func() { handler.OnUpdate(leader, edited) }))
	after, ok := k.get(six)
	require.True(t, ok)
	require.Same(t, before, after)

	single := classic("web", "4", "10.0.0.2")
	require.Equal(t, []object.Ref{six}, marked(func() { handler.OnUpdate(edited, single) }))
	_, ok = k.get(six)
	require.False(t, ok)

	require.Equal(t, []object.Ref{four}, marked(func() { handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web"}) }))
	require.Empty(t, k.slices)
	require.Empty(t, k.made)
	handler.OnAdd(both, false)
	require.Equal(t, []object.Ref{four, six}, marked(func() { handler.OnDelete(both) }))
}
