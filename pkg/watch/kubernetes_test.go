package watch

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

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

	"github.com/netloom/netloom/pkg/object"
)

func clusterPod(name, revision string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: "u", ResourceVersion: revision,
			CreationTimestamp: metav1.Unix(1, 0),
			Labels:            map[string]string{"app": name},
			Annotations: map[string]string{
				"netloom.io/log": "info", "k8s.ovn.org/pod-networks": "{}", "ovn.kubernetes.io/ip_address": "10.0.0.1",
				"kubernetes.io/psp": "x",
			},
			OwnerReferences: []metav1.OwnerReference{{Name: "rs"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
			Finalizers:      []string{"a/b"},
		},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{Name: "v"}},
			InitContainers: []corev1.Container{
				{Name: "setup", Ports: []corev1.ContainerPort{{ContainerPort: 1}}},
				{Name: "proxy", Image: "i", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "p", ContainerPort: 2}}},
			},
			Containers: []corev1.Container{
				{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "E"}}, Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}},
			},
			NodeName: "n1", HostNetwork: true, ServiceAccountName: "sa",
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
			HostIP: "192.0.2.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady}},
		},
	}
}

func TestTrimmedPod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := clusterPod("a", "7")
	trimPod(p)
	require.Equal(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "shop", UID: "u", ResourceVersion: "7",
			Labels: map[string]string{"app": "a"},
			Annotations: map[string]string{
				"netloom.io/log": "info", "k8s.ovn.org/pod-networks": "{}", "ovn.kubernetes.io/ip_address": "10.0.0.1",
			},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{
				{Name: "proxy", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "p", ContainerPort: 2}}},
			},
			Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}}},
			NodeName:   "n1", HostNetwork: true,
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
		},
	}, p)
}

func TestTrimmedOthers(t *testing.T) {
	meta := func(namespace string, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: "a", Namespace: namespace, ResourceVersion: "7", Labels: map[string]string{"l": "v"},
			Annotations: annotations,
		}
	}
	applied := map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "x/log": "info"}
	kept := map[string]string{"x/log": "info"}
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}

	policy := &networkingv1.NetworkPolicy{ObjectMeta: meta("shop", applied)}
	policy.ManagedFields = managed
	trimPolicy(policy)
	require.Equal(t, &networkingv1.NetworkPolicy{ObjectMeta: meta("shop", kept)}, policy)

	namespace := &corev1.Namespace{
		ObjectMeta: meta("", applied), Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}},
	}
	namespace.ManagedFields = managed
	trimNamespace(namespace)
	require.Equal(t, &corev1.Namespace{ObjectMeta: meta("", kept)}, namespace)

	addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	node := &corev1.Node{
		ObjectMeta: meta("", map[string]string{"k8s.ovn.org/node-subnets": "{}", "x": "y"}),
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24"}, Taints: []corev1.Taint{{Key: "k"}}},
		Status: corev1.NodeStatus{
			Addresses: addresses, Images: []corev1.ContainerImage{{SizeBytes: 1}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}},
		},
	}
	trimNode(node)
	require.Equal(t, &corev1.Node{
		ObjectMeta: meta("", map[string]string{"k8s.ovn.org/node-subnets": "{}"}),
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24"}},
		Status:     corev1.NodeStatus{Addresses: addresses},
	}, node)
}

var (
	shopNamespace = object.Ref{Kind: KindNamespace, Name: "shop"}
	podA          = object.Ref{Kind: KindPod, Namespace: "shop", Name: "a"}
	podB          = object.Ref{Kind: KindPod, Namespace: "shop", Name: "b"}
)

func awaitDirty(t *testing.T, s Source, want ...object.Ref) {
	t.Helper()
	var got []object.Ref
	await(t, s, func() bool {
		got = append(got, s.Drain()...)
		return len(got) >= len(want)
	})
	require.Equal(t, want, got)
}

