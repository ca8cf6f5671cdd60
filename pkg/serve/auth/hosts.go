package auth

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Hosts passes requests for the host names of this server to next, and rejects others with 421: a malicious page whose
// name resolves to this server sends its own name, not an address.
//
// With loopback only localhost and loopback addresses are accepted. Otherwise accepted are every IP address, which probes
// and scrapers use, localhost, each of names, the names below a suffix for "*.SUFFIX", and an empty name, which no
// browser sends.
func Hosts(next http.Handler, loopback bool, names []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if loopback && !isLoopback(r.Host) || !loopback && !isServed(r.Host, names) {
			http.Error(w, "this host name is not accepted: use an IP address or localhost, or add it to the setting listen-hosts", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bare is a host without its port, brackets and final dot.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// isLoopback reports whether a Host header refers to this machine.
func isLoopback(host string) bool {
	host = bare(host)
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// isServed reports whether a Host header is an address, one of names, or empty.
func isServed(host string, names []string) bool {
	host = bare(host)
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" {
		return true
	}
	for _, name := range names {
		name = strings.ToLower(name)
		if suffix, wild := strings.CutPrefix(name, "*"); wild && strings.HasSuffix(host, suffix) || host == name {
			return true
		}
	}
	return false
}
