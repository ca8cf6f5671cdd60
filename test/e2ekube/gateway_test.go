//go:build e2e

package e2ekube_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// gatewayRig is netloom gateway in front of two control planes, a.example and b.example.
type gatewayRig struct {
	t       *testing.T
	labs    map[string]*kubelab.Lab
	dir     string // of the UpstreamClusters
	also    string // further servers of each cluster, in YAML
	spec    string // what they have in common, lines of YAML
	port    int
	process *ovnlab.Process
}

// everyRequest is a dispatch policy without a limit.
const everyRequest = `{rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}, {verbs: ["*"], nonResourceURLs: ["*"]}]}`

func startGateway(t *testing.T) *gatewayRig {
	t.Helper()
	g := newGatewayRig(t, map[string]*kubelab.Lab{"a.example": startKube(t), "b.example": startKube(t)}, "  dispatchPolicies: ["+everyRequest+"]\n")
	g.start()
	return g
}

// newGatewayRig gives the gateway its rights in each cluster, and describes the clusters.
func newGatewayRig(t *testing.T, labs map[string]*kubelab.Lab, spec string) *gatewayRig {
	t.Helper()
	g := &gatewayRig{t: t, labs: labs, dir: t.TempDir(), spec: spec}
	for name, lab := range g.labs {
		lab.ApplyObjects(upstreamObjects(t))
		lab.Apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: gateway}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: gateway}}
`)
		g.write(name, lab.Token(home, upstreamAccount))
	}
	return g
}

// upstreamAccount is the service account that a cluster gives the gateway, and the name of its role.
const upstreamAccount = "netloom-gateway-upstream"

// upstreamObjects are what a cluster gives the gateway, with shared watches.
func upstreamObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	role, err := os.ReadFile(deployDir + "/components/shared-watches/role.yaml")
	require.NoError(t, err)
	objects, err := deployment.Kustomize(deployDir + "/upstream")
	require.NoError(t, err)
	return append(objects, kubelab.Parse(t, string(role))...)
}

// start runs netloom gateway until the test ends, after it has ended the one before.
func (g *gatewayRig) start(flags ...string) {
	g.t.Helper()
	program, err := buildOnce()
	require.NoError(g.t, err)
	if g.process != nil {
		g.process.Stop()
	}
	listener, err := new(net.ListenConfig).Listen(g.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(g.t, err)
	g.port = listener.Addr().(*net.TCPAddr).Port
	require.NoError(g.t, listener.Close())
	files := filepath.Dir(g.labs["a.example"].Config().CAFile)
	g.process = ovnlab.Spawn(g.t, filepath.Join(g.t.TempDir(), "gateway.log"), os.Environ(), append([]string{
		program, "gateway", "--clusters", g.dir, "--listen", fmt.Sprintf("127.0.0.1:%d", g.port), "--metrics-listen=",
		"--shutdown-delay=0s", "--shutdown-spread=1s",
		"--tls-cert", filepath.Join(files, "server.crt"), "--tls-key", filepath.Join(files, "server.key"),
	}, flags...)...)
	for name := range g.labs {
		await.True(g.t, func() bool {
			_, err := g.client(name, nil).Discovery().ServerVersion()
			return err == nil
		}, "%s", name+" is served")
	}
}

// file describes a cluster.
func (g *gatewayRig) file(name string) string { return filepath.Join(g.dir, name+".yaml") }

// write describes a cluster in its file.
func (g *gatewayRig) write(name, token string) {
	g.t.Helper()
	config := g.labs[name].Config()
	ca, err := os.ReadFile(config.CAFile)
	require.NoError(g.t, err)
	names := map[string]string{"a.example": "localhost"} // for clients that cannot be told where a.example is
	pem := base64.StdEncoding.EncodeToString(ca)
	require.NoError(g.t, os.WriteFile(g.file(name), []byte(`apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: `+name+`}
spec:
  servers: [{endpoint: "`+config.Host+`"}`+g.also+`]
  clientConfig: {bearerToken: `+base64.StdEncoding.EncodeToString([]byte(token))+`, caData: `+pem+`, qps: 1000}
  secureServing: {clientCAData: `+pem+`, serverNames: [`+names[name]+`]}
