package watchcache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// api is a naive model of an API server with pods and nodes: a log of everything that ever happened, from which each answer
// is computed. It shares nothing with what it checks.
type api struct {
	mu        sync.Mutex
	version   int
	log       []change
	compacted int           // what happened up to this version is no longer told
	cut       chan struct{} // closed to end all watches
	down      bool          // refuses everything
	changed   chan struct{}
	lists     int // requests, single objects not counted
	open      int // watches
	opened    int
	lag       func() time.Duration // how long a watch is behind, for each; nil means not at all
	deaf      bool                 // events are lost, and nothing shows it
	refuses   bool                 // lists fail
	refusals  int                  // watches that could not begin, for their version was too old
}

// change is one line of the log.
type change struct {
	version   int
	ns, key   string
	app, node string
	deleted   bool
	unique    int
}

func newAPI() *api { return &api{version: 100, cut: make(chan struct{}), changed: make(chan struct{})} }

// now returns the present version.
func (a *api) now() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

// forget empties the log.
func (a *api) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = nil
}

// write records a change of a pod.
func (a *api) write(c change) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	c.version = a.version
	a.log = append(a.log, c)
	close(a.changed)
	a.changed = make(chan struct{})
	return c.version
}

// JSON returns the object as of a version, as items of lists contain it.
func (c change) JSON(version int, typed bool) string {
	opening := "{"
	if typed {
		opening = `{"kind":"Pod","apiVersion":"v1",`
	}
	return fmt.Sprintf(`%s"metadata":{"name":%q,"namespace":%q,"resourceVersion":"%d","labels":{"app":%q}},"spec":{"nodeName":%q},"status":{"unique":%d}}`,
		opening, c.key, c.ns, version, c.app, c.node, c.unique)
}

// filter is a selection, written without the selectors' own code.
type filter struct{ ns, app, notApp, node, name string }

func (f filter) query() url.Values {
	q := url.Values{}
	var ls, fs []string
	if f.app != "" {
		ls = append(ls, "app="+f.app)
	}
	if f.notApp != "" {
		ls = append(ls, "app notin ("+f.notApp+")")
	}
	if f.node != "" {
		fs = append(fs, "spec.nodeName="+f.node)
	}
	if f.name != "" {
		fs = append(fs, "metadata.name="+f.name)
	}
	if ls != nil {
		q.Set("labelSelector", strings.Join(ls, ","))
	}
	if fs != nil {
		q.Set("fieldSelector", strings.Join(fs, ","))
	}
	return q
}

func (f filter) path() string {
	if f.ns == "" {
		return "/api/v1/pods"
	}
	return "/api/v1/namespaces/" + f.ns + "/pods"
}

func (f filter) has(c *change) bool {
	return c != nil && !c.deleted && (f.ns == "" || f.ns == c.ns) && (f.app == "" || f.app == c.app) &&
		(f.notApp == "" || f.notApp != c.app) && (f.node == "" || f.node == c.node) && (f.name == "" || f.name == c.key)
}

// before returns what an object was before the i-th line.
func (a *api) before(i int) *change {
	for j := i - 1; j >= 0; j-- {
		if a.log[j].ns == a.log[i].ns && a.log[j].key == a.log[i].key {
			return &a.log[j]
		}
	}
	return nil
}

// state lists what f selects as of a version, in the order of keys.
func (a *api) state(f filter, version int) []change {
	last := map[string]change{}
	for _, c := range a.log {
		if c.version <= version {
			last[c.ns+"/"+c.key] = c
		}
	}
	var all []change
	for _, c := range last {
		if f.has(&c) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y change) int { return strings.Compare(x.ns+"/"+x.key, y.ns+"/"+y.key) })
	return all
}

// events lists what a watch of f delivers after a version and up to another, as "TYPE object".
func (a *api) events(f filter, after, until int) []string {
	var all []string
	for i := range a.log {
		c := &a.log[i]
		if c.version <= after || c.version > until {
			continue
		}
		old := a.before(i)
		switch was, is := f.has(old), f.has(c); {
		case was && is:
			all = append(all, "MODIFIED "+c.JSON(c.version, true))
		case is:
			all = append(all, "ADDED "+c.JSON(c.version, true))
		case was:
			all = append(all, "DELETED "+old.JSON(c.version, true))
		}
	}
	return all
}

