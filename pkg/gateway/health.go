package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/netloom/netloom/pkg/gateway/registry"
)

// Health serves /healthz and /readyz. The gateway is ready once its Source has synced, until it stops. /readyz also says whether
// clusters cannot be read any more, and lists those that cannot be served in full, with each API server that is not ready, and why: the others are served.
func (g *Gateway) Health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		source := g.sourceState()
		lines := []string{"ok"}
		if !readable(&source) {
			lines = append(lines, "UpstreamClusters cannot be read; their last versions are served")
		}
		if source.Proof.IsLate(time.Now(), g.began) {
			lines = append(lines, "UpstreamClusters have not been confirmed for "+source.Proof.Late.String()+"; they may have changed")
		}
		if g.set.divides() && !g.divides.Load() {
			lines = append(lines, "limits of all instances together are not divided among them; each instance has the limits of one")
		}
		switch {
		case g.stops.Load():
			http.Error(w, "not ready: the gateway is stopping", http.StatusServiceUnavailable)
		case !source.Synced:
			http.Error(w, "not ready: the clusters have not been read", http.StatusServiceUnavailable)
		default:
			_, _ = fmt.Fprintln(w, strings.Join(append(lines, g.set.troubles()...), "\n"))
		}
	})
	return mux
}

// readable reports whether all of a source can be read. What is wrong may contain names, and is in the log.
func readable(s *registry.State) bool { return s.Synced && s.Lost.IsZero() && len(s.Faults) == 0 }

// troubles describes the clusters that cannot be served in full, one line each, without their faults.
func (s *Set) troubles() []string {
	var out []string
	for name, fault := range s.Faults() {
		what := "the newest version has faults"
		if errors.Is(fault, registry.ErrDuplicate) {
			what = "it is defined more than once, and the first definition, in order of file names, is used"
		}
		out = append(out, "cluster "+name+": "+what)
	}
	for _, t := range s.all() {
		name, ready := t.cluster.Name(), 0
		endpoints := t.cluster.Endpoints()
		for _, e := range endpoints {
			if e.Ready {
				ready++
			} else {
				out = append(out, fmt.Sprintf("cluster %s: API server %s is not ready: %s", name, e.Endpoint, e.Cause.Text()))
			}
		}
		if ready < len(endpoints) || ready == 0 {
			out = append(out, fmt.Sprintf("cluster %s: %d of %d API servers are ready", name, ready, len(endpoints)))
		}
		if fault, _ := s.credentials.Fault(name); fault != nil {
			out = append(out, "cluster "+name+": the credentials that it refers to cannot be obtained")
		}
		if s.Conflict(name) != "" {
			out = append(out, "cluster "+name+": host names belong to other clusters")
		}
	}
	slices.Sort(out)
	if n := s.refused(); n > 0 {
		out = append(out, fmt.Sprintf("%d clusters are not served: older ones take all %d places", n, s.places.limit))
	}
	return out
}
