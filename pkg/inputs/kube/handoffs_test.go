package kube

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/await"
)

// TestNoGoroutineIsBetweenTheWatchAndTheInbox counts goroutine switches while a pod changes and is deleted: the one that reads the watch runs,
// and the one that waits for the inbox. An informer of client-go has three more between them.
func TestNoGoroutineIsBetweenTheWatchAndTheInbox(t *testing.T) {
	client := fake.NewClientset()
	watcher := apiwatch.NewFake()
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, apiwatch.Interface, error) { return true, watcher, nil })
	k := New(client, Options{Options: source.Options{Kinds: []string{object.KindPod}}}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	version := 1
	next := func() string { version++; return strconv.Itoa(version) }
	awaitOne := func() {
		for len(k.Changes()) == 0 {
			<-k.Wake()
		}
	}
	watcher.Add(sourcetest.Pod("a", next()))
	awaitOne()

	const rounds = 1000
	each := await.Switches(func() {
		for range rounds {
			p := sourcetest.Pod("a", next())
			p.Labels = map[string]string{"flipped": p.ResourceVersion}
			watcher.Modify(p)
			awaitOne()
			watcher.Delete(p)
			awaitOne()
			watcher.Add(p)
			awaitOne()
		}
	}) / (3 * rounds)
	t.Logf("%.2f goroutine switches for each event", each)
	require.Less(t, each, 3.5)
}
