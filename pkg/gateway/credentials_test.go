package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/credential"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/test/await"
)

// often is how often the tests look at credentials again.
const often = 20 * time.Millisecond

// referring returns a.example with a reference to credentials in place of its token.
func referring(ca *authority, to v1alpha1.Credentials, servers ...*apiServer) *v1alpha1.UpstreamCluster {
	o := cluster("a.example", ca, servers...)
	o.Spec.ClientConfig.BearerToken, o.Spec.ClientConfig.Credentials = nil, &to
	return o
}

// replace puts a file in the place of another, as kubelet and tools for certificates do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// accept has an API server accept these tokens of the gateway.
func (s *apiServer) accept(tokens ...string) {
	s.change(func() { s.token, s.tokens = "", tokens })
}

func (r *rig) ready(name string) bool {
	for _, e := range r.gateway.Clusters().Endpoints(name) {
		if e.Ready {
			return true
		}
	}
	return false
}

func (r *rig) readyz() string {
	r.gateway.Source(func() registry.State { return registry.State{Synced: true} })
	w := httptest.NewRecorder()
	r.gateway.Health().ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, "/readyz", http.NoBody))
	return w.Body.String()
}

// requests sends requests until stopped, and counts those that fail.
func (r *rig) requests(client *http.Client) (stop func() (sent, failed int64)) {
	var sent, failed atomic.Int64
	var running sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				sent.Add(1)
				if err := r.try(client, "https://a.example/api/v1/pods"); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	return func() (int64, int64) {
		close(done)
		running.Wait()
		return sent.Load(), failed.Load()
	}
}

// TestTokensInFilesRotate replaces a token file while requests are sent, and a watch goes on.
func TestTokensInFilesRotate(t *testing.T) {
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	server.accept("first")
	dir := t.TempDir()
	replace(t, filepath.Join(dir, "token"), "first\n")
	replace(t, filepath.Join(dir, "users"), `{"apiVersion": "v1", "kind": "Config", "users": [{"name": "east", "user": {"tokenFile": "token"}}]}`)
	r := newRig(t, func(o *gateway.Options) {
		o.Users, o.CredentialsEvery = credential.NewUsers(filepath.Join(dir, "users")), often
	})
	r.serve(referring(ca, v1alpha1.Credentials{User: "east"}, server))
	client := r.client("a.example", ca.pair("alice"))
	watch, err := client.Get("https://a.example/api/v1/pods?watch=1") //nolint:noctx // it ends with the server
	require.NoError(t, err)
	defer watch.Body.Close() //nolint:errcheck // it is a test's
	require.Equal(t, http.StatusOK, watch.StatusCode)

	stop := r.requests(client)
	r.gateway.Clusters().Reject("a.example", errors.New("a later version has faults"))
	server.accept("first", "second")
	replace(t, filepath.Join(dir, "token"), "second")
	await.True(t, func() bool { return server.request().Header.Get("Authorization") == "Bearer second" }, "the new token is used")
	require.EqualError(t, r.gateway.Clusters().Faults()["a.example"], "a later version has faults", "new credentials of the version in force do not change that")
	server.accept("second")
	seen := server.total()
	await.True(t, func() bool { return server.total() > seen+100 }, "requests go on")
	sent, failed := stop()
	require.Zero(t, failed, "of %d", sent)

	server.events <- "event\n"
	line := make([]byte, 6)
	_, err = watch.Body.Read(line)
	require.NoError(t, err)
	require.Equal(t, "event\n", string(line), "the watch goes on")

	require.NoError(t, os.Remove(filepath.Join(dir, "token")))
	await.True(t, func() bool {
		return strings.Contains(r.readyz(), "cluster a.example: the credentials that it refers to cannot be obtained")
	}, "the fault is told")
	require.NoError(t, r.try(client, "https://a.example/api"), "the last token is still used")
}

