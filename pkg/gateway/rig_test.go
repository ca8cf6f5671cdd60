package gateway_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/test/await"
)

// authority is a CA.
type authority struct {
	t      *testing.T
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64 // of the last certificate
	usages []x509.ExtKeyUsage
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	a.cert, a.key = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	return a
}

// validFor replaces the CA with one that is valid for another time than an hour.
func (a *authority) validFor(d time.Duration) {
	a.t.Helper()
	template := *a.cert
	template.NotAfter = time.Now().Add(d)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &a.key.PublicKey, a.key)
	require.NoError(a.t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(a.t, err)
}

func (a *authority) sign(template, parent *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	a.serial++
	template.SerialNumber, template.NotAfter = big.NewInt(a.serial), time.Now().Add(time.Hour)
	signer := a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert, key
}

// pem returns the CA certificate.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue returns a certificate and its key, for a user with groups, or for a server with names.
func (a *authority) issue(user string, groups []string, names ...string) (cert, key []byte) {
	a.t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: a.usages,
	}
	signed, private := a.sign(template, a.cert)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func (a *authority) pair(user string, groups ...string) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.issue(user, groups))
	require.NoError(a.t, err)
	return pair
}

// seen is a request as an API server got it.
type seen struct {
	Method, URI, Proto string
	Header, Trailer    http.Header
	Body               int64
}

// apiServer answers as an API server would: reviews, echoes of requests, watches and upgrades.
type apiServer struct {
	*httptest.Server
	mu      sync.Mutex
	users   map[string]string // by token
	may     map[string]bool   // "user resource name", to be impersonated
	reviews int
	last    *seen
	count   int
	events  chan string                                       // of watches
	token   string                                            // of the gateway
	tokens  []string                                          // others of it
	objects func(w http.ResponseWriter, r *http.Request) bool // answers a request, or not
}

func newAPIServer(t *testing.T, a *authority) *apiServer {
	t.Helper()
	s := &apiServer{users: map[string]string{}, may: map[string]bool{}, events: make(chan string), token: "gateway"}
	s.Server = httptest.NewUnstartedServer(s)
	pair, err := tls.X509KeyPair(a.issue("server", nil))
	require.NoError(t, err)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *apiServer) request() *seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// total counts the requests that were forwarded.
func (s *apiServer) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *apiServer) reviewed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reviews
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	authorized, objects := sent != "" && (sent == s.token || slices.Contains(s.tokens, sent)), s.objects
	s.mu.Unlock()
	switch {
	case !authorized:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/readyz":
	case objects != nil && objects(w, r):
	case strings.HasSuffix(r.URL.Path, "reviews"):
		s.review(w, r)
	case r.Header.Get("Upgrade") != "":
		s.note(r, 0)
		s.upgrade(w, r)
	case r.URL.Query().Get("watch") != "":
		s.note(r, 0)
		w.WriteHeader(http.StatusOK)
		s.watch(w, r)
	default:
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		s.note(r, n)
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		w.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		_, _ = fmt.Fprint(w, "answer")
	}
}

func (s *apiServer) note(r *http.Request, body int64) {
	s.change(func() {
		s.count++
		s.last = &seen{r.Method, r.RequestURI, r.Proto, r.Header.Clone(), r.Trailer.Clone(), body}
	})
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case event := <-s.events:
			_, _ = io.WriteString(w, event)
			_ = flush.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// upgrade echoes lines.
func (*apiServer) upgrade(w http.ResponseWriter, r *http.Request) {
	conn, stream, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // it is a test's
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
	for {
		line, err := stream.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, line)
	}
}

func (s *apiServer) review(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reviews++
	switch o := object.(type) {
	case *authenticationv1.TokenReview:
		o.APIVersion, o.Kind = "authentication.k8s.io/v1", "TokenReview"
		o.Status.User.Username = s.users[o.Spec.Token]
		o.Status.Authenticated = o.Status.User.Username != ""
	case *authorizationv1.SubjectAccessReview:
		o.APIVersion, o.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
		a := o.Spec.ResourceAttributes
		o.Status.Allowed = a != nil && s.may[o.Spec.User+" "+a.Resource+" "+a.Name]
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object)
}

