package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/netloom/netloom/pkg/gateway"
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