// RoundTrip answers lists and watches of pods; other kinds are empty.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return nil, io.ErrUnexpectedEOF
	}
	q := r.URL.Query()
	f := filter{}
	if r.URL.Path != f.path() {
		return reply(http.StatusNotFound, `{"kind":"Status","code":404,"message":"no such kind"}`), nil
	}
	if q.Get("watch") == "true" {
		from, err := strconv.Atoi(q.Get("resourceVersion"))
		if err != nil {
			return nil, err
		}
		seconds, err := strconv.Atoi(q.Get("timeoutSeconds"))
		if err != nil {
			return nil, err
		}
		a.open++
		a.opened++
		out, in := io.Pipe()
		lag := time.Duration(0)
		if a.lag != nil {
			lag = a.lag()
		}
		go a.watch(r.Context(), in, from, time.Duration(seconds)*time.Second, lag, a.cut)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: out}, nil
	}
	if a.refuses {
		return reply(http.StatusTooManyRequests, `{"kind":"Status","code":429,"message":"busy"}`), nil
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil {
		return nil, err
	}
	if limit > 1 {
		a.lists++
	}
	version, skip := a.version, 0
	if token := q.Get("continue"); token != "" {
		if _, err := fmt.Sscanf(token, "%d+%d", &version, &skip); err != nil {
			return nil, err
		}
	}
	all := a.state(f, version)[skip:]
	next := ""
	if len(all) > limit {
		all, next = all[:limit], fmt.Sprintf("%d+%d", version, skip+limit)
	}
	items := make([]string, len(all))
	for i, c := range all {
		items[i] = c.JSON(c.version, false)
	}
	return reply(http.StatusOK, fmt.Sprintf(`{"kind":"PodList","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`,
		version, next, strings.Join(items, ","))), nil
}

func reply(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// watch writes events, bookmarks each minute, and one two seconds before the end, as an API server does.
func (a *api) watch(ctx context.Context, out *io.PipeWriter, from int, timeout, lag time.Duration, cut chan struct{}) {
	defer func() {
		a.mu.Lock()
		a.open--
		a.mu.Unlock()
	}()
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(ctx.Err()) })
	defer func() { _ = out.Close() }()
	end := time.After(timeout)
	last := time.After(timeout - 2*time.Second)
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for sent := from; ; {
		select {
		case <-time.After(lag):
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		if sent < a.compacted {
			a.refusals++
			a.mu.Unlock()
			_, _ = io.WriteString(out, `{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}`+"\n")
			return
		}
		version, changed := a.version, a.changed
		events := a.events(filter{}, sent, version)
		if a.deaf {
			events = nil
		}
		a.mu.Unlock()
		for _, e := range events {
			kind, object, _ := strings.Cut(e, " ")
			if _, err := io.WriteString(out, `{"type":"`+kind+`","object":`+object+"}\n"); err != nil {
				return
			}
		}
		sent = max(sent, version)
		select {
		case <-changed:
			continue
		case <-last:
		case <-minute.C:
		case <-cut:
			return
		case <-end:
			return
		case <-ctx.Done():
			return
		}
		_, _ = fmt.Fprintf(out, `{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"%d"}}}`+"\n", sent)
	}
}

// disconnect ends all watches, and with forget makes sure that they cannot resume.
func (a *api) disconnect(forget bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if forget {
		a.version++
		a.compacted = a.version
	}
	close(a.cut)
	a.cut = make(chan struct{})
}

// lose has the events of what f does lost.
func (a *api) lose(f func()) {
	listen := func(deaf bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deaf = deaf
	}
	listen(true)
	f()
	time.Sleep(time.Millisecond)
	synctest.Wait() // every watch has passed it
	listen(false)
}

func (a *api) refuse(lists bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuses = lists
}

func (a *api) set(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// client is a ResponseWriter that keeps what it is given. A stalled client accepts nothing and fails after the deadline.
type client struct {
	mu       sync.Mutex
	header   http.Header
	body     strings.Builder
	handled  bool
	done     chan struct{}
	stalled  bool
	pace     time.Duration // of each write
	deadline time.Time
	cancel   context.CancelFunc
}

func (c *client) Header() http.Header { return c.header }
func (c *client) WriteHeader(int)     {}
func (c *client) Flush()              {}

func (c *client) Write(b []byte) (int, error) {
	time.Sleep(c.pace)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stalled {
		deadline := c.deadline
		c.mu.Unlock()
		time.Sleep(time.Until(deadline))
		c.mu.Lock()
		return 0, io.ErrClosedPipe
	}
	return c.body.Write(b)
}

func (c *client) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *client) stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stalled = true
}

func (c *client) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.body.String()
}

// ended reports whether the answer is complete.
func (c *client) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// events returns what a watch received: "TYPE object", bookmarks and errors as "BOOKMARK version [end]" and "ERROR code".
func (c *client) events() []string {
	var all []string
	for line := range strings.Lines(c.text()) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var frame struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &frame); err != nil {
			return append(all, "no JSON: "+line)
		}
		var o struct {
			Code     int
			Metadata struct {
				ResourceVersion string
				Annotations     map[string]string
			}
		}
		if err := json.Unmarshal(frame.Object, &o); err != nil {
			return append(all, "no object: "+line)
		}
		text := string(frame.Object)
		switch frame.Type {
		case "ERROR":
			text = strconv.Itoa(o.Code)
		case "BOOKMARK":
			text = o.Metadata.ResourceVersion
			if o.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
				text += " end"
			}
		}
		all = append(all, frame.Type+" "+text)
	}
	return all
}
