package kube

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
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

func quiet() logrus.FieldLogger {
	log, _ := test.NewNullLogger()
	return log
}

var (
	shopNamespace = object.Ref{Kind: object.KindNamespace, Name: "shop"}
	podA          = object.Ref{Kind: object.KindPod, Namespace: "shop", Name: "a"}
	podB          = object.Ref{Kind: object.KindPod, Namespace: "shop", Name: "b"}
)

// row is the row of a kind.
func row(kind string) *source.Resource {
	r, _ := source.ResourceOf(kind)
	return &r
}

func awaitDirty(t *testing.T, s source.Source, want ...object.Ref) {
	t.Helper()
	var got []object.Ref
	sourcetest.Await(t, s, func() bool {
		got = append(got, s.Drain()...)
		return len(got) >= len(want)
	})
	require.Equal(t, want, got)
}

func TestKubernetesDelivers(t *testing.T) {
	client := fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, sourcetest.Pod("a", "1"),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}},
	)
	k := New(client, Options{}, quiet())
	require.False(t, k.Synced())
	_, found := k.Get(podA)
	require.False(t, found)
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []object.Ref{
		{Kind: object.KindNamespace, Name: "shop"},
		{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "web"},
		{Kind: object.KindNode, Name: "n1"},
		podA,
	}, k.Drain())
	require.Empty(t, k.Problems())
	o, found := k.Get(podA)
	require.True(t, found)
	require.Empty(t, o.(*corev1.Pod).ManagedFields, "what is kept is trimmed")
	_, found = k.Get(shopNamespace)
	require.True(t, found)

	pods := client.CoreV1().Pods("shop")
	update := func(edit func(*corev1.Pod)) {
		t.Helper()
		p := sourcetest.Pod("a", "")
		edit(p)
		_, err := pods.Update(t.Context(), p, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	// A heartbeat does not show: of the two updates and the new pod, only the pod is dirty.
	update(func(p *corev1.Pod) { p.ResourceVersion, p.Status.Conditions = "2", nil })
	_, err := pods.Create(t.Context(), sourcetest.Pod("b", "3"), metav1.CreateOptions{})
	require.NoError(t, err)
	awaitDirty(t, k, podB)

	update(func(p *corev1.Pod) { p.ResourceVersion, p.Status.PodIPs = "4", nil })
	awaitDirty(t, k, podA)
	o, _ = k.Get(podA)
	require.Empty(t, o.(*corev1.Pod).Status.PodIPs)

	require.NoError(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	awaitDirty(t, k, podA)
	_, found = k.Get(podA)
	require.False(t, found)
}

func TestKindsThatAreNotWanted(t *testing.T) {
	client := fake.NewClientset(sourcetest.Pod("a", "1"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	k := New(client, Options{Options: source.Options{Kinds: []string{object.KindPod}}}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []object.Ref{podA}, k.Drain())
	_, found := k.Get(object.Ref{Kind: object.KindNode, Name: "n1"})
	require.False(t, found)
}

func TestObjectThatWentUnseenIsDirty(t *testing.T) {
	k := New(fake.NewClientset(), Options{}, quiet())
	k.handler(row(object.KindPod)).OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/a", Obj: sourcetest.Pod("a", "1")})
	k.handler(row(object.KindNamespace)).OnDelete(cache.DeletedFinalStateUnknown{Key: "shop"})
	require.Equal(t, []object.Ref{shopNamespace, podA}, k.Drain())
}

func TestUpdatesThatMatter(t *testing.T) {
	trimmed := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := sourcetest.Pod("a", "1")
		if edit != nil {
			edit(p)
		}
		row(object.KindPod).Trim(p)
		return p
	}
	for _, tc := range []struct {
		name string
		edit func(*corev1.Pod)
		want bool
	}{
		{"the revision alone", func(p *corev1.Pod) { p.ResourceVersion = "2" }, false},
		{"conditions", func(p *corev1.Pod) { p.ResourceVersion, p.Status.Conditions = "2", nil }, false},
		{"a foreign annotation", func(p *corev1.Pod) { p.Annotations["x"] = "y" }, false},
		{"a label", func(p *corev1.Pod) { p.Labels["x"] = "y" }, true},
		{"an annotation of ours", func(p *corev1.Pod) { p.Annotations["netloom.io/log"] = "" }, true},
		{"another pod of that name", func(p *corev1.Pod) { p.UID = "w" }, true},
		{"the phase", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		{"the node", func(p *corev1.Pod) { p.Spec.NodeName = "n2" }, true},
		{"a port", func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].ContainerPort = 81 }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := New(fake.NewClientset(), Options{}, quiet())
			before, after := trimmed(nil), trimmed(tc.edit)
			revision := after.ResourceVersion
			k.handler(row(object.KindPod)).OnUpdate(before, after)
			require.Equal(t, tc.want, len(k.Drain()) == 1)
			require.Equal(t, revision, after.ResourceVersion, "shared objects stay as they are")
		})
	}
}

// refusing makes the API refuse lists and watches of a resource while *err says why.
func refusing(client *fake.Clientset, resource string, refuse func() error) {
	client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		err := refuse()
		return err != nil, nil, err
	})
	client.PrependWatchReactor(resource, func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		err := refuse()
		return err != nil, nil, err
	})
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("no role"))
}