// TestSecretsAreUsedByTheClusterThatTheyName changes a Secret, and who may use it.
func TestSecretsAreUsedByTheClusterThatTheyName(t *testing.T) {
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	server.accept("first")
	secret := &corev1.Secret{Data: map[string][]byte{"token": []byte("first")}}
	secret.Name = "a"
	api := fake.NewClientset(secret)
	secrets := api.CoreV1().Secrets("")
	r := newRig(t, func(o *gateway.Options) { o.Secrets, o.CredentialsEvery = secrets, often })
	o := referring(ca, v1alpha1.Credentials{SecretName: "a"}, server)
	require.NoError(t, r.gateway.Clusters().Put(o))
	client := r.client("a.example", ca.pair("alice"))
	await.True(t, func() bool {
		return strings.Contains(r.readyz(), "the credentials that it refers to cannot be obtained")
	}, "the Secret does not name the cluster")
	require.Equal(t, http.StatusServiceUnavailable, r.ask(client, http.MethodGet, "https://a.example/api").code)
	require.Zero(t, server.total(), "nothing is sent without credentials")

	secret.Annotations = map[string]string{credential.Annotation: "a.example"}
	_, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	await.True(t, func() bool { return r.try(client, "https://a.example/api") == nil }, "the Secret names the cluster")

	secret.Data["token"] = []byte("second")
	server.accept("second")
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	await.True(t, func() bool { return r.try(client, "https://a.example/api") == nil }, "the new token is used")

	inline := cluster("a.example", ca, server)
	inline.Spec.ClientConfig.BearerToken = []byte("second")
	require.NoError(t, r.gateway.Clusters().Put(inline))
	missing := referring(ca, v1alpha1.Credentials{SecretName: "none"}, server)
	require.NoError(t, r.gateway.Clusters().Put(missing))
	await.True(t, func() bool {
		return strings.Contains(r.readyz(), "the credentials that it refers to cannot be obtained")
	}, "there is no such Secret")
	require.NoError(t, r.try(client, "https://a.example/api"), "the version before is served until the credentials of this one are there")
}

// plugin writes a program that prints a token, and a kubeconfig with two users that run it and one that hangs.
func plugin(t *testing.T) (dir, users string) {
	t.Helper()
	dir = t.TempDir()
	users = filepath.Join(dir, "users")
	program := "#!/bin/sh\necho run >> " + dir + `/runs
echo "$KUBERNETES_EXEC_INFO" > ` + dir + `/info
printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}' "$(cat ` + dir + `/token)"
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plugin"), []byte(program), 0o700))
	hangs := "#!/bin/sh\necho $$ > " + dir + "/pid\nsleep 1000 &\nwait\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hangs"), []byte(hangs), 0o700))
	replace(t, users, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "users": [
		{"name": "east", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": %q, "interactiveMode": "Never", "provideClusterInfo": true}}},
		{"name": "hangs", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": %q, "interactiveMode": "Never"}}}]}`,
		filepath.Join(dir, "plugin"), filepath.Join(dir, "hangs")))
	return dir, users
}

// TestPluginsAreRunAsInAKubeconfig refuses a plugin's token, beside a plugin that hangs.
func TestPluginsAreRunAsInAKubeconfig(t *testing.T) {
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	server.accept("first")
	dir, users := plugin(t)
	replace(t, filepath.Join(dir, "token"), "first")
	r := newRig(t, func(o *gateway.Options) { o.Users, o.CredentialsEvery = credential.NewUsers(users), often })
	hangs := referring(ca, v1alpha1.Credentials{User: "hangs"}, server)
	hangs.Name = "b.example"
	require.NoError(t, r.gateway.Clusters().Put(hangs))
	await.True(t, func() bool { _, err := os.Stat(filepath.Join(dir, "pid")); return err == nil }, "a plugin hangs")
	r.serve(referring(ca, v1alpha1.Credentials{User: "east"}, server))
	client := r.client("a.example", ca.pair("alice"))
	require.NoError(t, r.try(client, "https://a.example/api"))
	require.Equal(t, http.StatusServiceUnavailable, r.ask(r.client("b.example", ca.pair("alice")), http.MethodGet, "https://b.example/api").code)

	info, err := os.ReadFile(filepath.Join(dir, "info"))
	require.NoError(t, err)
	require.Contains(t, string(info), server.URL, "the plugin is told about the cluster")
	runs, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	require.Equal(t, "run\n", string(runs), "its credential is used until it expires")

	replace(t, filepath.Join(dir, "token"), "second")
	server.accept("second")
	await.True(t, func() bool { return r.try(client, "https://a.example/api") == nil }, "a token that is refused is obtained again")
}

