//go:build e2e

package e2ekube_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/test/await"
)

// TestDrillReviews has somebody flood the webhook with large reviews, and with bodies that take for ever. What has to be refused is
// refused in each case, whether the webhook answers or the API server fails closed, and afterwards it is as before.
func TestDrillReviews(t *testing.T) {
	t.Parallel()
	a := newAdmission(t)
	nobody, refused := a.as("nobody"), bucketed("mwan3rules", "default", "x", "basic")
	const tries = 20
	try := func() (byWebhook int, took []time.Duration) {
		for range tries {
			began := time.Now()
			err := a.create(nobody, refused)
			took = append(took, time.Since(began))
			require.Error(t, err, "what has to be refused is admitted")
			if strings.Contains(err.Error(), "User(nobody) don't have the permission") {
				byWebhook++
			} else {
				require.True(t, apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err), "%v", err)
			}
		}
		return byWebhook, took
	}
	answered, alone := try()
	require.Equal(t, tries, answered)
	before := peakOf(a.pod.PID())

	sent, stop := a.flood()
	answered, beside := try()
	a.pod.Running()
	await.True(t, a.pod.Alive, "health is answered")
	await.True(t, func() bool { return sent.Load() > 50 }, "the flood is one")
	stop()
	a.awaitAsked()
	require.Less(t, peakOf(a.pod.PID())-before, int64(256<<20))
	reportDrill(t, a.pod.PID(), "clients flood the webhook with reviews of 7 MiB, and with bodies that take for ever", "nothing",
		fmt.Sprintf("a review: %v, alone %v", quantile(beside, 0.99).Round(time.Millisecond), quantile(alone, 0.99).Round(time.Millisecond)),
		fmt.Sprintf("%d of %d reviews of the API server are answered; others fail closed", answered, tries))
}

// flood sends reviews until it is stopped, and counts those that were sent.
func (a *admission) flood() (sent *atomic.Int64, stop func()) {
	a.t.Helper()
	client := a.reviewer()
	ctx, cancel := context.WithCancel(a.t.Context())
	sent = new(atomic.Int64)
	var clients sync.WaitGroup
	post := func(body io.Reader) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+a.reviews+a.path(), body)
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		if response, err := client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		sent.Add(1)
	}
	large := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"` + strings.Repeat("x", 7<<20) + `"}}`
	for range 12 {
		clients.Go(func() {
			for ctx.Err() == nil {
				post(strings.NewReader(large))
			}
		})
	}
	for range 40 {
		clients.Go(func() {
			for ctx.Err() == nil {
				r, w := io.Pipe()
				context.AfterFunc(ctx, func() { _ = w.Close() })
				post(r) // nobody ever writes
			}
		})
	}
	for range 20 {
		clients.Go(func() {
			for ctx.Err() == nil {
				post(strings.NewReader("{}"))
			}
		})
	}
	return sent, sync.OnceFunc(func() { cancel(); clients.Wait() })
}

// configured is the first webhook as the API server has it.
func (a *admission) configured() map[string]any {
	a.t.Helper()
	hooks := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	found, err := a.kube.Objects().Resource(hooks).Get(a.t.Context(), a.configuration.GetName(), metav1.GetOptions{})
	require.NoError(a.t, err)
	list, _, err := unstructured.NestedSlice(found.Object, "webhooks")
	require.NoError(a.t, err)
	config, ok := list[0].(map[string]any)["clientConfig"].(map[string]any)
	require.True(a.t, ok)
	return config
}

// path is where reviews are posted.
func (a *admission) path() string {
	url, _ := a.configured()["url"].(string)
	_, path, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	return "/" + path
}

// reviewer is a client that trusts the webhook, as the API server does.
func (a *admission) reviewer() *http.Client {
	a.t.Helper()
	bundle, _ := a.configured()["caBundle"].(string)
	pem, err := base64.StdEncoding.DecodeString(bundle)
	require.NoError(a.t, err)
	roots := x509.NewCertPool()
	require.True(a.t, roots.AppendCertsFromPEM(pem))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
