package watch

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// awaitChange waits for the next changes, which are want.
func awaitChange(t *testing.T, s Source, want ...Change) {
	t.Helper()
	var got []Change
	await(t, s, func() bool {
		got = append(got, s.Changes()...)
		return len(got) >= len(want)
	})
	require.Equal(t, want, got)
}

func TestADeletedPodIsToldApartFromAMissingOne(t *testing.T) {
	client := fake.NewClientset()
	watcher := apiwatch.NewFake()
	lists := make(chan []corev1.Pod, 4)
	lists <- []corev1.Pod{*clusterPod("a", "1"), *clusterPod("b", "1"), *clusterPod("c", "1")}
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: <-lists}, nil
	})
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		return true, watcher, nil
	})
	k := NewKubernetes(client, Options{Kinds: []Kind{KindPod}}, quiet())
	running(t, k)
	await(t, k, k.Synced)
	k.Drain()

	watcher.Delete(clusterPod("a", "2"))
	awaitChange(t, k, Change{podA, true})

	lists <- []corev1.Pod{*clusterPod("c", "1")}
	before := watcher
	watcher = apiwatch.NewFake()
	before.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
	awaitChange(t, k, Change{podB, false})

	watcher.Delete(clusterPod("b", "3")) // the list was wrong: it was there until now
	awaitChange(t, k, Change{podB, true})
}

func TestNothingIsDeletedFromADirectoryButWhatIsDerived(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yaml")
	require.NoError(t, os.WriteFile(file, []byte(
		"apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"), 0o600))
	d := NewDirectory(dir, Options{}, quiet())
	require.NoError(t, d.ReadOnce())
	require.Len(t, d.Changes(), 2)
	require.NoError(t, os.Remove(file))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []Change{{shopNamespace, true}, {webService, false}}, d.Changes())
}
