package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/simulator/kubeapi"
	"github.com/netloom/netloom/test/await"
)

// twoClusters writes a kubeconfig of two simulated API servers, and of a third context that nobody can take over.
func twoClusters(t *testing.T) (path string, apis map[string]*kubeapi.Server) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	apis = map[string]*kubeapi.Server{}
	for _, name := range []string{"East", "west"} {
		apis[name] = kubeapi.New("token-of-" + name)
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: v1, kind: Namespace, metadata: {name: of-"+strings.ToLower(name)+"}}"), &o.Object))
		require.NoError(t, apis[name].Put(o))
		server := httptest.NewUnstartedServer(apis[name])
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(server.Close)
		config.Clusters[name] = &clientcmdapi.Cluster{Server: server.URL, InsecureSkipTLSVerify: true}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "token-of-" + name}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	login := filepath.Join(t.TempDir(), "sso-login")
	program := "#!/bin/sh\n" + `echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "token-of-west"}}'` + "\n"
	require.NoError(t, os.WriteFile(login, []byte(program), 0o700))
	config.AuthInfos["sso"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: login, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}
	config.Contexts["eks"] = &clientcmdapi.Context{Cluster: "west", AuthInfo: "sso"}
	config.CurrentContext = "west"
	path = filepath.Join(t.TempDir(), "config")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path, apis
}

// TestAGatewayFromAKubeconfig runs the command as somebody who tries it, and uses what it writes.
func TestAGatewayFromAKubeconfig(t *testing.T) {
	from, apis := twoClusters(t)
	written := filepath.Join(t.TempDir(), "gateway.kubeconfig")
	ctx, stop := context.WithCancel(t.Context())
	out, errout := redirect(t, &os.Stdout), redirect(t, &os.Stderr)
	ended, listen := make(chan int, 1), freeAddress(t)
	go func() {
		ended <- run(ctx, []string{"gateway", "--from-kubeconfig", from, "--write-kubeconfig", written, "--listen", listen})
	}()
	await.True(t, func() bool { _, err := os.Stat(written); return err == nil }, "the kubeconfig is written")
	info, err := os.Stat(written)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	config := func(name string) *rest.Config {
		c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: written}, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
		require.NoError(t, err)
		return c
	}
	namespaces := func(c *rest.Config) (string, error) {
		client, err := kubernetes.NewForConfig(c)
		require.NoError(t, err)
		list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		return list.Items[0].Name, nil
	}
	for name, want := range map[string]string{"East": "of-east", "west": "of-west", "": "of-west", "eks": "of-west"} {
		await.True(t, func() bool { got, err := namespaces(config(name)); return err == nil && got == want }, "context %q shows %s", name, want)
	}

	client, err := kubernetes.NewForConfig(config("East"))
	require.NoError(t, err)
	watch, err := client.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{ResourceVersion: "2"})
	require.NoError(t, err)
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "new"}}}
	require.NoError(t, apis["East"].Put(o))
	require.Equal(t, "new", (<-watch.ResultChan()).Object.(metav1.Object).GetName())

	stranger := config("East")
	stranger.CertData, stranger.KeyData, stranger.BearerToken = nil, nil, "token-of-East"
	_, err = namespaces(stranger)
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)

	stop()
	require.Equal(t, exitDone, <-ended)
	require.Contains(t, out(), "export KUBECONFIG="+written+"\n")
	log := errout()
	require.NotContains(t, log, "token-of-")
}

func TestAGatewayFromAKubeconfigPrintsIt(t *testing.T) {
	from, _ := twoClusters(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	out, errout := redirect(t, &os.Stdout), redirect(t, &os.Stderr)
	require.Equal(t, exitDone, run(ctx, []string{"gateway", "--from-kubeconfig", from, "--listen", freeAddress(t)}))
	_ = errout()
	printed, err := clientcmd.Load([]byte(out()))
	require.NoError(t, err, "nothing else is printed there")
	require.Len(t, printed.Contexts, 3)

	used, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer used.Close() //nolint:errcheck // it is a test's
	got := netloom(t, "gateway", "--from-kubeconfig", from, "--listen", used.Addr().String())
	require.Equal(t, exitFailed, got.code)
	require.Empty(t, got.out, "no credential without a gateway")

	got = netloom(t, "gateway", "--from-kubeconfig", from, "--listen", freeAddress(t), "--write-kubeconfig", from)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, from+" exists, and is not one that netloom gateway has written")

	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	require.NotContains(t, string(stacks), "(*endpoint).probe", "a gateway that failed probes no API server")
}

func TestAKubeconfigIsChecked(t *testing.T) {
	from, _ := twoClusters(t)
	got := netloom(t, "gateway", "--check", "--from-kubeconfig", from)
	require.Equal(t, exitDone, got.code)
	require.Equal(t, "context East: can be taken over, as east\ncontext eks: can be taken over, as eks\ncontext west: can be taken over, as west\n", got.out)
	config, err := clientcmd.LoadFromFile(from)
	require.NoError(t, err)
	config.AuthInfos["East"].Token = "wrong"
	require.NoError(t, clientcmd.WriteToFile(*config, from))
	got = netloom(t, "gateway", "--check", "--connect", "--from-kubeconfig", from)
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "context eks: can be taken over, as eks\ncontext west: can be taken over, as west\n", got.out, "it has no rights to impersonate, and needs none")
	require.Contains(t, got.errout, `context "East": API server https://127.0.0.1:`)
	require.Contains(t, got.errout, "it does not accept the credentials of spec.clientConfig (401)")
	got = netloom(t, "gateway", "--check", "--from-kubeconfig", "/none")
	require.Equal(t, exitFailed, got.code)
}

func TestGatewayImport(t *testing.T) {
	from, apis := twoClusters(t)
	got := netloom(t, "gateway", "import", from)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, `context "eks": the user has the exec plugin `)
	require.Contains(t, got.errout, "warning: this contains credentials")
	require.Contains(t, got.out, `# Context "East" of a kubeconfig. It has credentials.`)
	require.NotContains(t, got.out, "token-of-", "tokens are in base64")

	got = netloom(t, "gateway", "import", from, "--context", "none")
	require.Contains(t, got.errout, `there is no context "none"`)

	dir := filepath.Join(t.TempDir(), "clusters") // it is made
	got = netloom(t, "gateway", "import", from, "--context", "East", "--context", "west", "--dir", dir)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Empty(t, got.out)
	info, err := os.Stat(filepath.Join(dir, "east.yaml"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	got = netloom(t, "gateway", "--check", "--clusters", dir)
	require.Equal(t, "east: valid, 1 API servers, 1 dispatch policies\nwest: valid, 1 API servers, 1 dispatch policies\n", got.out, got.errout)
	got = netloom(t, "gateway", "import", from, "--context", "East", "--dir", dir)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "east.yaml: file exists")
	require.NotContains(t, got.errout, "warning", "nothing was written")

	text, err := os.ReadFile(filepath.Join(dir, "west.yaml"))
	require.NoError(t, err)
	var object struct {
		Spec struct {
			Servers      []struct{ Endpoint string }
			ClientConfig struct{ BearerToken []byte }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &object))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+string(object.Spec.ClientConfig.BearerToken))
	answer := httptest.NewRecorder()
	apis["west"].ServeHTTP(answer, request)
	require.Equal(t, http.StatusOK, answer.Code, "the token is the one of the kubeconfig")
}