// TestPluginsNeedTheOperator has an object refer to a user when the operator has named no file of users.
func TestPluginsNeedTheOperator(t *testing.T) {
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	r := newRig(t, func(o *gateway.Options) { o.CredentialsEvery = often })
	require.NoError(t, r.gateway.Clusters().Put(referring(ca, v1alpha1.Credentials{User: "east"}, server)))
	await.True(t, func() bool {
		return strings.Contains(r.readyz(), "the credentials that it refers to cannot be obtained")
	}, "the fault is told")
	require.False(t, r.ready("a.example"))
}

// token makes a JSON Web Token that is valid for a time.
func token(id string, issued time.Time, valid time.Duration) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(fmt.Appendf(nil, `{"iat":%d,"exp":%d,"jti":%q}`, issued.Unix(), issued.Add(valid).Unix(), id)) + ".c2ln"
}

// TestTokensAreRenewed has the token in a Secret renewed by TokenRequest, and every old one refused.
func TestTokensAreRenewed(t *testing.T) {
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	old := token("old", time.Now().Add(-50*time.Minute), time.Hour)
	var requested atomic.Int64
	server.accept(old)
	server.change(func() {
		server.objects = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/netloom-system/serviceaccounts/upstream/token" {
				return false
			}
			raw, _ := io.ReadAll(r.Body)
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
			wanted, is := object.(*authenticationv1.TokenRequest)
			if err != nil || !is || *wanted.Spec.ExpirationSeconds != 7200 {
				w.WriteHeader(http.StatusBadRequest)
				return true
			}
			wanted.APIVersion, wanted.Kind = "authentication.k8s.io/v1", "TokenRequest"
			issued := token(fmt.Sprint(requested.Add(1)), time.Now(), 2*time.Hour)
			server.accept(old, issued)
			wanted.Status = authenticationv1.TokenRequestStatus{Token: issued, ExpirationTimestamp: metav1.NewTime(time.Now().Add(2 * time.Hour))}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(wanted)
			return true
		}
	})
	secret := &corev1.Secret{Data: map[string][]byte{"token": []byte(old)}}
	secret.Name, secret.Annotations = "a", map[string]string{credential.Annotation: "a.example"}
	secrets := fake.NewClientset(secret).CoreV1().Secrets("")
	o := referring(ca, v1alpha1.Credentials{SecretName: "a", TokenRequest: &v1alpha1.TokenRequest{
		ServiceAccount: v1alpha1.ServiceAccountRef{Namespace: "netloom-system", Name: "upstream"}, ExpirationSeconds: 7200,
	}}, server)
	stored := func() string {
		s, err := secrets.Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		return string(s.Data["token"])
	}
	r := newRig(t, func(o *gateway.Options) { o.Secrets, o.CredentialsEvery = secrets, often })
	r.serve(o)
	client := r.client("a.example", ca.pair("alice"))
	require.NoError(t, r.try(client, "https://a.example/api"))
	require.NotEqual(t, old, stored(), "the new token is in the Secret")
	require.Equal(t, "Bearer "+stored(), server.request().Header.Get("Authorization"))
	server.accept(stored())

	other := newRig(t, func(o *gateway.Options) { o.Secrets, o.CredentialsEvery = secrets, often })
	other.serve(o)
	require.NoError(t, other.try(other.client("a.example", ca.pair("alice")), "https://a.example/api"))
	require.EqualValues(t, 1, requested.Load(), "another instance uses the token that the first one has stored")
}
