package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/test/await"
)

// journal serves pods of which every version is remembered.
type journal struct {
	mu      sync.Mutex
	events  []metav1.WatchEvent // of the versions 1, 2, …
	pods    map[string]*corev1.Pod
	changed chan struct{} // closed by the next change
}

func newJournal() *journal {
	return &journal{pods: map[string]*corev1.Pod{}, changed: make(chan struct{})}
}

// write makes the next change: a pod is created, changed or deleted.
func (j *journal) write() {
	j.mu.Lock()
	defer j.mu.Unlock()
	version := len(j.events) + 1
	name := fmt.Sprint("pod-", version*version%7)
	kind := "MODIFIED"
	switch {
	case j.pods[name] == nil:
		kind = "ADDED"
	case version%5 == 0:
		kind = "DELETED"
	}
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", ResourceVersion: strconv.Itoa(version)},
	}
	if j.pods[name] = pod; kind == "DELETED" {
		delete(j.pods, name)
	}
	j.events = append(j.events, eventOf(kind, pod))
	close(j.changed)
	j.changed = make(chan struct{})
}

func eventOf(kind string, pod *corev1.Pod) metav1.WatchEvent {
	e := metav1.WatchEvent{Type: kind}
	e.Object.Raw, _ = json.Marshal(pod)
	return e
}

// state returns the latest version, and the version of each pod.
func (j *journal) state() (int, map[string]string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.events), versionsOf(slices.Collect(maps.Values(j.pods)))
}

func versionsOf(pods []*corev1.Pod) map[string]string {
	out := map[string]string{}
	for _, pod := range pods {
		out[pod.Name] = pod.ResourceVersion
	}
	return out
}

// since returns what happened after a version, and what is closed when more happens.
func (j *journal) since(version int) ([]metav1.WatchEvent, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events[version:]), j.changed
}

// serve answers lists and watches, initial events included.
func (j *journal) serve(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/api/v1/pods" {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	out, q := json.NewEncoder(w), r.URL.Query()
	j.mu.Lock()
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	list.ResourceVersion = strconv.Itoa(len(j.events))
	for _, pod := range j.pods {
		list.Items = append(list.Items, *pod)
	}
	j.mu.Unlock()
	if !q.Has("watch") {
		_ = out.Encode(list)
		return true
	}
	version, _ := strconv.Atoi(q.Get("resourceVersion"))
	if q.Has("sendInitialEvents") {
		for i := range list.Items {
			_ = out.Encode(eventOf("ADDED", &list.Items[i]))
		}
		end := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
		end.ResourceVersion, end.Annotations = list.ResourceVersion, map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		_ = out.Encode(eventOf("BOOKMARK", end))
		version, _ = strconv.Atoi(list.ResourceVersion)
	}
	for {
		events, changed := j.since(version)
		for _, e := range events {
			_ = out.Encode(e)
		}
		version += len(events)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return true
		}
	}
}

// balancer sends the requests to the replicas in turn.
type balancer struct {
	mu       sync.Mutex
	replicas map[*rig]http.RoundTripper
	order    []*rig
	watched  *rig // by the last watch
}

func (b *balancer) add(r *rig, client *http.Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas[r], b.order = client.Transport, append(b.order, r)
}

func (b *balancer) remove(r *rig) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.order = slices.DeleteFunc(b.order, func(x *rig) bool { return x == r })
}

// watching returns the replica of the last watch, and another one.
func (b *balancer) watching() (watched, other *rig) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.order {
		if r != b.watched {
			other = r
		}
	}
	return b.watched, other
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	replica := b.order[0]
	b.order = append(b.order[1:], replica)
	if r.URL.Query().Has("watch") {
		b.watched = replica
	}
	transport := b.replicas[replica]
	b.mu.Unlock()
	return transport.RoundTrip(r)
}

// record is the store of a reflector, which remembers what it is told.
type record struct {
	cache.Store
	mu       sync.Mutex
	versions []int         // of events, in their order
	lists    []int         // versions of lists
	last     int           // the latest version
	changed  chan struct{} // has room for one
}

// note remembers an event, or a list, that the store has.
func (s *record) note(version string, in *[]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, _ = strconv.Atoi(version)
	*in = append(*in, s.last)
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *record) Add(object any) error {
	defer s.note(object.(*corev1.Pod).ResourceVersion, &s.versions)
	return s.Store.Add(object)
}