`+g.spec), 0o600))
}

// config is the configuration of a client of the gateway, at first with the certificate of the administrator of the cluster.
func (g *gatewayRig) config(name string) *rest.Config {
	config := g.labs[name].Config()
	config.Host = fmt.Sprintf("https://%s:%d", name, g.port)
	config.CAFile = g.labs["a.example"].Config().CAFile
	config.ServerName = "localhost"
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", g.port))
	}
	return config
}

func (g *gatewayRig) client(name string, change func(c *rest.Config)) kubernetes.Interface {
	g.t.Helper()
	config := g.config(name)
	if change != nil {
		change(config)
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(g.t, err)
	return client
}

// withToken replaces the certificate by a token.
func withToken(token string) func(c *rest.Config) {
	return func(c *rest.Config) { c.CertData, c.KeyData, c.BearerToken = nil, nil, token }
}

// whoami asks the API server who it thinks is asking.
func whoami(t *testing.T, client kubernetes.Interface) (authenticationv1.UserInfo, error) {
	t.Helper()
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// header adds a header to every request.
type header struct {
	http.RoundTripper
	name, value string
}

func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return h.RoundTripper.RoundTrip(r)
}

// TestGateway uses two clusters through the gateway as their users do, with the rights of deploy/kustomize/upstream.
func TestGateway(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	a := g.labs["a.example"]
	web := a.Token("gateway", "web")

	t.Run("the API server sees the same user as without the gateway", func(t *testing.T) {
		for name, change := range map[string]func(c *rest.Config){"certificate": func(*rest.Config) {}, "token": withToken(web)} {
			direct := a.Config()
			change(direct)
			client, err := kubernetes.NewForConfig(direct)
			require.NoError(t, err)
			want, err := whoami(t, client)
			require.NoError(t, err)
			got, err := whoami(t, g.client("a.example", change))
			require.NoError(t, err, name)
			require.ElementsMatch(t, want.Groups, got.Groups, name)
			want.Groups, got.Groups = nil, nil
			require.Equal(t, want, got, name)
		}
	})
	t.Run("credentials belong to one cluster", func(t *testing.T) {
		_, err := whoami(t, g.client("b.example", withToken(web)))
		require.True(t, apierrors.IsUnauthorized(err), "%v", err)
		_, err = whoami(t, g.client("b.example", func(c *rest.Config) {
			c.CertData, c.KeyData = a.Config().CertData, a.Config().KeyData
		}))
		require.True(t, apierrors.IsUnauthorized(err), "%v", err)
		_, err = whoami(t, g.client("b.example", withToken("")))
		require.True(t, apierrors.IsUnauthorized(err), "%v", err)
	})
	t.Run("impersonation is authorized", func(t *testing.T) {
		as := func(c *rest.Config) {
			c.Impersonate = rest.ImpersonationConfig{UserName: "bob", UID: "1", Groups: []string{"dev"}}
		}
		got, err := whoami(t, g.client("a.example", as))
		require.NoError(t, err)
		require.Equal(t, authenticationv1.UserInfo{Username: "bob", UID: "1", Groups: []string{"dev", "system:authenticated"}}, got)
		_, err = whoami(t, g.client("a.example", func(c *rest.Config) {
			withToken(web)(c)
			as(c)
		}))
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	})
	t.Run("spoofed headers have no effect", func(t *testing.T) {
		for _, name := range []string{"X-Remote-User", "X-Remote-Uid"} {
			got, err := whoami(t, g.client("a.example", func(c *rest.Config) {
				withToken(web)(c)
				c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return header{rt, name, "admin"} })
			}))
			require.NoError(t, err)
			require.Equal(t, "system:serviceaccount:gateway:web", got.Username)
		}
		_, err := whoami(t, g.client("a.example", func(c *rest.Config) {
			withToken(web)(c)
			c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return header{rt, "Impersonate-Uid", "0"} })
		}))
		require.True(t, apierrors.IsBadRequest(err), "%v", err)
	})

	client := g.client("a.example", nil)
	maps := client.CoreV1().ConfigMaps("default")
	watch, err := maps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=large"})
	require.NoError(t, err)
	t.Run("objects are created, listed and watched", func(t *testing.T) {
		const largest = 1 << 20 // that the API allows a ConfigMap
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{"x": strings.Repeat("x", largest)},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		event := <-watch.ResultChan()
		created, ok := event.Object.(*corev1.ConfigMap)
		require.True(t, ok)
		require.Len(t, created.Data["x"], largest)
		all, err := maps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, all.Items)
		_, err = g.client("b.example", nil).CoreV1().ConfigMaps("default").Get(t.Context(), "large", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		_, err = g.client("a.example", withToken(web)).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	})
	t.Run("exec, attach and port-forward", func(t *testing.T) {
		adoptShell(t, a)
		config := a.Config()
		config.Host = fmt.Sprintf("https://localhost:%d", g.port)
		testStreams(t, config, web)
	})
	t.Run("a file with faults and new credentials change nothing for clients", func(t *testing.T) {
		require.NoError(t, os.WriteFile(g.file("a.example"), []byte("{"), 0o600))
		await.True(t, func() bool { return strings.Contains(g.process.Tail(50), "has faults") }, "the fault is logged")
		_, err := maps.Get(t.Context(), "large", metav1.GetOptions{})
		require.NoError(t, err)
		g.write("a.example", a.Token(home, upstreamAccount))
		_, err = maps.Update(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}}, metav1.UpdateOptions{})
		require.NoError(t, err)
		event := <-watch.ResultChan()
		require.EqualValues(t, "MODIFIED", event.Type, "the watch has survived")
	})
	t.Run("the gateway stops in order", func(t *testing.T) {
		require.NoError(t, g.process.Signal(syscall.SIGTERM))
		_, open := <-watch.ResultChan()
		require.False(t, open, "a watch ends without an error event")
		<-g.process.Exited()
		require.Zero(t, g.process.ExitCode(), g.process.Tail(30))
	})
	t.Run("another gateway shares watches", func(t *testing.T) { testSharedWatches(t, g, web) })
	t.Run("netloom uses an UpstreamCluster itself", func(t *testing.T) { testOwnRequests(t, g) })
	t.Run("another gateway reads a host cluster", func(t *testing.T) { testHostCluster(t, g) })
}
