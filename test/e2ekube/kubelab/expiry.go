//go:build e2e

package kubelab

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log" //nolint:depguard // net/http logs there
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Expiry is a way to the API server on which every watch can be made to end with 410, as with a server whose history is always too short:
// a watch that begins with the objects ends when it has had them, and one that goes on from a version at once.
type Expiry struct {
	address string

	mu    sync.Mutex
	on    bool
	ended map[string]int // watches, by the plural of what they watched
}

// NewExpiry opens such a way, on which watches do not end yet. It is closed at the end of the test.
func (l *Lab) NewExpiry() *Expiry {
	l.tb.Helper()
	pair, err := tls.LoadX509KeyPair(l.path("server.crt"), l.path("server.key"))
	if err != nil {
		l.tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.authorityCertificate())
	target, err := url.Parse(l.Config().Host)
	if err != nil {
		l.tb.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(l.tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		l.tb.Fatal(err)
	}
	e := &Expiry{address: listener.Addr().String(), ended: map[string]int{}}
	silent := log.New(io.Discard, "", 0) // clients go away
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.URL.Query().Get("watch") == "true" {
				r.Out.Header.Set("Accept", inJSON(r.In.Header.Get("Accept")))
			}
		},
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
		FlushInterval:  -1,
		ErrorLog:       silent,
		ModifyResponse: e.modify,
	}
	server := &http.Server{
		Handler: e.before(proxy), ErrorLog: silent,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	var running sync.WaitGroup
	running.Go(func() { _ = server.ServeTLS(listener, "", "") })
	l.tb.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
	return e
}

// Env is the environment variable that makes a pod use this way.
func (e *Expiry) Env() string {
	_, port, _ := net.SplitHostPort(e.address) // it is a listener's
	return "KUBERNETES_SERVICE_PORT=" + port
}

// Begin makes watches end from now on.
func (e *Expiry) Begin() { e.set(true) }

// End makes them last again.
func (e *Expiry) End() { e.set(false) }

func (e *Expiry) set(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.on = on
}

// Ended is how many watches of a resource have ended with 410.
func (e *Expiry) Ended(plural string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended[plural]
}

// expires reports whether a watch ends now, and counts it.
func (e *Expiry) expires(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.on {
		e.ended[path[strings.LastIndexByte(path, '/')+1:]]++
	}
	return e.on
}

// gone is what an API server answers to a watch from a version of which it has no history.
const gone = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}`

// before answers watches that go on from a version.
func (e *Expiry) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("watch") != "true" || q.Get("sendInitialEvents") == "true" || !e.expires(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		_, _ = io.WriteString(w, gone)
	})
}

// modify ends watches that began with the objects, and those that had begun before Begin with their next event.
func (e *Expiry) modify(r *http.Response) error {
	if r.Request.URL.Query().Get("watch") != "true" || r.StatusCode != http.StatusOK {
		return nil
	}
	from, to := io.Pipe()
	body := r.Body
	r.Body = from
	context.AfterFunc(r.Request.Context(), func() { _ = body.Close() })
	initial := r.Request.URL.Query().Get("sendInitialEvents") == "true"
	go func() {
		defer func() { _ = body.Close() }()
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadString('\n')
			if _, failed := io.WriteString(to, line); failed != nil || err != nil {
				_ = to.CloseWithError(io.EOF)
				return
			}
			initial = initial && !strings.Contains(line, metav1.InitialEventsAnnotationKey)
			if !initial && e.expires(r.Request.URL.Path) {
				_, _ = io.WriteString(to, `{"type":"ERROR","object":`+gone+"}\n")
				_ = to.Close()
				return
			}
		}
	}()
	return nil
}

// inJSON is an Accept header without other encodings.
func inJSON(accept string) string {
	var out []string
	for one := range strings.SplitSeq(accept, ",") {
		if strings.HasPrefix(strings.TrimSpace(one), "application/json") {
			out = append(out, one)
		}
	}
	if len(out) == 0 {
		return "application/json"
	}
	return strings.Join(out, ",")
}
