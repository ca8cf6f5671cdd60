package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/query"
)

// shutdownGrace is how long requests under way may take once the daemon stops.
const shutdownGrace = 3 * time.Second

// serve answers HTTP requests until ctx ends.
func (d *Daemon) serve(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", d.opts.Listen)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	d.log.WithFields(logrus.Fields{
		"address": listener.Addr().String(), "tls": d.opts.Serving.TLS, "authentication": d.opts.Serving.Kubernetes,
	}).Info("serving health and metrics")
	if err := d.door.serve(ctx, d.door.server(d.Handler()), listener); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Handler answers for health, metrics and debugging.
func (d *Daemon) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.readyz)
	mux.HandleFunc("GET "+readyPath, d.ready)
	mux.Handle("GET /metrics", d.metrics.Handler(d.webhook.gatherers()...))
	mux.HandleFunc("GET /debug/snapshot", d.debugSnapshot)
	mux.HandleFunc("GET /debug/manifests", d.debugManifests)
	mux.HandleFunc("GET /debug/plan", d.debugPlan)
	mux.HandleFunc("GET /debug/problems", d.debugProblems)
	if d.opts.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	}
	return mux
}

// readyPath is where everything that there is to say of readiness is told to those who may know.
const readyPath = "/debug/ready"

// readyz is ready without the reasons, where not everybody may read what goes on here.
func (d *Daemon) readyz(w http.ResponseWriter, r *http.Request) {
	switch missing, _ := d.readiness(); {
	case !d.opts.Serving.Kubernetes:
		d.ready(w, r)
	case len(missing) > 0:
		http.Error(w, "not ready: ask for "+readyPath+" with a token", http.StatusServiceUnavailable)
	default:
		_, _ = fmt.Fprintln(w, "ok")
	}
}

// ready tells what is missing, and what is well and is not.
func (d *Daemon) ready(w http.ResponseWriter, _ *http.Request) {
	missing, told := d.readiness()
	if len(missing) > 0 {
		http.Error(w, strings.Join(missing, "\n"), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, strings.Join(slices.Concat([]string{"ok"}, told), "\n"))
}

// readiness says yes once every source has synced and every target has agreed with a snapshot once, or somebody else sees to
// that: then nothing is missing. What is left as it is for want of objects that cannot be read is told besides: without netloom
// it would fare no better.
func (d *Daemon) readiness() (missing, told []string) {
	problems, old := d.pipeline.Problems(), []string(nil)
	if d.pipeline.Latest() == nil {
		missing = append(missing, "the source has not synced")
		for _, problem := range problems {
			missing = append(missing, problem.Error())
		}
	} else {
		old = stale(problems)
	}
	told, lacking := d.duty()
	missing = slices.Concat(missing, lacking, d.webhook.unready())
	return missing, slices.Concat(told, degraded(d.pipeline.Withheld()), old,
		d.opts.SDWAN.refused.degraded(), d.webhook.degraded(), d.feedback.degraded())
}

// latest answers 503 itself where there is no snapshot yet.
func (d *Daemon) latest(w http.ResponseWriter) *intent.Snapshot {
	s := d.pipeline.Latest()
	if s == nil {
		http.Error(w, "the source has not synced", http.StatusServiceUnavailable)
	}
	return s
}

func (d *Daemon) debugSnapshot(w http.ResponseWriter, _ *http.Request) {
	s := d.latest(w)
	if s == nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(query.IntentsOf(s))
}

// debugManifests lists the objects that were translated, so that questions about them can be asked elsewhere.
func (d *Daemon) debugManifests(w http.ResponseWriter, _ *http.Request) {
	if d.latest(w) == nil {
		return
	}
	list, err := d.pipeline.Manifests()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(list)
}

func (d *Daemon) debugProblems(w http.ResponseWriter, _ *http.Request) {
	for _, p := range d.pipeline.Problems() {
		_, _ = fmt.Fprintln(w, p)
	}
}
