package webhook_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/serve/webhook"
	"github.com/netloom/netloom/test/await"
)

// selfSigned returns a certificate for 127.0.0.1, and a pool that trusts it.
func selfSigned(t *testing.T) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// TestServeAnswersOverTLSAndFinishes asks a running server over TLS, stops it, and is still answered until it has ended. If a busy machine
// asks too late, it begins again with a server that takes longer to stop.
func TestServeAnswersOverTLSAndFinishes(t *testing.T) {
	for delay := 300 * time.Millisecond; !serveAndFinish(t, delay); delay *= 4 {
		t.Logf("asked too late: the server stops in %s", delay)
	}
}

// serveAndFinish reports whether it was in time to ask a server that stops.
func serveAndFinish(t *testing.T, delay time.Duration) bool {
	t.Helper()
	cert, pool := selfSigned(t)
	log := logrus.New()
	log.SetOutput(&bytes.Buffer{})
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	opts := webhook.Options{Certificate: func() (*tls.Certificate, error) { return cert, nil }, ShutdownDelay: delay}
	from := kube.New(fake.NewClientset(), kube.Options{
		Options: source.Options{Kinds: opts.Kinds()}, Metadata: metadatafake.NewSimpleMetadataClient(scheme),
	}, log)
	server, err := webhook.New([]webhook.Source{from}, opts, log)
	require.NoError(t, err)
	reviews, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	health, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, reviews, health) }()
	sourcetest.Run(t, from)
	feeding, fed := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.Feed(feeding)
	}()
	defer func() {
		fed()
		<-ended
	}()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	ask := func() (*http.Response, error) {
		body, err := json.Marshal(&admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
			Request:  request(t, "ann", "mwan3policies", policyText, policyText),
		})
		require.NoError(t, err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+reviews.Addr().String()+webhook.PathLabel, bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		return client.Do(r)
	}
	answer, err := ask()
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "HTTP/2.0", answer.Proto)

	old := &tls.Dialer{Config: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}
	_, err = old.DialContext(t.Context(), "tcp", reviews.Addr().String())
	require.ErrorContains(t, err, "protocol version")

	ready := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+health.Addr().String()+"/readyz", http.NoBody)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0
		}
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	await.True(t, func() bool { return ready() == http.StatusOK }, "readiness")
	stopped := time.Now()
	stop()
	var now int
	await.True(t, func() bool { now = ready(); return now != http.StatusOK }, "the end of readiness")
	answer, err = ask()
	if time.Since(stopped) >= delay {
		if err == nil {
			require.NoError(t, answer.Body.Close())
		}
		return false
	}
	require.Equal(t, http.StatusServiceUnavailable, now)
	require.NoError(t, err, "it is still answered")
	require.NoError(t, answer.Body.Close())
	require.NoError(t, <-done)
	require.GreaterOrEqual(t, time.Since(stopped), delay)
	_, err = ask() //nolint:bodyclose // there is none
	require.Error(t, err)
	return true
}
