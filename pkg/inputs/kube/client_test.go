package kube

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

func TestClientSpeaksAsItShould(t *testing.T) {
	seen := make(chan http.Header, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`
apiVersion: v1
kind: Config
current-context: nowhere
clusters:
- {name: here, cluster: {server: "`+server.URL+`"}}
- {name: nowhere, cluster: {server: "http://127.0.0.1:1"}}
contexts:
- {name: here, context: {cluster: here, user: someone}}
- {name: nowhere, context: {cluster: nowhere, user: someone}}
users:
- {name: someone, user: {token: secret}}
`), 0o600))

	client, err := Client(Login{Kubeconfig: path, Context: "here"})
	require.NoError(t, err)
	_, err = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	header := <-seen
	require.Regexp(t, `^netloom/.+`, header.Get("User-Agent"))
	require.Equal(t, "application/vnd.kubernetes.protobuf,application/json", header.Get("Accept"))

	require.Empty(t, header.Get(source.HeaderObjects), "whole objects")

	r, _ := source.ResourceOf(object.KindPod)
	lw := clients{Interface: client}.listWatch(&r)
	_, err = lw.ListWithContextFunc(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	header = <-seen
	require.Equal(t, source.Trimmed(), header.Get(source.HeaderObjects), "what is trimmed anyway may arrive trimmed")
	_, err = lw.WatchFuncWithContext(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	header = <-seen
	require.Equal(t, source.Trimmed(), header.Get(source.HeaderObjects))

	_, err = Client(Login{Kubeconfig: path, Context: "elsewhere"})
	require.ErrorContains(t, err, `context "elsewhere" does not exist`)
	_, err = Client(Login{Kubeconfig: path})
	require.NoError(t, err, "an API that cannot be reached is no fault of the configuration")
	_, err = Client(Login{Kubeconfig: filepath.Join(t.TempDir(), "none")})
	require.Error(t, err)
}

func TestNoClusterAround(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := Client(Login{})
	require.ErrorContains(t, err, "connect to the cluster netloom runs in")
}
