package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/httpbody"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
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
	handler := d.publicHandler()
	if d.door.guard != nil {
		handler = d.Handler()
	}
	if err := d.door.serve(ctx, d.door.server(handler), listener); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// serveDebug answers requests of those who look closer until ctx ends: on a loopback address to whoever is on this machine, or
// has a port of it forwarded.
func (d *Daemon) serveDebug(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", d.opts.DebugListen)
	if err != nil {
		return fmt.Errorf("serve debugging: %w", err)
	}
	d.log.WithField("address", listener.Addr().String()).Info("serving debugging")
	door := d.door.of(listener)
	if err := door.serve(ctx, door.server(d.Handler()), listener); err != nil {
		return fmt.Errorf("serve debugging: %w", err)
	}
	return nil
}

// public answers for health and metrics.
func (d *Daemon) public() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.readyz)
	mux.Handle("GET /metrics", d.metrics.Handler(d.webhook.gatherers()...))
	return mux
}

// publicHandler answers for health and metrics, and says where the rest is.
func (d *Daemon) publicHandler() http.Handler {
	mux := d.public()
	mux.HandleFunc("/debug/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "debugging is served on the address of the setting debug-listen, or here with listen-auth", http.StatusNotFound)
	})
	return mux
}

// Handler answers for health, metrics and debugging.
func (d *Daemon) Handler() http.Handler {
	mux := d.public()
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, _ *http.Request) { d.ready(w, true) })
	mux.HandleFunc("GET /debug/snapshot", d.debugSnapshot)
	mux.HandleFunc("GET /debug/manifests", d.debugManifests)
	mux.HandleFunc("GET /debug/plan", d.debugPlan)
	mux.HandleFunc("GET /debug/problems", d.debugProblems)
	mux.HandleFunc("GET "+ApprovePath, d.listKept)
	mux.HandleFunc("POST "+ApprovePath, d.approveKept)
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

// readyz is ready without names of pods, and where not everybody may read what goes on here without the reasons.
func (d *Daemon) readyz(w http.ResponseWriter, _ *http.Request) {
	switch missing, _ := d.readiness(false); {
	case !d.opts.Serving.Kubernetes:
		d.ready(w, false)
	case len(missing) > 0:
		http.Error(w, "not ready: ask for "+readyPath+" with a token", http.StatusServiceUnavailable)
	default:
		_, _ = fmt.Fprintln(w, "ok")
	}
}

// ready lists what is missing, and then what is degraded: that may be the reason for it.
func (d *Daemon) ready(w http.ResponseWriter, names bool) {
	missing, told := d.readiness(names)
	for _, list := range [][]string{missing, told} {
		for i := range list {
			list[i] = object.Line(list[i])
		}
	}
	if len(missing) > 0 {
		http.Error(w, strings.Join(slices.Concat(missing, told), "\n"), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, strings.Join(slices.Concat([]string{"ok"}, told), "\n"))
}

// readiness says yes once every source has synced and every target has agreed with a snapshot once, or somebody else sees to
// that: then nothing is missing. What is left as it is for want of objects that cannot be read is told besides: without netloom
// it would fare no better.
func (d *Daemon) readiness(names bool) (missing, told []string) {
	problems, old := d.pipeline.Problems(), []string(nil)
	if d.pipeline.Latest() == nil {
		missing = append(missing, "the source has not synced")
		for _, problem := range problems {
			missing = append(missing, problem.Error())
		}
	} else {
		old = stale(problems)
	}
	told, lacking := d.leadership()
	missing = slices.Concat(missing, lacking, d.webhook.unready())
	return missing, slices.Concat(told, d.late(), degraded(d.pipeline.Withheld()), d.kept().Degraded(), old,
		d.opts.SDWAN.Refused.Degraded(), d.webhook.degraded(), d.policies.Degraded(), d.unprotected(names))
}

// latest answers 503 itself where there is no snapshot yet.
func (d *Daemon) latest(w http.ResponseWriter) *intent.Snapshot {
	s := d.pipeline.Latest()
	if s == nil {
		http.Error(w, "the source has not synced", http.StatusServiceUnavailable)
	}
	return s
}

func (d *Daemon) debugSnapshot(w http.ResponseWriter, r *http.Request) {
	edition := d.pipeline.Edition()
	s := d.latest(w)
	if s == nil {
		return
	}
	d.serveLarge(w, r, httpbody.Key{Name: "snapshot", Number: edition}, func(out io.Writer) error {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(query.IntentsOf(s))
	})
}

// debugManifests lists the objects that were translated, so that questions about them can be asked elsewhere.
func (d *Daemon) debugManifests(w http.ResponseWriter, r *http.Request) {
	edition := d.pipeline.Edition()
	if d.latest(w) == nil {
		return
	}
	d.serveLarge(w, r, httpbody.Key{Name: "manifests", Number: edition}, d.pipeline.WriteManifests)
}

// serveLarge answers with JSON that is made once for all who ask for the same.
func (d *Daemon) serveLarge(w http.ResponseWriter, r *http.Request, key httpbody.Key, build func(io.Writer) error) {
	w.Header().Set("Content-Type", "application/json")
	switch err := d.bodies.Serve(w, r, key, build); {
	case errors.Is(err, httpbody.ErrBusy):
		busy(w, err)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// busy asks for the same request again, later.
func busy(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", httpbody.RetryAfter)
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

func (d *Daemon) debugProblems(w http.ResponseWriter, _ *http.Request) {
	for _, p := range d.pipeline.Problems() {
		_, _ = fmt.Fprintln(w, object.Line(p.Error()))
	}
}