func (s *record) Update(object any) error {
	defer s.note(object.(*corev1.Pod).ResourceVersion, &s.versions)
	return s.Store.Update(object)
}

func (s *record) Delete(object any) error {
	defer s.note(object.(*corev1.Pod).ResourceVersion, &s.versions)
	return s.Store.Delete(object)
}

func (s *record) Replace(objects []any, version string) error {
	defer s.note(version, &s.lists)
	return s.Store.Replace(objects, version)
}

func (s *record) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// TestARollingRestartLosesNoEvent restarts the replica that a reflector watches, again and again, while pods change. A replica
// whose cache begins after the reflector's last version cannot know what happened between: the reflector lists again.
func TestARollingRestartLosesNoEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ shared, cold bool }{
		"forwarded watches":              {},
		"shared watches":                 {shared: true},
		"shared watches that begin anew": {shared: true, cold: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rollingRestart(t, tc.shared, tc.cold)
		})
	}
}

func rollingRestart(t *testing.T, shared, cold bool) {
	t.Helper()
	ca, pods := newAuthority(t), newJournal()
	pods.write()
	server := newAPIServer(t, ca)
	server.change(func() { server.may["ann pods "], server.objects = true, pods.serve })
	front := &balancer{replicas: map[*rig]http.RoundTripper{}}
	start := func() {
		r := newRig(t, func(o *gateway.Options) { o.SharedWatches = shared })
		r.serve(cluster("a.example", ca, server))
		front.add(r, r.client("a.example", ca.pair("ann")))
	}
	start()
	start()

	store := &record{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), changed: make(chan struct{}, 1)}
	until := func(what string, done func() bool) {
		t.Helper()
		await.True(t, done, "%s", what)
	}
	stop := changePods(t, pods, store)
	reflect(t, front, store)
	until("the reflector lists", func() bool { return store.seen() > 0 })
	follows := func() { // the present watch has delivered something, without which a reflector would list again after it
		t.Helper()
		version, _ := pods.state()
		until("the reflector follows", func() bool { return store.seen() > version })
	}
	for range 4 {
		follows()
		watched, other := front.watching()
		if shared && !cold {
			begun := other.listed(front.replicas[other])
			until("the cache of the other replica began before", func() bool { return store.seen() >= begun })
		}
		front.remove(watched) // as a Service does, once the replica is no longer ready
		watched.stop()
		until("another replica is watched", func() bool {
			now, _ := front.watching()
			return now == other
		})
		follows()
		start()
	}
	stop()
	last, want := pods.state()
	until("the reflector has the last version", func() bool { return store.seen() == last })
	var kept []*corev1.Pod
	for _, o := range store.List() {
		kept = append(kept, o.(*corev1.Pod))
	}
	require.Equal(t, want, versionsOf(kept))
	require.True(t, slices.IsSorted(store.versions))
	if cold {
		return
	}
	require.Len(t, store.lists, 1)
	next := store.lists[0] + 1
	for _, version := range store.versions {
		require.Equal(t, next, version, "no version is missing or told twice")
		next++
	}
}

// reflect runs a reflector until the test ends.
func reflect(t *testing.T, front http.RoundTripper, store cache.ReflectorStore) {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://a.example", Transport: front, QPS: -1})
	require.NoError(t, err)
	reflector := cache.NewReflectorWithOptions(cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", fields.Everything()),
		&corev1.Pod{}, store, cache.ReflectorOptions{Backoff: &wait.Backoff{Duration: time.Millisecond}})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { reflector.RunWithContext(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
}

// changePods changes pods until it is told to stop, and is never far ahead of a store.
func changePods(t *testing.T, pods *journal, store *record) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			for version, _ := pods.state(); version < store.seen()+16; version++ {
				pods.write()
			}
			select {
			case <-store.changed:
			case <-ctx.Done():
				return
			}
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

// listed returns a version that the cache of the replica remembers.
func (r *rig) listed(transport http.RoundTripper) int {
	r.t.Helper()
	var list corev1.PodList
	got := r.ask(&http.Client{Transport: transport}, http.MethodGet, "https://a.example/api/v1/pods?resourceVersion=0")
	require.NoError(r.t, json.Unmarshal([]byte(got.body), &list))
	version, err := strconv.Atoi(list.ResourceVersion)
	require.NoError(r.t, err)
	return version
}
