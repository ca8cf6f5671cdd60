//go:build e2e

package e2ekube_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
)

// fromB lets pods of cluster b with a label reach the database of cluster a.
const fromB = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: from-b}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress:
  - from:
    - namespaceSelector: {matchLabels: {netloom.io/cluster: b, team: retail}}
      podSelector: {matchLabels: {app: checkout}}
    ports: [{port: 5432}]
`

// remote is a pod of cluster b.
var remote = pod{"shop", "web", "10.245.1.10", "fd00:245:1::10", "node-a"}

// TestPodsOfAnotherCluster runs netloom of cluster a with a second cluster b, each with an API server of its own: labels in b
// decide who reaches a pod of a, whose database then sees one transaction. The API server of b goes away and comes back, netloom
// restarts meanwhile, and b leaves the set. Netloom has no right in b but to read pods and namespaces, and needs both.
func TestPodsOfAnotherCluster(t *testing.T) {
	t.Parallel()
	b := startKube(t)
	b.Apply(nodes + namespaces)
	bw := &world{t: t, kube: b}
	bw.create(remote, "app: checkout")
	b.ApplyObjects(otherObjects(t))

	w := &world{t: t, kube: startKube(t), ovn: startOVN(t)}
	w.kube.Apply(nodes + namespaces)
	w.create(db, "app: db")
	w.kube.Apply(fromB)
	w.kube.ApplyObjects(central(t, "peers")(settingsFor(w.ovn) + "cluster: a\npeer-clusters: [b]\npeer-kubeconfig: /etc/netloom/peers/kubeconfig\n"))
	w.peersSecret(b)
	w.netloom = run(t, w.kube, home, "netloom")
	w.netloom.AwaitReady()
	require.True(t, w.isPeer(remote))

	changes := make(chan nbwatch.Change, 1000)
	watch, err := nbwatch.Start(t.Context(), w.ovn.NBUnix(), func(c nbwatch.Change) { changes <- c }, "ACL", "Address_Set", "Port_Group")
	require.NoError(t, err)
	for _, label := range []string{"old", "checkout"} {
		w.peerLabel(b, label)
		for range 2 { // address families
			c := <-changes
			require.Equal(t, "Address_Set", c.Table, "a label writes no rule")
		}
		require.Equal(t, label == "checkout", w.isPeer(remote))
	}
	require.NoError(t, watch.Close())
	require.Empty(t, changes)

	before := w.ovn.Dump()
	b.KillAPI()
	w.awaitLost(true)
	require.Equal(t, before, w.ovn.Dump(), "nothing opens or closes")
	b.StartAPI()
	w.awaitLost(false)
	for _, only := range []string{"pods", "namespaces"} { // neither right is enough
		b.Apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: netloom-peer}\n" +
			"rules: [{apiGroups: [\"\"], resources: [" + only + "], verbs: [list, watch]}]\n")
		b.KillAPI() // watches that are open stay open
		b.StartAPI()
		w.awaitLost(true)
		require.Equal(t, before, w.ovn.Dump(), "nothing opens or closes")
		b.ApplyObjects(otherObjects(t))
		w.awaitLost(false)
	}
	w.netloom.Stop()
	w.netloom.Restart()
	w.netloom.AwaitReady()
	require.Equal(t, before, w.ovn.Dump(), "a restart writes nothing")

	w.netloom.Stop()
	w.netloom = run(t, w.kube, home, "netloom", "NETLOOM_PEER_CLUSTERS=")
	w.netloom.AwaitReady()
	require.False(t, w.isPeer(remote), "b has left the set")
	w.netloom.Stop()
	testUpstreams(t, w, b)
}

// upstreamsRole is the role of the component that lets netloom read UpstreamClusters.
const upstreamsRole = "netloom-upstreams"

// testUpstreams has cluster b join and leave with its UpstreamCluster in the API of the own cluster, without a restart.
// While netloom may not read such objects, b stays.
func testUpstreams(t *testing.T, w *world, b *kubelab.Lab) {
	t.Helper()
	definition, err := os.ReadFile(root + "/deploy/crds/proxy.kubegateway.io_upstreamclusters.yaml")
	require.NoError(t, err)
	w.kube.Apply(string(definition))
	clusters := w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster))
	await.True(t, func() bool {
		_, err := clusters.List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, "the server has UpstreamClusters")
	config := b.Config()
	ca, err := os.ReadFile(config.CAFile)
	require.NoError(t, err)
	w.kube.Apply(`apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: b}
