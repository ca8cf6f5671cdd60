package daemon_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// slowReader accepts nothing before it is released.
type slowReader struct {
	*httptest.ResponseRecorder
	arrived func() // called before the first byte is taken
	gate    chan struct{}
}

func (s slowReader) Write(p []byte) (int, error) {
	s.arrived()
	<-s.gate
	return s.ResponseRecorder.Write(p)
}

// counting counts how often its objects are asked for.
type counting struct {
	source.Source
	gets atomic.Int64
}

func (c *counting) Get(ref object.Ref) (runtime.Object, bool) {
	c.gets.Add(1)
	return c.Source.Get(ref)
}

// TestSlowReadersShareTheManifests asks for all objects thirty times, reads nothing, and checks that the source was asked
// for each object once.
func TestSlowReadersShareTheManifests(t *testing.T) {
	p := newPlace(t)
	opts := p.options()
	source := &counting{Source: manifest.NewDirectory(opts.Manifests, manifest.Options{}, testLog(t))}
	opts.Source = source
	r := startReady(t, opts)
	const many = 30
	source.gets.Store(0)
	gate := make(chan struct{})
	var all, sending sync.WaitGroup
	sending.Add(many)
	answers := make([]*httptest.ResponseRecorder, many)
	for i := range answers {
		answers[i] = httptest.NewRecorder()
		w := slowReader{answers[i], sync.OnceFunc(sending.Done), gate}
		all.Go(func() {
			r.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/manifests", http.NoBody))
		})
	}
	sending.Wait()
	gets := source.gets.Load()
	close(gate)
	all.Wait()
	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(answers[0].Body.Bytes(), &list))
	require.NotEmpty(t, list.Items)
	require.EqualValues(t, len(list.Items), gets)
	for _, a := range answers {
		require.Equal(t, answers[0].Body.String(), a.Body.String())
	}
	r.edit(func() { p.moveDatabase(t) })
	_, after := r.get("/debug/manifests")
	require.NotEqual(t, answers[0].Body.String(), after, "a change makes a new answer")
}

// TestTooManyRequestsAreAskedToComeAgain sends more requests than there is room for.
func TestTooManyRequestsAreAskedToComeAgain(t *testing.T) {
	r := startReady(t, newPlace(t).options())
	const many = 64
	gate := make(chan struct{})
	var all, sending sync.WaitGroup
	sending.Add(many)
	for range many {
		w := slowReader{httptest.NewRecorder(), sync.OnceFunc(sending.Done), gate}
		all.Go(func() {
			r.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/manifests", http.NoBody))
		})
	}
	sending.Wait()
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/manifests", http.NoBody))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "5", w.Header().Get("Retry-After"))
	close(gate)
	all.Wait()
	code, _ := r.get("/debug/manifests")
	require.Equal(t, http.StatusOK, code)
}

// TestNoFileNameForgesALineOfProblems uses a file whose name contains a line break and commands for a terminal.
func TestNoFileNameForgesALineOfProblems(t *testing.T) {
	p := newPlace(t)
	opts := p.options()
	name := "x\nNetworkPolicy shop\x1b[2J.yaml"
	require.NoError(t, os.WriteFile(filepath.Join(opts.Manifests, name), []byte("{"), 0o600))
	r := startReady(t, opts)
	_, text := r.get("/debug/problems")
	require.Contains(t, text, `x\nNetworkPolicy shop\x1b[2J.yaml: `)
	require.Equal(t, 1, strings.Count(text, "\n"), text)
	require.NotContains(t, text, "\x1b")
}
