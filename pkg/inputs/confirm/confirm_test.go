package confirm_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// history is an API of pods with a database whose version counts changes. Like the real one, a watch leaves out everything up
// to the version that it was opened with, and nothing tells a client that the database has been restored from a copy.
type history struct {
	mu      sync.Mutex
	version int
	pods    map[string]*corev1.Pod
	pages   map[string]map[string]*corev1.Pod // what continued lists read, by version
	events  map[int]apiwatch.Event            // by version
	watches []*historyWatch
	lists   int
	expires int // every so many continued lists, one has expired; 0 is none
	expired int
	offered string        // how to continue a list that expired
	most    int           // objects that a list has at most, as if they were large; 0 is any number
	deaf    bool          // events are lost
	silent  bool          // so are bookmarks
	delay   time.Duration // of events
	refuses error         // what lists are answered with; nil answers
}

type historyWatch struct {
	after  int
	mu     sync.Mutex
	events chan apiwatch.Event // nil once it has ended
}

func (w *historyWatch) ResultChan() <-chan apiwatch.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events
}

func (w *historyWatch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events != nil {
		close(w.events)
		w.events = nil
	}
}

func (w *historyWatch) deliver(e apiwatch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events != nil {
		e.Object = e.Object.DeepCopyObject() // informers change what they are given
		w.events <- e
	}
}

func newHistory() *history {
	return &history{version: 100, pods: map[string]*corev1.Pod{}, pages: map[string]map[string]*corev1.Pod{}, events: map[int]apiwatch.Event{}}
}

// change makes the API behave in another way.
func (h *history) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// asked is how many lists there were.
func (h *history) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lists
}

// put creates or changes a pod.
func (h *history) put(names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		kind, uid := apiwatch.Modified, types.UID("")
		if was, ok := h.pods[name]; ok {
			uid = was.UID
		} else {
			kind, uid = apiwatch.Added, types.UID(fmt.Sprint("uid of ", name, " at ", h.version))
		}
		h.version++
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid, ResourceVersion: strconv.Itoa(h.version)}}
		h.pods[name] = p
		h.send(kind, p)
	}
}

// remove deletes a pod.
func (h *history) remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	p := h.pods[name].DeepCopy()
	p.ResourceVersion = strconv.Itoa(h.version)
	delete(h.pods, name)
	h.send(apiwatch.Deleted, p)
}

// send delivers an event. The lock is held.
func (h *history) send(kind apiwatch.EventType, o runtime.Object) {
	if h.deaf && kind != apiwatch.Bookmark || h.silent {
		return
	}
	event := apiwatch.Event{Type: kind, Object: o}
	if kind != apiwatch.Bookmark {
		h.events[h.version] = event
	}
	for _, w := range h.watches {
		switch {
		case h.version < w.after || h.version == w.after && kind != apiwatch.Bookmark:
		case h.delay > 0:
			time.AfterFunc(h.delay, func() { w.deliver(event) })
		default:
			w.deliver(event)
		}
	}
}

// bookmarks delivers one a minute.
func (h *history) bookmarks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Second):
		}
		h.mu.Lock()
		h.send(apiwatch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(h.version)}})
		h.mu.Unlock()
	}
}

// copied returns a function that stops the API, restores the database as it is now and starts the API.
func (h *history) copied() (restore func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	version, pods := h.version, maps.Clone(h.pods)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.version, h.pods = version, maps.Clone(pods)
		maps.DeleteFunc(h.events, func(v int, _ apiwatch.Event) bool { return v > version })
		for _, w := range h.watches {
			w.Stop()
		}
		h.watches = nil
	}
}

