//go:build e2e

package e2ekube_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/await"
)

// bookmarkVersion is what may differ between the bookmarks of two watches.
var bookmarkVersion = regexp.MustCompile(`^(\{"type":"BOOKMARK",.*"resourceVersion":)"\d+"`)

// eventVersion is the version of an event's object, whose first field of that name it is.
var eventVersion = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// legWatch is a watch on a leg, as the lines of its answer.
type legWatch struct {
	header http.Header
	ended  chan struct{}
	mu     sync.Mutex
	lines  []string
}

func (w *legWatch) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines
}

// has reports whether a line contains a text.
func (w *legWatch) has(text string) bool {
	return slices.ContainsFunc(w.all(), func(line string) bool { return strings.Contains(line, text) })
}

// difference describes the first event that differs from those of another watch; "" if none does.
func (w *legWatch) difference(from *legWatch) string {
	got, want := w.all(), from.all()
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	if at == len(got) && at == len(want) {
		return ""
	}
	next := func(all []string) []string { return all[at:min(at+1, len(all))] }
	return fmt.Sprintf("%d events and %d, from %d: %.300q and %.300q", len(got), len(want), at, next(got), next(want))
}

// begin opens a watch on each leg.
func (e *equal) begin(path, query string) []*legWatch {
	e.t.Helper()
	var all []*legWatch
	for _, l := range e.legs {
		request, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, l.config.Host+path+"?watch=1&"+query, http.NoBody)
		require.NoError(e.t, err)
		request.Header = accept(asJSON)
		response, err := l.http.RoundTrip(request)
		require.NoError(e.t, err)
		require.Equal(e.t, http.StatusOK, response.StatusCode)
		w := &legWatch{header: response.Header, ended: make(chan struct{})}
		for _, name := range own {
			w.header.Del(name)
		}
		all = append(all, w)
		go func() {
			defer close(w.ended)
			defer func() { _ = response.Body.Close() }()
			for lines := bufio.NewReader(response.Body); ; {
				line, err := lines.ReadString('\n')
				w.mu.Lock()
				if line != "" {
					w.lines = append(w.lines, bookmarkVersion.ReplaceAllString(line, `$1"…"`))
				}
				if err != nil && err != io.EOF {
					w.lines = append(w.lines, err.Error())
				}
				w.mu.Unlock()
				if err != nil {
					return
				}
			}
		}()
	}
	return all
}

// follow watches a resource on each leg from a version, and goes on where it was when the watch ends, as clients do: an API server ends those
// of clients that have no processor time to read.
func (e *equal) follow(path, version string) []*legWatch {
	e.t.Helper()
	var all []*legWatch
	for _, l := range e.legs {
		w := &legWatch{}
		all = append(all, w)
		go func() {
			for at := version; at != "" && e.t.Context().Err() == nil; {
				at = w.read(e.t.Context(), l, path, at)
			}
		}()
	}
	return all
}

// read appends what happens after a version, and returns the one to go on from; empty if nothing can follow.
func (w *legWatch) read(ctx context.Context, l *leg, path, version string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.config.Host+path+"?watch=1&resourceVersion="+version, http.NoBody)
	if err != nil {
		return ""
	}
	response, err := l.http.RoundTrip(request)
	if err != nil {
		return version
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil || response.StatusCode != http.StatusOK { // an API server that is too busy says so, and another attempt is made
			return version
		}
		w.mu.Lock()
		w.lines = append(w.lines, line)
		w.mu.Unlock()
		found := eventVersion.FindStringSubmatch(line)
		if found == nil {
			return "" // an error, which the comparison shows
		}
		version = found[1]
	}
}