// rig is a gateway with clusters behind it.
type rig struct {
	t       *testing.T
	gateway *gateway.Gateway
	address string
	serving *authority // of the gateway's certificates
	stop    context.CancelFunc
	stopped chan error
}

func newRig(t *testing.T, change func(o *gateway.Options)) *rig {
	t.Helper()
	log, _ := logtest.NewNullLogger()
	r := &rig{t: t, serving: newAuthority(t), stopped: make(chan error, 1)}
	pair, err := tls.X509KeyPair(r.serving.issue("gateway", nil, "*.example", "a.example"))
	require.NoError(t, err)
	opts := gateway.Options{
		Log: log, Certificate: func() (*tls.Certificate, error) { return &pair, nil },
		Probe: upstream.Probe{Interval: 20 * time.Millisecond, Retry: 10 * time.Millisecond, Timeout: time.Hour, Silence: time.Hour},
	}
	if change != nil {
		change(&opts)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	r.gateway = gateway.New(context.WithoutCancel(ctx), opts)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.address = listener.Addr().String()
	go func() {
		r.stopped <- r.gateway.Serve(ctx, listener, gateway.Shutdown{Spread: 50 * time.Millisecond, Grace: time.Hour})
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-r.stopped)
	})
	return r
}

// cluster returns an object for a cluster of servers that the gateway trusts.
func cluster(name string, a *authority, servers ...*apiServer) *v1alpha1.UpstreamCluster {
	o := &v1alpha1.UpstreamCluster{}
	o.Name = name
	for _, s := range servers {
		o.Spec.Servers = append(o.Spec.Servers, v1alpha1.UpstreamClusterServer{Endpoint: s.URL})
	}
	o.Spec.ClientConfig = v1alpha1.ClientConfig{BearerToken: []byte("gateway"), CAData: a.pem(), QPS: 10000, Burst: 10000}
	o.Spec.SecureServing.ClientCAData = a.pem()
	o.Spec.DispatchPolicies = []v1alpha1.DispatchPolicy{{Rules: []v1alpha1.DispatchPolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}}}
	return o
}

// serve adds a cluster and waits until its API servers are ready.
func (r *rig) serve(o *v1alpha1.UpstreamCluster) {
	r.t.Helper()
	require.NoError(r.t, r.gateway.Clusters().Put(o))
	await.True(r.t, func() bool {
		for _, e := range r.gateway.Clusters().Endpoints(o.Name) {
			if !e.Ready {
				return false
			}
		}
		return true
	}, "the API servers of %s are ready", o.Name)
}

// client returns a client of the gateway, whose connections are for the name sni.
func (r *rig) client(sni string, certs ...tls.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(r.serving.cert)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: sni, Certificates: certs, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", r.address)
		},
	}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// withToken returns a client of a.example with a token.
func (r *rig) withToken(token string) *http.Client {
	client := r.client("a.example")
	client.Transport = bearer{client.Transport, token}
	return client
}

// bearer adds a token to every request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// answer is what a client got.
type answer struct {
	code   int
	header http.Header
	body   string
}

// ask sends a request for https://host/path with headers in pairs.
func (r *rig) ask(client *http.Client, method, url string, headers ...string) answer {
	r.t.Helper()
	return r.send(client, method, url, http.NoBody, headers...)
}

func (r *rig) send(client *http.Client, method, url string, body io.Reader, headers ...string) answer {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, url, body)
	require.NoError(r.t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	require.NoError(r.t, err)
	defer response.Body.Close() //nolint:errcheck // it is a test's
	text, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return answer{response.StatusCode, response.Header, string(text)}
}

// try asks for a URL, and fails unless it is there.
func (r *rig) try(client *http.Client, url string) error {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(r.t, err)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it is a test's
	if _, err = io.Copy(io.Discard, response.Body); err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return err
}