func TestKubernetesDelivers(t *testing.T) {
	client := fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, clusterPod("a", "1"),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}},
	)
	k := NewKubernetes(client, Options{}, quiet())
	require.False(t, k.Synced())
	_, found := k.Get(podA)
	require.False(t, found)
	running(t, k)
	await(t, k, k.Synced)
	require.Equal(t, []object.Ref{
		{Kind: KindNamespace, Name: "shop"},
		{Kind: KindNetworkPolicy, Namespace: "shop", Name: "web"},
		{Kind: KindNode, Name: "n1"},
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
		p := clusterPod("a", "")
		edit(p)
		_, err := pods.Update(t.Context(), p, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	// A heartbeat does not show: of the two updates and the new pod, only the pod is dirty.
	update(func(p *corev1.Pod) { p.ResourceVersion, p.Status.Conditions = "2", nil })
	_, err := pods.Create(t.Context(), clusterPod("b", "3"), metav1.CreateOptions{})
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
	client := fake.NewClientset(clusterPod("a", "1"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	k := NewKubernetes(client, Options{Kinds: []Kind{KindPod}}, quiet())
	running(t, k)
	await(t, k, k.Synced)
	require.Equal(t, []object.Ref{podA}, k.Drain())
	_, found := k.Get(object.Ref{Kind: KindNode, Name: "n1"})
	require.False(t, found)
}

func TestObjectThatWentUnseenIsDirty(t *testing.T) {
	k := NewKubernetes(fake.NewClientset(), Options{}, quiet())
	row, _ := resourceOf(KindPod)
	k.handler(&row).OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/a", Obj: clusterPod("a", "1")})
	row, _ = resourceOf(KindNamespace)
	k.handler(&row).OnDelete(cache.DeletedFinalStateUnknown{Key: "shop"})
	require.Equal(t, []object.Ref{shopNamespace, podA}, k.Drain())
}

func TestUpdatesThatMatter(t *testing.T) {
	trimmed := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := clusterPod("a", "1")
		if edit != nil {
			edit(p)
		}
		trimPod(p)
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
			k := NewKubernetes(fake.NewClientset(), Options{}, quiet())
			row, _ := resourceOf(KindPod)
			before, after := trimmed(nil), trimmed(tc.edit)
			revision := after.ResourceVersion
			k.handler(&row).OnUpdate(before, after)
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

// TestAGenerationOfAPolicyMatters although nothing else differs: what happened in between went unseen, and people wait for
// the generation to be enforced.
func TestAGenerationOfAPolicyMatters(t *testing.T) {
	row, _ := resourceOf(KindNetworkPolicy)
	k := NewKubernetes(fake.NewClientset(), Options{}, quiet())
	of := func(generation int64) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", Generation: generation}}
	}
	k.handler(&row).OnUpdate(of(1), of(1))
	require.Empty(t, k.Drain())
	k.handler(&row).OnUpdate(of(1), of(3))
	require.Len(t, k.Drain(), 1)
}

func TestRefusedResourceIsAProblemUntilItIsNot(t *testing.T) {
	client := fake.NewClientset(clusterPod("a", "1"))
	allow := make(chan struct{})
	refusing(client, "pods", func() error {
		select {
		case <-allow:
			return nil
		default:
			return forbidden("pods")
		}
	})
	k := NewKubernetes(client, Options{}, quiet())
	running(t, k)
	await(t, k, func() bool { return len(k.Problems()) == 1 })
	require.Equal(t, "pods", k.Problems()[0].Where())
	require.Contains(t, k.Problems()[0].Message, "forbidden")
	require.Equal(t, object.UnreadResource, k.Problems()[0].Unread)
	require.False(t, k.Synced(), "a kind that was never listed is not known to have no objects")

	close(allow)
	await(t, k, func() bool { return k.Synced() && len(k.Problems()) == 0 })
	_, found := k.Get(podA)
	require.True(t, found)
}

func TestLostPermissionDeletesNothing(t *testing.T) {
	client := fake.NewClientset(clusterPod("a", "1"), clusterPod("b", "1"))
	// The watch is ours, to end it when we like.
	first := apiwatch.NewFake()
	watches := make(chan struct{}, 16)
	denied := make(chan bool, 1)
	denied <- false
	deny := func(now bool) { <-denied; denied <- now }
	isDenied := func() bool { now := <-denied; denied <- now; return now }
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		if isDenied() {
			return true, nil, forbidden("pods")
		}
		select {
		case watches <- struct{}{}:
		default:
		}
		return len(watches) == 1, first, nil
	})
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return isDenied(), nil, forbidden("pods")
	})
	k := NewKubernetes(client, Options{Kinds: []Kind{KindPod}}, quiet())
	running(t, k)
	await(t, k, k.Synced)
	require.Equal(t, []object.Ref{podA, podB}, k.Drain())
	<-watches

	deny(true)
	first.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
	await(t, k, func() bool { return len(k.Problems()) == 1 })
	require.True(t, k.Synced())
	require.Empty(t, k.Drain())
	_, found := k.Get(podA)
	require.True(t, found)

	// What went meanwhile is noticed when the permission is back.
	require.NoError(t, client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "shop", "a"))
	watches <- struct{}{} // from now on the watch is the client's own
	deny(false)
	await(t, k, func() bool { return len(k.Problems()) == 0 })
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
	k := NewKubernetes(client, Options{}, quiet())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	await(t, k, func() bool { return len(k.Problems()) == 1 })
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(patience):
		require.FailNow(t, "it goes on")
	}
}
