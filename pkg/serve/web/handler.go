package web

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/httpbody"
	"github.com/netloom/netloom/translator"
)

// Options configures a Handler.
type Options struct {
	Source      Source
	Feed        *Feed
	Translation translator.Options // how states are made: edited policies are translated in the same way
}

// Handler serves the page and its data.
type Handler struct {
	opts    Options
	mux     *http.ServeMux
	newest  newest
	bodies  *httpbody.Store // responses for a state
	streams atomic.Int32    // open streams of events
}

// maxBusy is how many requests compute at a time, next to the work of the daemon.
const maxBusy = 2

// New makes the handler.
func New(opts Options) *Handler {
	h := &Handler{opts: opts, mux: http.NewServeMux(), bodies: httpbody.New(httpbody.Options{Builds: maxBusy})}
	h.newest.translation = opts.Translation
	for path, asset := range loadAssets() {
		h.mux.Handle(path, asset)
	}
	var paths []string
	serve := func(path string, f http.HandlerFunc) {
		h.mux.HandleFunc(path, f)
		paths = append(paths, path)
	}
	for path, answer := range map[string]func(*http.Request, *board) (any, error){
		"overview":                             h.overview,
		"connections":                          h.connections,
		"matrix":                               h.matrix,
		"policies":                             h.policies,
		"policies/{namespace}/{name}":          h.policy,
		"cluster-policies/{kind}/{name}":       h.policy,
		"why":                                  h.why,
		"names":                                h.names,
		"search":                               h.search,
		"suggest":                              h.suggestion,
		"pods/{namespace}/{name}":              h.pod,
		"services/{namespace}/{name}":          h.service,
		"policies/{namespace}/{name}/manifest": h.manifest,
		"cluster-policies/{kind}/{name}/manifest": h.manifest,
	} {
		serve("/api/v1/"+path, h.ofState(answer))
	}
	serve("/api/v1/policies/{namespace}/{name}/rows", h.rowsOf(""))
	serve("/api/v1/cluster-policies/{kind}/{name}/rows", h.rowsOf(""))
	serve("/api/v1/services/{namespace}/{name}/rows", h.rowsOf(object.KindService))
	serve("/api/v1/targets", h.targets)
	serve("/api/v1/views", func(w http.ResponseWriter, r *http.Request) {
		send(w, r, http.StatusOK, map[string]any{"views": h.opts.Source.Views()})
	})
	serve("/api/v1/flows", h.flows)
	serve("/api/v1/connections/seen", h.seen)
	serve(pathWhatIf, h.whatIf)
	serve("/api/v1/events", h.events)
	slices.Sort(paths)
	h.mux.HandleFunc("/api/v1/{$}", func(w http.ResponseWriter, r *http.Request) {
		send(w, r, http.StatusOK, map[string]any{"paths": paths})
	})
	h.mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, fmt.Errorf("%s: %w", r.URL.Path, errNoPath))
	})
	return h
}

// policyOfContent lets the page load what this server serves, and nothing else.
const policyOfContent = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policyOfContent)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(r.URL.Path, "/api/") {
		header.Set("Cache-Control", "no-store")
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.Path != pathWhatIf {
		header.Set("Allow", "GET, HEAD")
		fail(w, r, errMethod)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// ofState responds from the newest state, unless the client already has the response.
func (h *Handler) ofState(answer func(*http.Request, *board) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		state, ok := h.opts.Source.Newest()
		if !ok {
			fail(w, r, errNotSynced)
			return
		}
		tag := fmt.Sprintf(`"%s-%d"`, h.opts.Feed.Epoch(), state.Number)
		w.Header().Set("ETag", tag)
		if matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", jsonContent)
		err := h.bodies.Serve(w, r, httpbody.Key{Name: r.URL.RequestURI(), Number: state.Number}, func(out io.Writer) error {
			data, err := answer(r, h.newest.board(state))
			if err != nil {
				return err
			}
			return encode(out, data)
		})
		if err != nil {
			w.Header().Del("ETag")
			fail(w, r, err)
		}
	}
}

func (h *Handler) targets(w http.ResponseWriter, r *http.Request) {
	list := h.opts.Source.Targets()
	for i := range list {
		if more := len(list[i].Skips) - maxSkips; more > 0 {
			list[i].Skips, list[i].MoreSkips = list[i].Skips[:maxSkips], more
		}
	}
	send(w, r, http.StatusOK, map[string]any{"targets": list})
}

// pathWhatIf is the only path that takes a text. It changes nothing either.
const pathWhatIf = "/api/v1/what-if"

// rowsOf answers with the rows of an object of a kind; "" means that the request names the kind of a policy.
func (h *Handler) rowsOf(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ref := refOf(r)
		list := h.opts.Source.Rows(r.Context(), cmp.Or(kind, ref.Kind), ref.Namespace, ref.Name)
		send(w, r, http.StatusOK, map[string]any{"targets": list})
	}
}
