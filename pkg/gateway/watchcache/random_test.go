package watchcache_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// random sends random requests during random changes and faults, and compares every answer with the model's log.
type random struct {
	*rig
	rand    *rand.Rand
	watches []*watch
}

// watch is a watch of a client, with what the model expects of it.
type watch struct {
	*client
	filter  filter
	initial bool
	marked  bool
	asked   int // the upstream's version when the watch began
	from    int // the version in the request
	least   int // what the initial events must contain, at least

	refusals int // of the upstream to resume, before
}

func (r *random) run() {
	lags := rand.New(rand.NewSource(r.rand.Int63())) // the model's, which calls it with its lock held
	r.api.lag = func() time.Duration { return time.Duration(lags.Intn(3000)) * time.Millisecond }
	for range 80 {
		switch n := r.rand.Intn(20); {
		case n < 9:
			r.change()
		case n < 12:
			r.list()
		case n < 16:
			r.watch()
		case n < 17:
			r.api.disconnect(false)
		case n < 18 && r.rand.Intn(3) == 0:
			r.api.disconnect(true)
		default:
			time.Sleep(time.Duration(r.rand.Intn(90)) * time.Second)
		}
		if r.rand.Intn(2) == 0 {
			synctest.Wait()
		}
	}
	time.Sleep(20 * time.Minute)
	synctest.Wait()
	for _, w := range r.watches {
		r.check(w)
		w.cancel()
		w.wait()
	}
}

func (r *random) change() {
	c := change{
		ns: r.pick("a", "b", "c"), key: r.pick("x", "y", "z", "zz"), app: r.pick("web", "db"), node: r.pick("", "n1", "n2"),
		unique: r.rand.Int(),
	}
	r.api.mu.Lock()
	exists := len(r.api.state(filter{ns: c.ns, name: c.key}, r.api.version)) > 0
	r.api.mu.Unlock()
	c.deleted = exists && r.rand.Intn(3) == 0
	r.api.write(c)
	if r.rand.Intn(4) == 0 { // something of another kind
		r.api.mu.Lock()
		r.api.version++
		r.api.mu.Unlock()
	}
}

func (r *random) pick(s ...string) string { return s[r.rand.Intn(len(s))] }

func (r *random) filter() filter {
	f := filter{ns: r.pick("", "", "a", "b"), node: r.pick("", "", "n1", "n2")}
	switch r.rand.Intn(4) {
	case 0:
		f.app = "web"
	case 1:
		f.notApp = "web"
	case 2:
		f.name = "x"
	}
	return f
}

// some returns a version around the present.
func (r *random) some() int { return max(1, r.api.now()+3-r.rand.Intn(20)) }

func (r *random) list() {
	f := r.filter()
	q := f.query()
	version, exact := r.some(), false
	least := 0
	switch r.rand.Intn(4) {
	case 0:
		q.Set("resourceVersion", "0")
	case 1:
		q.Set("resourceVersion", strconv.Itoa(version))
		least = version
	case 2:
		with(q, "resourceVersion", strconv.Itoa(version), "resourceVersionMatch", "NotOlderThan")
		least = version
	case 3:
		with(q, "resourceVersion", strconv.Itoa(version), "resourceVersionMatch", "Exact")
		exact = true
	}
	limit := 0
	if r.rand.Intn(2) == 0 {
		limit = 1 + r.rand.Intn(4)
		q.Set("limit", strconv.Itoa(limit))
		exact = exact || (least > 0 && q.Get("resourceVersionMatch") == "")
	}
	if q.Get("resourceVersion") == "0" {
		limit = 0
	}
	c := r.ask(f.path(), q).wait()
	if !c.handled {
		require.Empty(r, c.text())
		return
	}
	first := r.rig.list(c)
	at, err := strconv.Atoi(first.Metadata.ResourceVersion)
	require.NoError(r, err)
	if exact {
		require.Equal(r, version, at, "%s", q)
	}
	require.GreaterOrEqual(r, at, least, "%s", q)
	r.pages(f, limit, at, first)
}

// pages follows the continue tokens of a list, while there are changes, and compares all pages with the model.
func (r *random) pages(f filter, limit, at int, page list) {
	var got, want []string
	r.api.mu.Lock()
	for _, c := range r.api.state(f, at) {
		want = append(want, c.JSON(c.version, false))
	}
	r.api.mu.Unlock()
	for {
		require.Equal(r, "PodList v1 "+strconv.Itoa(at), page.Kind+" "+page.APIVersion+" "+page.Metadata.ResourceVersion)
		for _, item := range page.Items {
			got = append(got, string(item))
		}
		if limit > 0 {
			require.LessOrEqual(r, len(page.Items), limit)
		}
		if n := page.Metadata.RemainingItemCount; n != nil {
			require.Equal(r, len(want)-len(got), *n)
			require.Positive(r, *n)
		}
		if page.Metadata.Continue == "" {
			break
		}
		require.Positive(r, limit)
		r.change()
		q := with(f.query(), "continue", page.Metadata.Continue, "limit", strconv.Itoa(limit))
		c := r.ask(f.path(), q).wait()
		if !c.handled {
			return // the history was dropped; the token is the upstream's to answer
		}
		page = r.rig.list(c)
	}
	require.Equal(r, clean(want), clean(got))
}