spec:
  servers: [{endpoint: "` + config.Host + `"}]
  clientConfig: {bearerToken: ` + base64.StdEncoding.EncodeToString([]byte(b.Token(home, "netloom-peer"))) + `, caData: ` + base64.StdEncoding.EncodeToString(ca) + `}
  dispatchPolicies: [{rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}]
`)
	objects := central(t, "upstreams")(settingsFor(w.ovn) + "cluster: a\nupstreams: crd\n")
	w.kube.ApplyObjects(objects)
	w.netloom = run(t, w.kube, home, "netloom")
	w.netloom.AwaitReady()
	require.True(t, w.isPeer(remote), "b has joined the set")

	w.kube.Apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + upstreamsRole + "}\nrules: []\n")
	w.kube.KillAPI() // watches that are open stay open
	w.kube.StartAPI()
	unread := func() bool {
		text, err := w.netloom.Get("/readyz")
		return err == nil && strings.Contains(text, "the list of other clusters has not been readable for ")
	}
	await.True(t, unread, "a missing permission is reported")
	require.True(t, w.isPeer(remote), "b stays in the set")
	w.kube.ApplyObjects([]*unstructured.Unstructured{deployment.Find(objects, "ClusterRole", upstreamsRole)})
	await.True(t, func() bool { return !unread() }, "UpstreamClusters are read again")
	require.NoError(t, clusters.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	await.True(t, func() bool { return !w.isPeer(remote) }, "b leaves the set")
	w.netloom.Stop()
}

// otherObjects are what a cluster gives netloom of another one.
func otherObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := deployment.Kustomize(filepath.Join(deployDir, "peer"))
	require.NoError(t, err)
	return objects
}

// awaitLost waits until netloom reports that b cannot be read, or no longer does.
func (w *world) awaitLost(lost bool) {
	w.t.Helper()
	await.True(w.t, func() bool {
		text, err := w.netloom.Get("/readyz")
		return err == nil && lost == strings.Contains(text, "cluster b has not been readable for ")
	}, "b can be read or not")
}

// isPeer reports whether an address set has the addresses of a pod.
func (w *world) isPeer(p pod) bool {
	w.t.Helper()
	sets := w.ovn.NBCtl("--bare", "--columns=addresses", "list", "Address_Set")
	return strings.Contains(sets, p.v4) && strings.Contains(sets, p.v6)
}

// peersSecret stores how to reach another cluster, under the name b.
func (w *world) peersSecret(b *kubelab.Lab) {
	w.t.Helper()
	config, err := clientcmd.LoadFromFile(b.TokenKubeconfig("peer", b.Token(home, "netloom-peer")))
	require.NoError(w.t, err)
	require.NoError(w.t, clientcmdapi.FlattenConfig(config))
	config.Contexts["b"] = config.Contexts[config.CurrentContext]
	config.CurrentContext = ""
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, clientcmd.WriteToFile(*config, path))
	raw, err := os.ReadFile(path)
	require.NoError(w.t, err)
	w.kube.Apply("apiVersion: v1\nkind: Secret\nmetadata: {namespace: " + home + ", name: netloom-peers}\nstringData:\n  kubeconfig: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(string(raw)), "\n", "\n    ") + "\n")
}

// peerLabel changes the label app of the pod of b.
func (w *world) peerLabel(b *kubelab.Lab, app string) {
	w.t.Helper()
	_, err := b.Client().CoreV1().Pods(remote.namespace).Patch(w.t.Context(), remote.name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app":"`+app+`"}}}`), metav1.PatchOptions{})
	require.NoError(w.t, err)
}