func (h *history) list(opts metav1.ListOptions) (*corev1.PodList, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lists++
	if h.refuses != nil {
		return nil, h.refuses
	}
	if asked, _ := strconv.Atoi(opts.ResourceVersion); asked > h.version {
		err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, h.version), 1)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		return nil, err
	}
	version, pods, after := strconv.Itoa(h.version), h.pods, ""
	if opts.Continue != "" {
		if h.expires > 0 && h.lists%h.expires == 0 && opts.Continue != h.offered {
			err := apierrors.NewResourceExpired("the list is too old")
			_, after, _ = strings.Cut(opts.Continue, " ")
			h.pages[strconv.Itoa(h.version)] = maps.Clone(h.pods)
			h.offered = strconv.Itoa(h.version) + " " + after
			h.expired++
			err.ErrStatus.Continue = h.offered
			return nil, err
		}
		n, err := fmt.Sscanf(opts.Continue, "%s %s", &version, &after)
		if err != nil || n != 2 {
			return nil, apierrors.NewBadRequest("token")
		}
		pods = h.pages[version]
	}
	out := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	keys := slices.Sorted(maps.Keys(pods))
	keys = slices.DeleteFunc(keys, func(key string) bool { return key <= after })
	n := int(opts.Limit)
	if h.most > 0 {
		n = min(n, h.most)
	}
	if n > 0 && len(keys) > n {
		left := int64(len(keys) - n)
		keys = keys[:n]
		h.pages[version] = maps.Clone(pods)
		out.RemainingItemCount, out.Continue = &left, version+" "+keys[n-1]
	}
	for _, key := range keys {
		out.Items = append(out.Items, *pods[key].DeepCopy())
	}
	return out, nil
}

func (h *history) watch(version string) *historyWatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	after, _ := strconv.Atoi(version)
	w := &historyWatch{after: after, events: make(chan apiwatch.Event, 10_000)}
	for _, v := range slices.Sorted(maps.Keys(h.events)) {
		if v > after {
			w.deliver(h.events[v])
		}
	}
	h.watches = append(h.watches, w)
	return w
}

// reader reads the pods of a history.
type reader struct {
	*kube.Source
	*history
	t    *testing.T
	logs *test.Hook
	held map[string]bool // the names of the pods that are held
	lost []string
	gone []string
}

// read runs a source of an API of these pods; it must be called in a bubble.
func read(t *testing.T, pods ...string) *reader {
	t.Helper()
	log, logs := test.NewNullLogger()
	h := newHistory()
	h.put(pods...)
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		list, err := h.list(a.(clienttesting.ListActionImpl).ListOptions)
		if err != nil {
			return true, nil, err
		}
		return true, list, nil
	})
	client.PrependWatchReactor("pods", func(a clienttesting.Action) (bool, apiwatch.Interface, error) {
		return true, h.watch(a.(clienttesting.WatchActionImpl).ListOptions.ResourceVersion), nil
	})
	r := &reader{
		Source: kube.New(client, kube.Options{Options: source.Options{Kinds: []string{object.KindPod}}}, log), history: h, t: t, logs: logs,
		held: map[string]bool{},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	go h.bookmarks(ctx)
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	r.pass(time.Second)
	require.True(t, r.Synced())
	return r
}

// pass lets time pass.
func (r *reader) pass(d time.Duration) {
	r.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	for _, c := range r.Changes() {
		_, ok := r.Get(c.Ref)
		r.held[c.Ref.Name] = ok
		if !ok {
			r.gone = append(r.gone, c.Ref.Name)
			if c.Gone == source.Lost {
				r.lost = append(r.lost, c.Ref.Name)
			}
		}
	}
}

// holds lists the names of the pods that are held.
func (r *reader) holds() []string {
	held := maps.Clone(r.held)
	maps.DeleteFunc(held, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(held))
}

// proof is that of the pods.
func (r *reader) proof() source.Proof {
	r.t.Helper()
	all := r.Proofs()
	require.Len(r.t, all, 1)
	return all[0]
}

// said returns the warnings.
func (r *reader) said() []string {
	var out []string
	for _, e := range r.logs.AllEntries() {
		if e.Level <= logrus.WarnLevel {
			out = append(out, e.Message)
		}
	}
	return out
}

func TestWhatIsHeldIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, "a", "b")
		require.Zero(t, r.proof().Confirmed, "nothing has been compared yet")
		for range 10 {
			r.pass(66 * time.Second)
			require.Less(t, time.Since(r.proof().Confirmed), 67*time.Second)
			r.put("a")
		}
		require.Empty(t, r.proof().Renewals)
		require.Empty(t, r.said())
	})
}

func TestAnAPIThatWentBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, "a", "b", "c")
		restore := r.copied()
		r.put("d", "a", "a")
		r.remove("c")
		r.pass(time.Second)
		require.Equal(t, []string{"a", "b", "d"}, r.holds())
		restore()
		r.put("e")
		r.pass(time.Second)
		require.Equal(t, []string{"a", "b", "d"}, r.holds(), "the watch delivers nothing below the version that it was opened with")

		r.pass(70 * time.Second)
		require.Equal(t, []string{"a", "b", "c", "e"}, r.holds())
		require.Equal(t, []string{"c", "d"}, r.gone)
		require.Equal(t, []string{"d"}, r.lost, "only the future that was lost had it")
		r.put("b")
		r.pass(20 * time.Second)
		require.Equal(t, map[source.RenewalCause]int{source.RenewalBack: 1}, r.proof().Renewals)
		require.Empty(t, r.proof().Fault)
		require.Equal(t, []string{"the API has gone back from version 107 to 104; reading all objects again, and keeping policies in force that it no longer has"}, r.said())

		r.remove("e")
		r.pass(80 * time.Second)
		require.Equal(t, []string{"a", "b", "c"}, r.holds(), "the new watch delivers what happens")
		require.Equal(t, []string{"d"}, r.lost)
	})
}

// TestAnAPIThatWentBackAndOn has passed the old version before anybody asks.
func TestAnAPIThatWentBackAndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, "a", "b")
		restore := r.copied()
		r.put("c", "a")
		r.pass(time.Second)
		restore()
		for range 10 {
			r.put("d")
		}
		r.pass(time.Second)
		require.Equal(t, []string{"a", "b", "c", "d"}, r.holds(), "of the other history, the watch delivers what is above the old version")
		r.pass(100 * time.Second)
		require.Equal(t, []string{"a", "b", "d"}, r.holds())
		require.Equal(t, []string{"c"}, r.lost)
		require.Equal(t, map[source.RenewalCause]int{source.RenewalBack: 1}, r.proof().Renewals)
		require.Equal(t, []string{"the API has gone back: shop/a has version 101 instead of 104, and 1 more; reading all objects again, and keeping policies in force that it no longer has"}, r.said())
		r.pass(20 * time.Second)
		require.Less(t, time.Since(r.proof().Confirmed), 67*time.Second)
	})
}

func TestAnEventThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, "a", "b")
		r.change(func() { r.deaf = true })
		r.remove("b")
		r.put("c")
		r.change(func() { r.deaf = false })
		for before := r.asked(); r.asked() == before; {
			r.pass(time.Second)
		}
		require.Equal(t, []string{"a", "b"}, r.holds(), "it may be on its way")
		r.pass(14 * time.Second) // at most 11 to the second look, and 2 until an informer lists again
		require.Equal(t, []string{"a", "c"}, r.holds())
		require.Equal(t, map[source.RenewalCause]int{source.RenewalDiffers: 1}, r.proof().Renewals)
		require.Empty(t, r.lost)
	})
}

// TestAWatchThatIsSilent is replaced: it delivered bookmarks once, and now neither these nor anything else.
func TestAWatchThatIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, "a")
		r.pass(2 * time.Minute)
		r.change(func() { r.silent = true })
		r.pass(5 * time.Minute)
		require.Equal(t, map[source.RenewalCause]int{source.RenewalSilent: 1}, r.proof().Renewals, "the new watch has promised nothing")
		r.change(func() { r.silent = false })
		r.put("b")
		r.pass(time.Second)
		require.Equal(t, []string{"a", "b"}, r.holds())
	})
}

// TestChangesOnTheirWayAreNoDifference has an API whose events take seconds, and in which something changes each second.
func TestChangesOnTheirWayAreNoDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, "a", "b", "c")
		r.change(func() { r.delay = 3 * time.Second })
		for i := range 600 {
			r.put("a", "b", fmt.Sprint("new-", i))
			if i > 5 {
				r.remove(fmt.Sprint("new-", i-5))
			}
			r.pass(time.Second)
		}
		require.Empty(t, r.proof().Renewals)
		require.Less(t, time.Since(r.proof().Confirmed), 90*time.Second)
	})
}

