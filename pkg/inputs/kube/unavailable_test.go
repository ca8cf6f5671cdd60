package kube

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

// sdwanClient is an API that has the SD-WAN kinds and these objects of them.
func sdwanClient(t *testing.T, objects ...*unstructured.Unstructured) *fake.FakeDynamicClient {
	t.Helper()
	plurals := map[string]string{}
	for _, r := range v1alpha1.Resources() {
		plurals[r.Kind] = r.Plural
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds())
	for _, o := range objects {
		gvr := v1alpha1.GroupVersion.WithResource(plurals[o.GetKind()])
		require.NoError(t, client.Tracker().Create(gvr, o, o.GetNamespace()))
	}
	return client
}

// refusal makes an API answer with an error for as long as there is one.
type refusal struct{ err atomic.Pointer[error] }

func (r *refusal) set(err error) {
	if r.err.Store(nil); err != nil {
		r.err.Store(&err)
	}
}

func (r *refusal) to(fake *clienttesting.Fake, resource string) *refusal {
	fake.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := r.err.Load(); err != nil {
			return true, nil, *err
		}
		return false, nil, nil
	})
	return r
}

func TestUnavailableKinds(t *testing.T) {
	zones := v1alpha1.GroupVersion.WithResource("firewallzones").GroupResource()
	for _, tc := range []struct {
		name     string
		resource string
		err      error
		want     []string // nil: the source waits
	}{
		{"services without the right", "services", forbidden("services"), []string{object.KindService}},
		{"slices without the right", "endpointslices", forbidden("endpointslices"), []string{object.KindEndpointSlice}},
		{"zones without the right", "firewallzones", forbidden("firewallzones"), []string{"FirewallZone"}},
		{"zones without a definition", "firewallzones", notFound(zones), []string{"FirewallZone"}},
		{"services of an API that is away", "services", errors.New("connection refused"), nil},
		{"zones of an API that is away", "firewallzones", errors.New("connection refused"), nil},
		{"policies", "networkpolicies", forbidden("networkpolicies"), nil},
		{"pods", "pods", forbidden("pods"), nil},
		{"namespaces", "namespaces", forbidden("namespaces"), nil},
		{"nodes", "nodes", forbidden("nodes"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, sdwan := kubefake.NewClientset(clusterService("1"), clusterSlice("1", "10.0.0.1")), sdwanClient(t, zone("lan", "1"))
				knowing(client)
				no := &refusal{}
				no.set(tc.err)
				no.to(&client.Fake, tc.resource).to(&sdwan.Fake, tc.resource)
				k := New(client, Options{SDWAN: sdwan}, quiet())
				sourcetest.Run(t, k)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, tc.want, k.Unavailable())
				require.Equal(t, tc.want != nil, k.Synced())
				require.Len(t, k.Problems(), 1)
				before := k.Drain()

				no.set(nil)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.True(t, k.Synced())
				require.Empty(t, k.Unavailable())
				require.Empty(t, k.Problems())
				require.Len(t, append(before, k.Drain()...), 3, "each object is reported once")
				select {
				case <-k.Wake():
				default:
					require.Fail(t, "the reader was not woken")
				}
			})
		})
	}
}

// TestUnavailableUntilAllIsDelivered checks that a kind does not become available before all its objects are delivered.
func TestUnavailableUntilAllIsDelivered(t *testing.T) {
	t.Parallel()
	client := kubefake.NewClientset(clusterService("1"))
	no := &refusal{}
	no.set(forbidden("services"))
	no.to(&client.Fake, "services")
	k := New(client, Options{}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []string{object.KindService}, k.Unavailable())
	no.set(nil)
	sourcetest.Await(t, k, func() bool { return len(k.Unavailable()) == 0 })
	require.Contains(t, k.Drain(), webService)
}

// TestARightLostLaterMakesNothingUnavailable checks that what was read once stays.
func TestARightLostLaterMakesNothingUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdwan := sdwanClient(t, zone("lan", "1"))
		k := New(kubefake.NewClientset(), Options{SDWAN: sdwan}, quiet())
		sourcetest.Run(t, k)
		synctest.Wait()
		require.True(t, k.Synced())
		require.NotEmpty(t, k.Drain())
		r := k.resources["FirewallZone"]
		k.failed(&r.Resource, forbidden("firewallzones"))
		require.Empty(t, k.Unavailable())
		require.True(t, k.Synced())
		require.Len(t, k.Problems(), 1)
		_, known := k.Get(object.Ref{Kind: "FirewallZone", Namespace: "shop", Name: "lan"})
		require.True(t, known)
	})
}
