package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Health serves /healthz and /readyz. The gateway is ready once synced returns true, until it stops. /readyz also lists the
// clusters that cannot be served in full: each is a matter of its own, and the others are served.
func (g *Gateway) Health(synced func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case g.stops.Load():
			http.Error(w, "not ready: the gateway is stopping", http.StatusServiceUnavailable)
		case !synced():
			http.Error(w, "not ready: the clusters have not been read", http.StatusServiceUnavailable)
		default:
			_, _ = fmt.Fprintln(w, strings.Join(append([]string{"ok"}, g.set.troubles()...), "\n"))
		}
	})
	return mux
}

// troubles describes the clusters that cannot be served in full, one line each, without their faults.
func (s *Set) troubles() []string {
	var out []string
	for name := range s.Faults() {
		out = append(out, "cluster "+name+": the newest version has faults")
	}
	for _, t := range s.all() {
		name, ready := t.cluster.Name(), 0
		endpoints := t.cluster.Endpoints()
		for _, e := range endpoints {
			if e.Ready {
				ready++
			}
		}
		if ready < len(endpoints) || ready == 0 {
			out = append(out, fmt.Sprintf("cluster %s: %d of %d API servers are ready", name, ready, len(endpoints)))
		}
		if s.Conflict(name) != "" {
			out = append(out, "cluster "+name+": host names belong to other clusters")
		}
	}
	slices.Sort(out)
	return out
}
