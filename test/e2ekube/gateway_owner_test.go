//go:build e2e

package e2ekube_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// ownersGateway is netloom gateway --from-kubeconfig in front of a control plane, for an administrator and a service account.
type ownersGateway struct {
	t       *testing.T
	kube    *kubelab.Lab
	written string
}

const webUser = "system:serviceaccount:gateway:web"

// startOwnersGateway gives the cluster nothing but a service account: the gateway needs no rights of its own.
func startOwnersGateway(t *testing.T) *ownersGateway {
	t.Helper()
	program, err := buildOnce()
	require.NoError(t, err)
	kube := startKube(t)
	kube.Apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: gateway}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: gateway}}
`)
	from, err := clientcmd.LoadFromFile(kube.Kubeconfig())
	require.NoError(t, err)
	admin := from.Contexts[from.CurrentContext]
	from.AuthInfos["web"] = &clientcmdapi.AuthInfo{Token: kube.Token("gateway", "web")}
	from.Contexts["web@lab"] = &clientcmdapi.Context{Cluster: admin.Cluster, AuthInfo: "web", Namespace: "gateway"}
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	require.NoError(t, clientcmd.WriteToFile(*from, file))
	g := &ownersGateway{t: t, kube: kube, written: filepath.Join(dir, "gateway.kubeconfig")}
	p := ovnlab.Spawn(t, filepath.Join(dir, "gateway.log"), os.Environ(), program, "gateway", "--from-kubeconfig", file,
		"--write-kubeconfig", g.written, "--listen", ovnlab.FreeAddress(t))
	await.True(t, func() bool {
		select {
		case <-p.Exited():
			require.FailNow(t, "the gateway has ended", p.Tail(30))
		default:
		}
		_, err := os.Stat(g.written)
		return err == nil
	}, "the kubeconfig is written")
	for _, name := range []string{"", "web@lab"} {
		await.True(t, func() bool {
			_, err := g.client(name, nil).Discovery().ServerVersion()
			return err == nil
		}, "context %q is served", name)
	}
	return g
}

// client is a client of a context of the kubeconfig that the gateway has written, as a program reads it.
func (g *ownersGateway) client(name string, change func(c *rest.Config)) kubernetes.Interface {
	g.t.Helper()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: g.written}, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	require.NoError(g.t, err)
	if change != nil {
		change(config)
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(g.t, err)
	return client
}

// is returns the user that the API server takes a client for.
func is(t *testing.T, client kubernetes.Interface) authenticationv1.UserInfo {
	t.Helper()
	who, err := whoami(t, client)
	require.NoError(t, err)
	return who
}

// TestTheOwnersGateway uses what `netloom gateway --from-kubeconfig` writes, as kubectl does, and tries to get in without it.
func TestTheOwnersGateway(t *testing.T) {
	t.Parallel()
	g := startOwnersGateway(t)
	admin, web := g.client("", nil), g.client("web@lab", nil)
	require.Equal(t, is(t, g.kube.Client()), is(t, admin), "the same user as without the gateway, to the API server")
	require.Equal(t, webUser, is(t, web).Username)

	_, err := web.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "the rights of the context's user: %v", err)
	require.ErrorContains(t, err, `User "`+webUser+`" cannot list resource "namespaces"`)

	maps := admin.CoreV1().ConfigMaps("gateway")
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	events, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer events.Stop()
	_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = maps.Patch(t.Context(), "made", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"made"},"data":{"a":"b"}}`), metav1.PatchOptions{FieldManager: "test"})
	require.NoError(t, err)
	require.NoError(t, maps.Delete(t.Context(), "made", metav1.DeleteOptions{}))
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		require.Equal(t, want, (<-events.ResultChan()).Type)
	}

	as := func(c *rest.Config) {
		c.Impersonate = rest.ImpersonationConfig{UserName: "bob", Groups: []string{"dev"}}
	}
	bob := is(t, g.client("", as))
	require.Equal(t, "bob", bob.Username)
	require.Contains(t, bob.Groups, "dev")
	_, err = g.client("web@lab", as).CoreV1().Pods("gateway").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "a user who may not impersonate: %v", err)
	require.ErrorContains(t, err, "cannot impersonate")

	before := len(g.kube.Audit(webUser))
	for name, stranger := range map[string]func(c *rest.Config){
		"nothing":       func(*rest.Config) {},
		"a valid token": func(c *rest.Config) { c.BearerToken = g.kube.Token("gateway", "web") },
		"the administrator's certificate of the cluster": func(c *rest.Config) {
			own := g.kube.Config()
			c.CertData, c.KeyData = own.CertData, own.KeyData
		},
	} {
		_, err := g.client("", func(c *rest.Config) {
			c.CertData, c.KeyData = nil, nil
			stranger(c)
		}).CoreV1().Pods("gateway").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsUnauthorized(err), "%s: %v", name, err)
	}
	require.Len(t, g.kube.Audit(webUser), before, "nothing of them has reached the API server as anybody")
}
