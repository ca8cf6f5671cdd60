package gateway

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// tenantOf returns the cluster that a request is for: that of its host name. If its host is an IP address that no cluster has as a name,
// it is the one that the TLS connection is for: clients such as kubectl can be given a tls-server-name beside an address. nil if there
// is none.
func (g *Gateway) tenantOf(r *http.Request) *tenant {
	t := g.set.find(r.Host)
	if t == nil && isAddress(r.Host) && r.TLS != nil && r.TLS.ServerName != "" {
		t = g.set.find(r.TLS.ServerName)
	}
	return t
}

// isAddress reports whether a host, which may have a port, is an IP address.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(bare(host), "[]"))
	return err == nil
}

// longestName is how much of a name an answer repeats: as much as a name in the DNS has at most.
const longestName = 253

// unserved refuses a request for a cluster that is not served. Of 400, 404, 421 and 503 kubectl prints a text of its own instead.
func (g *Gateway) unserved(r *http.Request) refusal {
	if !g.sourceState().Synced {
		return refusal{http.StatusServiceUnavailable, "unknown-host", "no cluster is served at the host name of this request: the clusters have not been read", soon()}
	}
	name := bare(r.Host)
	if len(name) > longestName {
		name = name[:longestName]
	}
	message := fmt.Sprintf("no cluster is served at the host name %s: the host of the server's URL must be the name of an UpstreamCluster, or one of its serverNames", name)
	if isAddress(r.Host) {
		message = fmt.Sprintf("no cluster is served at the address %s: use the name of an UpstreamCluster as the host of the server's URL, or as tls-server-name", name)
	}
	return refusal{http.StatusForbidden, "unknown-host", message, 0}
}
