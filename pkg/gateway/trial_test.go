package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/test/await"
)

// TestTryFindsWhatIsWrong has one fault of each kind at a time.
func TestTryFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	server, denied := newAPIServer(t, ca), map[string]bool{}
	asked := map[string]bool{}
	var mu sync.Mutex
	server.objects = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			return false
		}
		raw, _ := io.ReadAll(r.Body)
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
		if err != nil || !ok {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
		mu.Lock()
		defer mu.Unlock()
		if a := review.Spec.ResourceAttributes; a != nil {
			asked[strings.Trim(a.Resource+"/"+a.Subresource, "/")] = true
			review.Status.Allowed = !denied[a.Resource]
		} else {
			asked[review.Spec.NonResourceAttributes.Path] = true
			review.Status.Allowed = true
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
		return true
	}
	o := cluster("a.example", ca, server)
	require.NoError(t, gateway.Try(t.Context(), o, time.Now()))

	role, err := os.ReadFile("../../deploy/kustomize/upstream/role.yaml")
	require.NoError(t, err)
	for _, of := range regexp.MustCompile(`(?m)^  resources: \[(.*)\]|^  - (userextras/.*)`).FindAllStringSubmatch(string(role), -1) {
		for name := range strings.SplitSeq(of[1]+of[2], ", ") {
			mu.Lock()
			found := asked[name]
			mu.Unlock()
			require.True(t, found, "%s is a right of the role", name)
		}
	}

	mu.Lock()
	denied["tokenreviews"] = true
	mu.Unlock()
	require.ErrorContains(t, gateway.Try(t.Context(), o, time.Now()), "API server "+server.URL+": the user of spec.clientConfig may not create tokenreviews of authentication.k8s.io")
	require.ErrorContains(t, gateway.Try(t.Context(), o, time.Now().Add(2*time.Hour)), "spec.secureServing.clientCAData: the certificate of \"CN=ca\" has expired")
	o.Spec.ClientConfig.BearerToken = []byte("wrong")
	require.ErrorContains(t, gateway.Try(t.Context(), o, time.Now()), "does not accept the credentials")
	o.Spec.ClientConfig.CAData = other.pem()
	require.ErrorContains(t, gateway.Try(t.Context(), o, time.Now()), "compare its certificate with spec.clientConfig.caData")
	server.Close()
	require.ErrorContains(t, gateway.Try(t.Context(), o, time.Now()), "no connection to it is possible")
	o.Spec.Servers[0].Disabled = true
	require.NoError(t, gateway.Try(t.Context(), o, time.Now()))
}

// TestWhatExpiresFirst reads the dates of certificates and of tokens that have one.
func TestWhatExpiresFirst(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	o := cluster("a.example", ca, server)
	name, at := gateway.FirstExpiry(o)
	require.Equal(t, "spec.clientConfig.caData", name)
	require.WithinDuration(t, ca.cert.NotAfter, at, 0)
	jwt := func(claims string) []byte {
		return []byte("eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln")
	}
	o.Spec.ClientConfig.BearerToken = jwt(`{"exp":2000000000}`)
	name, _ = gateway.FirstExpiry(o)
	require.Equal(t, "spec.clientConfig.caData", name, "the token is valid until 2033")
	o.Spec.ClientConfig.BearerToken = jwt(`{"exp":1000000000}`)
	name, at = gateway.FirstExpiry(o)
	require.Equal(t, "spec.clientConfig.bearerToken", name)
	require.EqualValues(t, 1000000000, at.Unix())
	require.ErrorContains(t, gateway.Try(t.Context(), o, time.Now()), "spec.clientConfig.bearerToken: the token has expired at 2001-09-09T01:46:40Z")
	for _, other := range []string{"", "{", `{"exp":"soon"}`, `{"sub":"a"}`, `{"exp":-1}`} {
		o.Spec.ClientConfig = v1alpha1.ClientConfig{BearerToken: jwt(other)}
		o.Spec.SecureServing = v1alpha1.SecureServing{}
		name, _ = gateway.FirstExpiry(o)
		require.Empty(t, name, other)
	}
}

// TestReadinessSaysWhy has an API server that does not accept the gateway's token from the start: the log, /readyz and the metrics say so,
// and clients get 503.
func TestReadinessSaysWhy(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good, bad, metrics := newAPIServer(t, ca), newAPIServer(t, ca), prometheus.NewRegistry()
	bad.token = "another"
	log, hook := logtest.NewNullLogger()
	r := newRig(t, func(o *gateway.Options) { o.Registerer, o.Log = metrics, log })
	r.gateway.Source(func() registry.State { return registry.State{Synced: true} })
	r.serve(cluster("a.example", ca, good))
	require.NoError(t, r.gateway.Clusters().Put(cluster("b.example", ca, bad)))
	await.True(t, func() bool {
		return sumOf(t, metrics, "netloom_gateway_endpoint_not_ready", "b.example", bad.URL, "Unauthorized") == 1
	}, "the cause is known")
	require.Zero(t, sumOf(t, metrics, "netloom_gateway_endpoint_not_ready", "a.example"))
	w := httptest.NewRecorder()
	r.gateway.Health().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	require.Equal(t, http.StatusOK, w.Code, "the other cluster is served")
	require.Equal(t, "ok\ncluster b.example: 0 of 1 API servers are ready\ncluster b.example: API server "+bad.URL+
		" is not ready: it does not accept the credentials of spec.clientConfig (401)\n", w.Body.String())
	require.Equal(t, http.StatusServiceUnavailable, r.ask(r.client("b.example", ca.pair("ann")), http.MethodGet, "https://b.example/version").code)
	logged := 0
	for _, e := range hook.AllEntries() {
		if e.Data["cluster"] == "b.example" && e.Data["endpoint"] == bad.URL && e.Data["cause"] == "Unauthorized" {
			logged++
		}
	}
	require.Equal(t, 1, logged, "once")
}
