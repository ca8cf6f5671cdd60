package kubeconfig_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/gateway/definition"
	"github.com/netloom/netloom/pkg/gateway/kubeconfig"
	"github.com/netloom/netloom/pkg/serve/authority"
)

// load reads a kubeconfig with clusters, users and contexts in YAML.
func load(t *testing.T, clusters, users, contexts string) (out []kubeconfig.Context, refused []error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\nclusters:\n" + clusters + "users:\n" + users + "contexts:\n" + contexts
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	config, err := kubeconfig.Load(path)
	require.NoError(t, err)
	return kubeconfig.TakeOver(config)
}

// one is what becomes of one context with a cluster and a user.
func one(t *testing.T, cluster, user string) (*kubeconfig.Context, error) {
	t.Helper()
	out, refused := load(t, "- {name: c, cluster: {"+cluster+"}}\n", "- {name: u, user: {"+user+"}}\n", "- {name: prod, context: {cluster: c, user: u}}\n")
	if len(out) == 0 {
		return nil, errors.Join(refused...)
	}
	return &out[0], nil
}

func TestContextsAreTakenOverInFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	signer, err := authority.New("ca", time.Now(), authority.Year)
	require.NoError(t, err)
	pair, err := signer.Client("ann")
	require.NoError(t, err)
	for name, text := range map[string][]byte{"ca": signer.PEM(), "cert": pair.Cert, "key": pair.Key, "token": []byte("from-file\n")} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	got, err := one(t, `server: "https://192.0.2.1:6443/", tls-server-name: api.example, certificate-authority: `+dir+"/ca",
		"token: ignored, tokenFile: "+dir+"/token, client-certificate: "+dir+"/cert, client-key: "+dir+"/key")
	require.NoError(t, err)
	spec := got.Object.Spec
	require.Equal(t, "https://192.0.2.1:6443", spec.Servers[0].Endpoint)
	require.Equal(t, "api.example", spec.ClientConfig.ServerName)
	require.Equal(t, "from-file", string(spec.ClientConfig.BearerToken), "the file takes precedence, as in client-go")
	require.Equal(t, [3]string{string(signer.PEM()), string(pair.Cert), string(pair.Key)},
		[3]string{string(spec.ClientConfig.CAData), string(spec.ClientConfig.CertData), string(spec.ClientConfig.KeyData)})

	got, err = one(t, `server: "https://h", insecure-skip-tls-verify: true`, "token: abc")
	require.NoError(t, err)
	require.True(t, got.Object.Spec.ClientConfig.Insecure)
	require.Equal(t, "abc", string(got.Object.Spec.ClientConfig.BearerToken))

	text, err := yaml.Marshal(got.Object)
	require.NoError(t, err)
	require.NotContains(t, string(text), "abc", "in base64")
	entries := definition.Read(text)
	require.Len(t, entries, 1)
	require.NoError(t, entries[0].Err, "what is written can be read")
	require.Equal(t, got.Object.Spec, entries[0].Object.Spec)
}

func TestWhatCannotBeTakenOverIsRefused(t *testing.T) {
	t.Parallel()
	const server = `server: "https://192.0.2.1:6443"`
	for want, with := range map[string][2]string{
		`context "prod": the user has the exec plugin aws, whose credentials do not last`:  {server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}"},
		`context "prod": the user has the auth-provider gcp`:                               {server, "auth-provider: {name: gcp}"},
		`context "prod": the user has a password`:                                          {server, "username: ann, password: secret"},
		"context \"prod\": the user has `as`":                                              {server, "token: abc, as: bob"},
		`context "prod": proxy-url`:                                                        {server + `, proxy-url: "http://proxy"`, "token: abc"},
		`context "prod": server https://rancher.example…: the gateway cannot take over`:    {`server: "https://rancher.example/k8s/clusters/c-1"`, "token: abc"},
		`context "prod": server "192.0.2.1": expected https://HOST:PORT`:                   {`server: "192.0.2.1"`, "token: abc"},
		`context "prod": server: it is no URL`:                                             {`server: "https://secret:abc@[::1"`, "token: abc"},
		`context "prod": server "ftp://u:xxxxx@a": expected https://HOST:PORT`:             {`server: "ftp://u:secret@a"`, "token: abc"},
		`context "prod": server https://h…: the gateway cannot take over a URL`:            {`server: "https://u:secret@h"`, "token: abc"},
		`context "prod": server "ftp://a": expected https://HOST:PORT`:                     {`server: "ftp://a"`, "token: abc"},
		`context "prod": certificate-authority: stat /none`:                                {server + ", certificate-authority: /none", "token: abc"},
		`context "prod": tokenFile: /dev/zero: expected a regular file of at most`:         {server, "tokenFile: /dev/zero"},
		`context "prod": spec.clientConfig: Invalid value: certData and keyData must be`:   {server, "client-certificate-data: YQ=="},
		`context "prod": spec.clientConfig.caData: there is no certificate in PEM format`:  {server + `, certificate-authority-data: YQ==`, "token: abc"},
		`context "prod": spec.clientConfig: Invalid value: caData has no effect with inse`: {server + `, insecure-skip-tls-verify: true, certificate-authority-data: YQ==`, "token: abc"},
	} {
		_, err := one(t, with[0], with[1])
		require.ErrorContains(t, err, want)
		for _, secret := range []string{"abc", "secret"} {
			require.NotContains(t, err.Error(), secret)
		}
	}
	good := "- {name: good, context: {cluster: c, user: u, namespace: shop}}\n"
	out, refused := load(t, "- {name: c, cluster: {"+server+"}}\n", "- {name: u, user: {token: abc}}\n",
		"- {name: a, context: {cluster: none, user: u}}\n- {name: b, context: {cluster: c, user: none}}\n- {name: nobody, context: {cluster: c}}\n"+good)
	require.Len(t, refused, 2)
	require.EqualError(t, refused[0], `context "a": there is no cluster "none"`)
	require.EqualError(t, refused[1], `context "b": there is no user "none"`)
	require.Equal(t, []string{"good", "nobody"}, []string{out[0].Name, out[1].Name}, "the others are taken over")
	require.Equal(t, "shop", out[0].Namespace)
}

func TestNamesOfContexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	contexts := []string{"prod", "kind-kind", "Prod", "ann@prod", "ann/prod", "gke_p_europe-west4-a_prod", "arn:aws:eks:eu-west-1:123:cluster/prod", "127.0.0.1", "::", "日本", long, strings.Repeat("a.", 200)}
	var text strings.Builder
	for _, c := range contexts {
		text.WriteString("- {name: \"" + c + "\", context: {cluster: c, user: u}}\n")
	}
	out, refused := load(t, "- {name: c, cluster: {server: \"https://192.0.2.1\"}}\n", "- {name: u, user: {token: abc}}\n", text.String())
	require.Empty(t, refused, "all are DNS names")
	got, of := map[string]string{}, map[string]string{}
	for _, c := range out {
		require.Empty(t, of[c.Object.Name], "two contexts have the name %s", c.Object.Name)
		got[c.Name], of[c.Object.Name] = c.Object.Name, c.Name
		require.Nil(t, net.ParseIP(c.Object.Name), "TLS has no server name for an address")
		for label := range strings.SplitSeq(c.Object.Name, ".") {
			require.LessOrEqual(t, len(label), 63)
		}
	}
	require.Len(t, got, len(contexts))
	for context, want := range map[string]string{
		"prod": "prod", "kind-kind": "kind-kind", "gke_p_europe-west4-a_prod": "gke-p-europe-west4-a-prod", "127.0.0.1": "context-127-0-0-1",
		"arn:aws:eks:eu-west-1:123:cluster/prod": "arn-aws-eks-eu-west-1-123-cluster-prod",
	} {
		require.Equal(t, want, got[context])
	}
	require.Regexp(t, `^prod-[0-9a-f]{8}$`, got["Prod"])
	require.Regexp(t, `^ann-prod-[0-9a-f]{8}$`, got["ann@prod"])
	require.Regexp(t, `^x{54}-[0-9a-f]{8}$`, got[long])
}

func TestTheOwnersKubeconfig(t *testing.T) {
	t.Parallel()
	contexts, refused := load(t, "- {name: c, cluster: {server: \"https://192.0.2.1\"}}\n", "- {name: u, user: {token: abc}}\n",
		"- {name: Prod, context: {cluster: c, user: u, namespace: shop}}\n- {name: test, context: {cluster: c, user: u}}\n")
	require.Empty(t, refused)
	owner, err := kubeconfig.NewOwner(contexts, time.Now())
	require.NoError(t, err)
	for listen, want := range map[string]string{
		"127.0.0.1:6443": "https://127.0.0.1:6443", "0.0.0.0:1": "https://127.0.0.1:1", "[::]:1": "https://127.0.0.1:1", "[::1]:1": "https://[::1]:1", "192.0.2.7:1": "https://192.0.2.7:1",
	} {
		at, err := net.ResolveTCPAddr("tcp", listen)
		require.NoError(t, err)
		text, err := owner.Kubeconfig(at, contexts, "test")
		require.NoError(t, err)
		require.NotContains(t, string(text), "YWJj", "no credential of a cluster")
		config, err := clientcmd.Load(text)
		require.NoError(t, err)
		require.NoError(t, clientcmd.Validate(*config))
		require.Equal(t, "test", config.CurrentContext)
		require.Equal(t, "shop", config.Contexts["Prod"].Namespace)
		require.Equal(t, want, config.Clusters[config.Contexts["Prod"].Cluster].Server)
		require.Equal(t, "prod", config.Clusters[config.Contexts["Prod"].Cluster].TLSServerName)
	}
	for _, c := range contexts {
		raw, err := yaml.Marshal(c.Object)
		require.NoError(t, err)
		require.NoError(t, definition.Read(raw)[0].Err, "the certificates are valid")
	}
}

func TestAKubeconfigReplacesOnlyItsOwnKind(t *testing.T) {
	t.Parallel()
	contexts, _ := load(t, "- {name: c, cluster: {server: \"https://192.0.2.1\"}}\n", "- {name: u, user: {token: abc}}\n", "- {name: a, context: {cluster: c, user: u}}\n")
	owner, err := kubeconfig.NewOwner(contexts, time.Now())
	require.NoError(t, err)
	text, err := owner.Kubeconfig(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, contexts, "")
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	for range 2 {
		require.NoError(t, kubeconfig.Write(path, text))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\n"), 0o600))
	require.ErrorContains(t, kubeconfig.Write(path, text), path+" exists, and is not one that netloom gateway has written")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(path, link))
	require.ErrorContains(t, kubeconfig.Write(link, text), "not a regular file")
	require.ErrorContains(t, kubeconfig.Write(filepath.Join(dir, "none", "x"), text), "no such file or directory")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no drafts are left")
}
