package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync"

	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve/httpbody"
)

// State is the part of netloom that health and debugging report on.
type State interface {
	// Readiness lists what is missing until netloom is ready, and what else to report. Without names no pods are named.
	Readiness(names bool) (missing, lines []string)
	// Pipeline returns the pipeline, with the newest snapshot and its problems.
	Pipeline() *pipeline.Pipeline
	// LookBeyond tells the pipeline what it does not deliver, if that is not known: see Pipeline.SetBeyond.
	LookBeyond(ctx context.Context)
	// Plan returns what would be written to the named target, or to all if target is "".
	Plan(ctx context.Context, s *intent.Snapshot, target string) (*Plans, error)
	// Rounds returns the last rounds that wrote something to each target, by its name, oldest first.
	Rounds() map[string][]reconcile.Round
	// Kept lists what is kept although it is missing from the source.
	Kept() retention.Kept
	// Approve removes what is kept, if digest is still its digest.
	Approve(digest, by string) (retention.Kept, error)
}

// Handler serves health, metrics and debugging. Make it with NewHandler.
type Handler struct {
	state    State
	metrics  http.Handler
	guarded  bool            // a Kubernetes API authorizes readers
	profiles bool            // they are part of debugging
	bodies   *httpbody.Store // large answers
	planning sync.Mutex      // held while a plan is made for a request
}

// NewHandler makes a handler. guarded: a Kubernetes API authorizes readers; profiles: they are served.
func NewHandler(state State, metrics http.Handler, guarded, profiles bool) *Handler {
	return &Handler{state: state, metrics: metrics, guarded: guarded, profiles: profiles, bodies: httpbody.New(httpbody.Options{})}
}

// mux serves health and metrics.
func (h *Handler) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.readyz)
	mux.Handle("GET /metrics", h.metrics)
	return mux
}

// Public serves health and metrics, and reports where the rest is.
func (h *Handler) Public() http.Handler {
	mux := h.mux()
	mux.HandleFunc("/debug/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "debugging is served on the address of the setting debug-listen, or here with listen-auth", http.StatusNotFound)
	})
	return mux
}

// All serves health, metrics and debugging.
func (h *Handler) All() http.Handler {
	mux := h.mux()
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, _ *http.Request) { h.ready(w, true) })
	mux.HandleFunc("GET /debug/snapshot", h.snapshot)
	mux.HandleFunc("GET /debug/manifests", h.manifests)
	mux.HandleFunc("GET /debug/plan", h.plan)
	mux.HandleFunc("GET /debug/problems", h.problems)
	mux.HandleFunc("GET /debug/rounds", h.rounds)
	mux.HandleFunc("GET "+ApprovePath, h.kept)
	mux.HandleFunc("POST "+ApprovePath, h.approve)
	if h.profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	}
	return mux
}

// readyPath reports readiness in full.
const readyPath = "/debug/ready"

// readyz reports readiness without names of pods, and without reasons if these are not public.
func (h *Handler) readyz(w http.ResponseWriter, _ *http.Request) {
	switch missing, _ := h.state.Readiness(false); {
	case !h.guarded:
		h.ready(w, false)
	case len(missing) > 0:
		http.Error(w, "not ready: for details, get "+readyPath+" with a token", http.StatusServiceUnavailable)
	default:
		_, _ = fmt.Fprintln(w, "ok")
	}
}

// ready lists what is missing, and then what is degraded, which may be the reason.
func (h *Handler) ready(w http.ResponseWriter, names bool) {
	missing, lines := h.state.Readiness(names)
	for _, list := range [][]string{missing, lines} {
		for i := range list {
			list[i] = object.Line(list[i])
		}
	}
	if len(missing) > 0 {
		http.Error(w, strings.Join(slices.Concat(missing, lines), "\n"), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, strings.Join(slices.Concat([]string{"ok"}, lines), "\n"))
}

// latest returns the newest snapshot. It responds with 503 itself while there is none.
func (h *Handler) latest(w http.ResponseWriter) *intent.Snapshot {
	s := h.state.Pipeline().Latest()
	if s == nil {
		http.Error(w, "the source has not synced", http.StatusServiceUnavailable)
	}
	return s
}

func (h *Handler) snapshot(w http.ResponseWriter, r *http.Request) {
	edition := h.state.Pipeline().Edition()
	s := h.latest(w)
	if s == nil {
		return
	}
	h.serveLarge(w, r, httpbody.Key{Name: "snapshot", Number: edition}, func(out io.Writer) error {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(intents.OfSnapshot(s))
	})
}

// manifests lists the translated objects, so that they can be examined elsewhere.
func (h *Handler) manifests(w http.ResponseWriter, r *http.Request) {
	if h.latest(w) == nil {
		return
	}
	h.state.LookBeyond(r.Context())
	edition := h.state.Pipeline().Edition()
	h.serveLarge(w, r, httpbody.Key{Name: "manifests", Number: edition}, h.state.Pipeline().WriteManifests)
}

// serveLarge responds with JSON that is computed once for all equal requests.
func (h *Handler) serveLarge(w http.ResponseWriter, r *http.Request, key httpbody.Key, build func(io.Writer) error) {
	w.Header().Set("Content-Type", "application/json")
	switch err := h.bodies.Serve(w, r, key, build); {
	case errors.Is(err, httpbody.ErrBusy):
		busy(w, err)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// busy asks the client to repeat the request later.
func busy(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", httpbody.RetryAfter)
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

func (h *Handler) problems(w http.ResponseWriter, _ *http.Request) {
	for _, p := range h.state.Pipeline().Problems() {
		_, _ = fmt.Fprintln(w, object.Line(p.Error()))
	}
}
