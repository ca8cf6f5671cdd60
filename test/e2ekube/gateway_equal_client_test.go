//go:build e2e

package e2ekube_test

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"

	"github.com/netloom/netloom/test/await"
)

// stores are what reflectors of client-go hold, by what they are.
type stores map[string]cache.Store

// reflect starts client-go's reflectors of the pods of a namespace on a leg: typed with protobuf and JSON, untyped, of metadata only,
// and as clients did before WatchList. All meet 410 with their first watch from a version.
func (e *equal) reflect(l *leg, namespace string) (stores, *atomic.Int64) {
	e.t.Helper()
	expired, all := &atomic.Int64{}, stores{}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	add := func(name string, of runtime.Object, list cache.ListWithContextFunc, begin cache.WatchFuncWithContext) {
		all[name] = cache.NewStore(cache.MetaNamespaceKeyFunc)
		var met atomic.Bool
		from := &cache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents == nil && !met.Swap(true) {
				o.ResourceVersion = "2" // which has been compacted
				expired.Add(1)
			}
			return begin(ctx, o)
		}}
		var through cache.ListerWatcher = from
		if name == "without WatchList" {
			through = withoutWatchList{from}
		}
		go cache.NewReflector(through, of, all[name], 0).RunWithContext(e.t.Context())
	}
	for name, kind := range map[string]string{"JSON": asJSON, "protobuf": asProtobuf, "without WatchList": asJSON} {
		config := rest.CopyConfig(l.config)
		config.AcceptContentTypes, config.ContentType = kind+","+asJSON, asJSON
		client, err := kubernetes.NewForConfig(config)
		require.NoError(e.t, err)
		of := client.CoreV1().Pods(namespace)
		add(name, &corev1.Pod{}, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, o) }, of.Watch)
	}
	untyped, err := dynamic.NewForConfig(l.config)
	require.NoError(e.t, err)
	objects := untyped.Resource(pods).Namespace(namespace)
	add("untyped", nil, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) }, objects.Watch)
	partial, err := metadata.NewForConfig(l.config)
	require.NoError(e.t, err)
	heads := partial.Resource(pods).Namespace(namespace)
	add("metadata only", nil, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return heads.List(ctx, o) }, heads.Watch)
	return all, expired
}

// awaitStores waits until stores have exactly the pods of a namespace.
func (e *equal) awaitStores(l *leg, all stores, namespace string) {
	e.t.Helper()
	list, err := e.kube.Client().CoreV1().Pods(namespace).List(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	want := map[string]string{}
	for _, p := range list.Items {
		want[p.Name] = p.ResourceVersion
	}
	for name, store := range all {
		var got map[string]string
		await.True(e.t, func() bool {
			got = map[string]string{}
			for _, o := range store.List() {
				m, err := meta.Accessor(o)
				require.NoError(e.t, err)
				got[m.GetName()] = m.GetResourceVersion()
			}
			return maps.Equal(want, got)
		}, "%s: %s has the pods of %s", l.name, name, namespace)
	}
}

// clients runs what client-go has, on an API server that has forgotten what was before its start.
func (e *equal) clients() {
	e.kube.Compact()
	e.kube.KillAPI()
	e.kube.StartAPI()
	for _, l := range e.legs {
		await.NoError(e.t, func() error {
			_, err := l.client.CoreV1().Pods("fixed").List(e.t.Context(), metav1.ListOptions{})
			return err
		}, "%s is back", l.name)
	}
	for i, l := range e.legs {
		all, expired := e.reflect(l, "fixed")
		e.awaitStores(l, all, "fixed")
		require.Positive(e.t, expired.Load(), "a reflector has met 410 and listed again")
		w, err := l.client.CoreV1().Pods("fixed").Watch(e.t.Context(), metav1.ListOptions{ResourceVersion: "2"})
		if err == nil { // the answer says it in the stream, or before
			err = apierrors.FromObject((<-w.ResultChan()).Object)
			w.Stop()
		}
		require.True(e.t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "%s: %v", l.name, err)

		pages := 0
		reader := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			pages++
			return l.client.CoreV1().Pods("fixed").List(ctx, o)
		})
		reader.PageSize = 1
		count := 0
		require.NoError(e.t, reader.EachListItem(e.t.Context(), metav1.ListOptions{}, func(runtime.Object) error { count++; return nil }))
		want := len(e.pods().Items)
		require.Equal(e.t, want, count, l.name)
		require.GreaterOrEqual(e.t, pages, want, l.name)
		if i == 0 {
			e.row().answers += len(all) + 2
		}
	}
	e.elections()
}

// elections has candidates on all legs. Each leads once, when the one before has released the Lease.
func (e *equal) elections() {
	e.t.Helper()
	leads := make(chan int)
	ctx, end := context.WithCancel(e.t.Context())
	defer end()
	var now atomic.Int32
	var stops []context.CancelFunc
	for i, l := range e.legs {
		own, stop := context.WithCancel(ctx)
		stops = append(stops, stop)
		lock := &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "fixed", Name: "leader"}, Client: l.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.name},
		}
		go leaderelection.RunOrDie(own, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					now.Add(1)
					leads <- i
					<-ctx.Done()
				},
				OnStoppedLeading: func() {},
			},
		})
	}
	seen := map[int]bool{}
	for n := range e.legs {
		i := <-leads
		require.EqualValues(e.t, n+1, now.Load(), "one leads")
		require.False(e.t, seen[i])
		seen[i] = true
		stops[i]()
	}
	e.row().answers++
}