func (r *random) watch() {
	w := &watch{filter: r.filter()}
	r.api.mu.Lock()
	w.asked, w.refusals = r.api.version, r.api.refusals
	r.api.mu.Unlock()
	q := with(w.filter.query(), "watch", "true")
	switch r.rand.Intn(6) {
	case 0: // the present, and what follows
		w.initial, w.least = true, w.asked
	case 1:
		w.initial = true
		q.Set("resourceVersion", "0")
	case 2, 3:
		w.from = r.some()
		q.Set("resourceVersion", strconv.Itoa(w.from))
	case 4:
		w.initial, w.marked, w.least = true, true, w.asked
		q = watchList(w.filter)
	case 5:
		w.initial, w.marked, w.least = true, true, max(1, r.some())
		q = with(watchList(w.filter), "resourceVersion", strconv.Itoa(w.least))
	}
	if r.rand.Intn(2) == 0 {
		q.Set("allowWatchBookmarks", "true")
	}
	if r.rand.Intn(4) == 0 {
		q.Set("timeoutSeconds", "70")
	}
	w.client = r.slowly(time.Duration(max(0, r.rand.Intn(8)-4))*time.Second, w.filter.path(), q)
	r.watches = append(r.watches, w)
}

// check compares what a watch has received with the model.
func (r *random) check(w *watch) {
	if w.ended() && !w.handled {
		require.Empty(r, w.text())
		return
	}
	r.api.mu.Lock()
	defer r.api.mu.Unlock()
	events := w.events()
	if w.initial {
		var at int
		at, events = r.beginning(w, events)
		w.from = at
		require.GreaterOrEqual(r, at, w.least, "initial events are too old")
	}
	expired := len(events) > 0 && events[len(events)-1] == "ERROR 410"
	if expired {
		events = events[:len(events)-1]
		require.True(r, w.ended())
	}
	var got []string
	known := w.from
	for _, e := range events {
		text, isBookmark := strings.CutPrefix(e, "BOOKMARK ")
		if !isBookmark {
			got = append(got, e)
			continue
		}
		version, err := strconv.Atoi(text)
		require.NoError(r, err, e)
		require.GreaterOrEqual(r, version, known, "a bookmark goes back")
		require.Equal(r, clean(r.api.events(w.filter, w.from, version)), clean(got), "a bookmark says that nothing is missing")
		known = version
	}
	want := r.api.events(w.filter, w.from, r.api.version)
	switch {
	case expired && len(got) == 0:
	case expired:
		require.Greater(r, r.api.refusals, w.refusals, "a watch may only expire in between when the upstream could not resume")
		fallthrough
	case w.ended():
		require.LessOrEqual(r, len(got), len(want))
		require.Equal(r, clean(want[:len(got)]), clean(got))
	default:
		require.Equal(r, clean(want), clean(got))
	}
}

// beginning returns the version of the initial events of w and the events after them.
func (r *random) beginning(w *watch, events []string) (int, []string) {
	if w.marked {
		i := slices.IndexFunc(events, func(e string) bool { return strings.HasSuffix(e, " end") })
		require.GreaterOrEqual(r, i, 0, "no bookmark ends the initial events: %v", events)
		var at int
		_, err := fmt.Sscanf(events[i], "BOOKMARK %d end", &at)
		require.NoError(r, err)
		require.Equal(r, clean(added(r.api.state(w.filter, at))), clean(events[:i:i]))
		return at, events[i+1:]
	}
	// Without a bookmark, the initial events are those of some version after which the rest makes sense.
	latest := r.api.version
	if i := slices.IndexFunc(events, func(e string) bool { return strings.HasPrefix(e, "BOOKMARK ") }); i >= 0 {
		_, err := fmt.Sscanf(events[i], "BOOKMARK %d", &latest)
		require.NoError(r, err)
	}
	for at := latest; at >= 100; at-- {
		first := added(r.api.state(w.filter, at))
		if len(events) >= len(first) && slices.Equal(first, events[:len(first)]) {
			rest := slices.DeleteFunc(slices.Clone(events[len(first):]), func(e string) bool { return !strings.Contains(e, "{") })
			want := r.api.events(w.filter, at, r.api.version)
			if len(want) >= len(rest) && slices.Equal(rest, want[:len(rest)]) {
				return at, events[len(first):]
			}
		}
	}
	require.Fail(r, "initial events of no version", "%v", events)
	return 0, nil
}

// clean makes nil and empty slices the same.
func clean(s []string) []string { return append([]string{}, s...) }