// TestAGenerationOfAPolicyMatters although nothing else differs: what happened in between went unseen, and users wait for
// the generation to be enforced.
func TestAGenerationOfAPolicyMatters(t *testing.T) {
	k := New(fake.NewClientset(), Options{}, quiet())
	of := func(generation int64) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", Generation: generation}}
	}
	k.handler(row(object.KindNetworkPolicy)).OnUpdate(of(1), of(1))
	require.Empty(t, k.Drain())
	k.handler(row(object.KindNetworkPolicy)).OnUpdate(of(1), of(3))
	require.Len(t, k.Drain(), 1)
}

func TestRefusedResourceIsAProblemUntilItIsNot(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(sourcetest.Pod("a", "1"))
	allow := make(chan struct{})
	refusing(client, "pods", func() error {
		select {
		case <-allow:
			return nil
		default:
			return forbidden("pods")
		}
	})
	k := New(client, Options{}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 1 })
	require.Equal(t, "pods", k.Problems()[0].Where())
	require.Contains(t, k.Problems()[0].Message, "forbidden")
	require.Equal(t, object.UnreadResource, k.Problems()[0].Unread)
	require.False(t, k.Synced(), "a kind that was never listed is not known to have no objects")

	close(allow)
	sourcetest.Await(t, k, func() bool { return k.Synced() && len(k.Problems()) == 0 })
	_, found := k.Get(podA)
	require.True(t, found)
}

func TestLostPermissionDeletesNothing(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(sourcetest.Pod("a", "1"), sourcetest.Pod("b", "1"))
	// The watch is ours, to end it when we like; later ones are the client's own.
	first := apiwatch.NewFake()
	var ours atomic.Bool
	ours.Store(true)
	watches := make(chan struct{}, 16)
	denied := make(chan bool, 1)
	denied <- false
	deny := func(now bool) { <-denied; denied <- now }
	isDenied := func() bool { now := <-denied; denied <- now; return now }
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		if isDenied() {
			return true, nil, forbidden("pods")
		}
		handled := ours.Load() // before the test knows of the watch
		select {
		case watches <- struct{}{}:
		default:
		}
		return handled, first, nil
	})
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return isDenied(), nil, forbidden("pods")
	})
	k := New(client, Options{Options: source.Options{Kinds: []string{object.KindPod}}}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []object.Ref{podA, podB}, k.Drain())
	<-watches

	deny(true)
	first.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 1 })
	require.True(t, k.Synced())
	require.Empty(t, k.Drain())
	_, found := k.Get(podA)
	require.True(t, found)

	// What went meanwhile is noticed when the permission is back.
	require.NoError(t, client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "shop", "a"))
	ours.Store(false)
	deny(false)
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 0 })
	awaitDirty(t, k, podA)
	_, found = k.Get(podA)
	require.False(t, found)
	_, found = k.Get(podB)
	require.True(t, found)
}

func TestRunEndsWithItsContext(t *testing.T) {
	client := fake.NewClientset()
	refusing(client, "nodes", func() error { return forbidden("nodes") })
	ctx, cancel := context.WithCancel(t.Context())
	k := New(client, Options{}, quiet())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == 1 })
	cancel()
	require.NoError(t, <-done)
}

// awaitChange waits for the next changes, which are want.
func awaitChange(t *testing.T, s source.Source, want ...source.Change) {
	t.Helper()
	var got []source.Change
	sourcetest.Await(t, s, func() bool {
		got = append(got, s.Changes()...)
		return len(got) >= len(want)
	})
	require.Equal(t, want, got)
}

func TestADeletedPodIsDistinguishedFromAMissingOne(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	watcher := apiwatch.NewFake()
	lists := make(chan []corev1.Pod, 4)
	lists <- []corev1.Pod{*sourcetest.Pod("a", "1"), *sourcetest.Pod("b", "1"), *sourcetest.Pod("c", "1")}
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "2"}, Items: <-lists}, nil
	})
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		return true, watcher, nil
	})
	k := New(client, Options{Options: source.Options{Kinds: []string{object.KindPod}}}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	k.Drain()

	watcher.Delete(sourcetest.Pod("a", "2"))
	awaitChange(t, k, source.Change{Ref: podA, Gone: source.Deleted})

	lists <- []corev1.Pod{*sourcetest.Pod("c", "1")}
	before := watcher
	watcher = apiwatch.NewFake()
	before.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
	awaitChange(t, k, source.Change{Ref: podB, Gone: source.Missing})

	watcher.Delete(sourcetest.Pod("b", "3")) // the list was wrong: it was there until now
	awaitChange(t, k, source.Change{Ref: podB, Gone: source.Deleted})
}
