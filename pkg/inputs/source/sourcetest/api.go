package sourcetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// API is an HTTP API server without objects, as far as sources need it: lists, watches, and watches that begin with a list.
// It counts watches. NewAPI makes one.
type API struct {
	URL string

	refuse func(w http.ResponseWriter, plural string) bool

	mu   sync.Mutex
	open map[string]int // watches, by plural
	most map[string]int // of them at any time
}

// NewAPI serves an API until the test ends. A request for which refuse returns true has been answered by refuse, which may
// be nil.
func NewAPI(t testing.TB, refuse func(w http.ResponseWriter, plural string) bool) *API {
	t.Helper()
	a := &API{refuse: refuse, open: map[string]int{}, most: map[string]int{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	a.URL = server.URL
	return a
}

// Watches returns the highest number of watches open at once for each resource, by its plural.
func (a *API) Watches() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.most)
}

func (a *API) count(plural string, change int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[plural] += change
	a.most[plural] = max(a.most[plural], a.open[plural])
}

// kindOf returns the kind of the objects, or of their metadata, that are served at a path.
func kindOf(r *http.Request, plural string) schema.GroupVersionKind {
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	}
	for _, known := range append(source.Resources(), source.ReviewResources()...) {
		if known.Plural == plural {
			return known.Version.WithKind(known.Kind)
		}
	}
	return schema.GroupVersionKind{}
}

// ServeHTTP answers lists and watches.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	plural := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	kind := kindOf(r, plural)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case kind.Empty():
		http.NotFound(w, r)
	case a.refuse != nil && a.refuse(w, plural):
	case r.URL.Query().Get("watch") == "":
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind + "List",
			"metadata": map[string]any{"resourceVersion": "7"}, "items": []any{},
		})
	default:
		a.count(plural, 1)
		defer a.count(plural, -1)
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
				"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": map[string]any{
					"resourceVersion": "7", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
				},
			}})
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}
