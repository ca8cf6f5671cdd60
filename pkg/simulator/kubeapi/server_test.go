package kubeapi_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/simulator/kubeapi"
	"github.com/netloom/netloom/test/await"
)

// start serves a server until the test ends, and returns it with a client.
func start(t *testing.T) (*kubeapi.Server, *kubernetes.Clientset) {
	t.Helper()
	s := kubeapi.New("secret")
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, BearerToken: "secret", QPS: -1})
	require.NoError(t, err)
	put(t, s, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	put(t, s, "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: web}}}")
	put(t, s, "{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: store, labels: {app: db}}}")
	return s, client
}

func put(t *testing.T, s *kubeapi.Server, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
	require.NoError(t, s.Put(o))
}

func TestClientsFindAndListWhatThereIs(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	_, resources, err := client.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	require.Len(t, resources, 2)
	namespaces, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "shop", namespaces.Items[0].Name)
	names := func(namespace string, opts metav1.ListOptions) (out []string) {
		t.Helper()
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), opts)
		require.NoError(t, err)
		for i := range pods.Items {
			out = append(out, pods.Items[i].Name)
		}
		return out
	}
	require.Equal(t, []string{"web", "db"}, names("", metav1.ListOptions{}))
	require.Equal(t, []string{"web"}, names("shop", metav1.ListOptions{}))
	require.Equal(t, []string{"db"}, names("", metav1.ListOptions{LabelSelector: "app in (db)"}))
	require.Equal(t, []string{"db"}, names("", metav1.ListOptions{FieldSelector: "metadata.name=db"}))
	require.Empty(t, names("none", metav1.ListOptions{}))
	pod, err := client.CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, pod.UID)

	_, err = client.CoreV1().Pods("shop").Get(t.Context(), "db", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = client.CoreV1().Secrets("shop").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=a"})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	require.True(t, apierrors.IsMethodNotSupported(client.CoreV1().Pods("shop").Delete(t.Context(), "web", metav1.DeleteOptions{})))
	strangers, err := kubernetes.NewForConfig(&rest.Config{Host: client.CoreV1().RESTClient().Get().URL().Scheme + "://" + client.CoreV1().RESTClient().Get().URL().Host, BearerToken: "guess"})
	require.NoError(t, err)
	_, err = strangers.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
}

// TestAnInformerFollows has client-go's own reflector start with initial events, and follow changes.
func TestAnInformerFollows(t *testing.T) {
	t.Parallel()
	s, client := start(t)
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Lister()
	factory.Core().V1().Pods().Informer()
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	is := func(want string) bool {
		list, err := pods.List(labels.Everything())
		require.NoError(t, err)
		got := map[string]string{}
		for _, p := range list {
			got[p.Name] = p.Labels["app"]
		}
		return fmt.Sprint(got) == want
	}
	require.True(t, is("map[db:db web:web]"))
	put(t, s, "{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: store, labels: {app: changed}}}")
	require.NoError(t, s.Delete("pods", "shop", "web"))
	await.True(t, func() bool { return is("map[db:changed]") }, "the informer has seen both changes")
	require.Error(t, s.Delete("pods", "shop", "web"))
}

// TestAWatchWithASelector has objects enter and leave what it selects.
func TestAWatchWithASelector(t *testing.T) {
	t.Parallel()
	s, client := start(t)
	list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	put(t, s, "{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: store, labels: {app: web}}}")
	put(t, s, "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: other}}}")
	put(t, s, "{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: store, labels: {app: web, more: also}}}")
	require.NoError(t, s.Delete("pods", "store", "db"))
	events, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{LabelSelector: "app=web", ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer events.Stop()
	for _, want := range []string{"ADDED db", "DELETED web", "MODIFIED db", "DELETED db"} {
		e := <-events.ResultChan()
		require.Equal(t, want, fmt.Sprint(e.Type, " ", e.Object.(*corev1.Pod).Name))
	}

	for range 1100 {
		put(t, s, "{apiVersion: v1, kind: Node, metadata: {name: node-a}}")
	}
	old, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer old.Stop()
	e := <-old.ResultChan()
	require.Equal(t, watch.Error, e.Type)
	require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(e.Object)), "%v", e.Object)
}