// end compares watches, each event an answer, after the API server has ended them.
func (e *equal) end(what string, all []*legWatch) {
	e.t.Helper()
	var want answered
	for i, w := range all {
		<-w.ended
		lines := withoutPeriodic(w.all(), strings.Contains(what, "/pods"))
		got := answered{http.StatusOK, w.header, []byte(strings.Join(lines, ""))}
		if i == 0 {
			want = got
			e.row().answers += len(w.all()) + 1
			continue
		}
		against := want
		if e.sharing(e.legs[i]) && got.header.Get(fairness[0]) == "" {
			against = e.comparable(&got, want)
		}
		if text := got.differs(against); text != "" {
			e.row().differ[i]++
			e.t.Errorf("%s: %s: %s; %d and %d events", e.legs[i].name, what, text, len(w.all()), len(all[0].all()))
		}
	}
}

// withoutPeriodic leaves out the bookmarks of each minute, which come when an API server likes. The last one stays if last is set: an API
// server sends none for a kind that has not changed since it started.
func withoutPeriodic(lines []string, last bool) []string {
	var kept []string
	for i, line := range lines {
		periodic := strings.HasPrefix(line, `{"type":"BOOKMARK"`) && !strings.Contains(line, "initial-events-end")
		if !periodic || (last && i == len(lines)-1) {
			kept = append(kept, line)
		}
	}
	return kept
}

// watches compares watches event by event: with the present objects, and while the same changes are made for all of them. All end with
// their time, two seconds after their last bookmark.
func (e *equal) watches() {
	const initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	at := e.pods().ResourceVersion
	const seconds = 20
	type query struct{ path, text string }
	var queries []query
	for _, path := range []string{"/api/v1/namespaces/fixed/pods", "/api/v1/pods"} {
		for _, selector := range []string{"", "&labelSelector=app%3Dweb", "&fieldSelector=spec.nodeName%3Dn1", "&fieldSelector=metadata.name%3Da", "&labelSelector=app%21%3Dweb"} {
			for _, version := range []string{initial, initial + "&resourceVersion=0", initial + "&resourceVersion=" + at, "resourceVersion=" + at, "resourceVersion=" + at + "&allowWatchBookmarks=true", "", "resourceVersion=0"} {
				queries = append(queries, query{path, version + selector})
			}
		}
	}
	for _, path := range []string{"/api/v1/namespaces/fixed/services", "/apis/networking.k8s.io/v1/namespaces/fixed/networkpolicies", "/api/v1/nodes", "/api/v1/namespaces", "/apis/discovery.k8s.io/v1/endpointslices", "/api/v1/namespaces/fixed/configmaps"} {
		queries = append(queries, query{path, initial})
	}
	var open [][]*legWatch
	for _, q := range queries {
		open = append(open, e.begin(q.path, q.text+fmt.Sprintf("&timeoutSeconds=%d", seconds)))
	}
	for i, q := range queries {
		for n, w := range open[i] {
			if strings.Contains(q.text, initial) {
				await.True(e.t, func() bool { return w.has("initial-events-end") }, "%s: %v begins", e.legs[n].name, q)
			}
		}
	}
	e.changes()
	for i, q := range queries {
		e.end(fmt.Sprint(q), open[i])
	}
}

// changes are one of each kind, seen through selectors too: created, in and out of a selector, deleted in steps.
func (e *equal) changes() {
	e.t.Helper()
	e.kube.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: w, namespace: fixed, labels: {app: web}, finalizers: [example.com/wait]}, spec: {nodeName: n1, containers: [{name: c, image: i}]}}`)
	pods := e.kube.Client().CoreV1().Pods("fixed")
	for _, text := range []string{`{"metadata":{"labels":{"app":"db"}}}`, `{"metadata":{"labels":{"app":"web"}}}`, `{"metadata":{"annotations":{"x":"<&>"}}}`} {
		_, err := pods.Patch(e.t.Context(), "w", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		require.NoError(e.t, err)
	}
	now := int64(0)
	require.NoError(e.t, pods.Delete(e.t.Context(), "w", metav1.DeleteOptions{GracePeriodSeconds: &now})) // waits for the finalizer
	_, err := pods.Patch(e.t.Context(), "w", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(e.t, err)
}
