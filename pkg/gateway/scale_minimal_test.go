package gateway_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var scaleMinimal = flag.String("scale.minimal", "", "serve as the proxy that this file describes; TestManyClusters starts it")

// minimalProxy is what the minimal proxy serves, and with which certificates.
type minimalProxy struct {
	CA, Cert, Key []byte
	Servers       map[string]string // URL by host name
}

// minimal returns the same clients and servers with the minimal proxy between them: net/http's, in a process of its own, with HTTP/2 on both sides,
// which authenticates nobody and decides nothing. What it adds is what another hop costs here.
func (s *scale) minimal() *scale {
	s.t.Helper()
	out := &scale{rig: &rig{t: s.t, serving: s.serving}, ca: s.ca, servers: s.servers, direct: s.direct}
	p := minimalProxy{CA: s.ca.pem(), Servers: map[string]string{}}
	p.Cert, p.Key = s.serving.issue("minimal", nil, "*.example")
	for i, server := range s.servers {
		p.Servers[s.name(i)] = server.URL
	}
	text, err := json.Marshal(p)
	require.NoError(s.t, err)
	at := filepath.Join(s.t.TempDir(), "minimal.json")
	require.NoError(s.t, os.WriteFile(at, text, 0o600))
	self, err := os.Executable()
	require.NoError(s.t, err)
	out.program, out.address = launch(s.t, self, "-test.run", "^TestMinimalProxy$", "-scale.minimal", at)
	for i := range s.servers {
		out.through = append(out.through, out.connect(i, false))
	}
	return out
}

// TestMinimalProxy serves until its process is killed, if it is asked to.
func TestMinimalProxy(t *testing.T) {
	if *scaleMinimal == "" {
		t.Skip("TestManyClusters starts it, in a process of its own")
	}
	var p minimalProxy
	text, err := os.ReadFile(*scaleMinimal)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &p))
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(p.CA))
	targets := map[string]*url.URL{}
	for host, server := range p.Servers {
		targets[host], err = url.Parse(server)
		require.NoError(t, err)
	}
	server := http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, ReadHeaderTimeout: time.Minute,
		Handler: &httputil.ReverseProxy{
			Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(targets[r.In.Host]) },
		},
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	fmt.Fprintf(os.Stderr, "{%q:%q,%q:%q}\n", "address", listener.Addr().String(), "msg", "serving clusters")
	require.ErrorIs(t, server.ServeTLS(listener, "", ""), http.ErrServerClosed)
}
