package serve

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/netloom/netloom/pkg/inputs/retention"
)

// ApprovePath is where kept objects are listed, and where their removal is approved.
const ApprovePath = "/debug/approve"

// kept responds with what is kept.
func (h *Handler) kept(w http.ResponseWriter, _ *http.Request) { writeKept(w, h.state.Kept()) }

func writeKept(w http.ResponseWriter, k retention.Kept) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(k)
}

// approve approves the digest of a request. Only clients on the same machine, or in the same pod, may do so, but no web
// page in a browser there; or those that the Kubernetes API grants a post to this path.
func (h *Handler) approve(w http.ResponseWriter, r *http.Request) {
	if judged := h.guarded && !isLoopback(r); !judged && !isLocal(r) {
		http.Error(w, "only the machine, or the pod, that netloom runs on may approve: use kubectl exec", http.StatusForbidden)
		return
	}
	approved, err := h.state.Approve(r.URL.Query().Get("digest"), r.RemoteAddr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	writeKept(w, approved)
}

// isLoopback reports whether a request came from this machine.
func isLoopback(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// isLocal reports whether a request was made on this machine, and not by a web page.
func isLocal(r *http.Request) bool {
	for _, header := range []string{"Origin", "Referer", "Sec-Fetch-Site"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	if !isLoopback(r) {
		return false
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	to, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && to.IsLoopback()
}