// TestManyObjectsAreComparedInPages finds a difference on the last page, and one that only the number of all objects shows.
func TestManyObjectsAreComparedInPages(t *testing.T) {
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("pod-%04d", i))
	}
	synctest.Test(t, func(t *testing.T) {
		r := read(t, names...)
		before := r.asked()
		r.pass(10 * time.Minute)
		require.Empty(t, r.proof().Renewals)
		require.LessOrEqual(t, r.asked()-before, 22, "two requests a minute")
		r.change(func() { r.deaf = true })
		r.put("pod-1199")
		r.change(func() { r.deaf = false })
		r.pass(7 * time.Minute) // the pages of one state, and once more
		require.Equal(t, map[source.RenewalCause]int{source.RenewalDiffers: 1}, r.proof().Renewals)
		r.change(func() { r.deaf = true })
		r.put("pod-9999")
		r.change(func() { r.deaf = false })
		r.pass(2 * time.Minute)
		require.Len(t, r.holds(), 1201)
	})
}

// TestLargeObjectsAreComparedAsSoon finds a difference among objects of which the API lists only a few at once, and asks no more than a bounded
// number of times for it.
func TestLargeObjectsAreComparedAsSoon(t *testing.T) {
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("pod-%04d", i))
	}
	for most, within := range map[int]time.Duration{100: 7 * time.Minute, 10: 18 * time.Minute} { // rounds of 500 and of 160 objects, twice
		synctest.Test(t, func(t *testing.T) {
			r := read(t, names...)
			r.change(func() { r.most = most })
			before := r.asked()
			r.pass(10 * time.Minute)
			require.Empty(t, r.proof().Renewals)
			require.LessOrEqual(t, r.asked()-before, 11*(1+min(500/most, 16)))
			r.change(func() { r.deaf = true })
			r.put("pod-1199")
			r.change(func() { r.deaf = false })
			r.pass(within)
			require.Equal(t, map[source.RenewalCause]int{source.RenewalDiffers: 1}, r.proof().Renewals)
			require.Less(t, time.Since(r.proof().Confirmed), 80*time.Second)
		})
	}
}

// TestAPageThatExpiresHalfway is compared as far as it was read, and the rest with what the API has now.
func TestAPageThatExpiresHalfway(t *testing.T) {
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("pod-%04d", i))
	}
	synctest.Test(t, func(t *testing.T) {
		r := read(t, names...)
		r.change(func() { r.most, r.expires = 100, 3 })
		r.pass(10 * time.Minute)
		require.Empty(t, r.proof().Renewals)
		require.Empty(t, r.proof().Fault)
		require.Less(t, time.Since(r.proof().Confirmed), 67*time.Second)
		r.change(func() { r.deaf = true })
		r.put("pod-1199")
		r.change(func() { r.deaf = false })
		r.pass(12 * time.Minute)
		require.Equal(t, map[source.RenewalCause]int{source.RenewalDiffers: 1}, r.proof().Renewals)
		r.change(func() { require.Greater(t, r.expired, 10) })
	})
}

func TestAnAPIThatDoesNotAnswerConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, "a")
		r.pass(70 * time.Second)
		confirmed := r.proof().Confirmed
		require.NotZero(t, confirmed)
		r.change(func() { r.refuses = apierrors.NewServiceUnavailable("being restored") })
		r.pass(5 * time.Minute)
		p := r.proof()
		require.Equal(t, confirmed, p.Confirmed)
		require.Contains(t, p.Fault, "being restored")
		require.Regexp(t, `^degraded: pods were last confirmed 5m\d+s ago: .*being restored$`, p.Degraded(time.Now(), time.Time{}))
		r.change(func() { r.refuses = nil })
		r.pass(70 * time.Second)
		require.Empty(t, r.proof().Fault)
	})
}
