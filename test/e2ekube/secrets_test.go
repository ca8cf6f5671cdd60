//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/await"
)

// secretCNF is a CNF whose password and certificate are each in a Secret.
const secretCNF = `
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: v1
kind: Secret
metadata: {name: account, namespace: NAMESPACE}
stringData: {password: only-for-NAMESPACE}
---
apiVersion: v1
kind: Secret
metadata: {name: authority, namespace: NAMESPACE}
stringData: {ca.crt: CERTIFICATE}
---
apiVersion: v1
kind: Pod
metadata:
  name: cnf-0
  namespace: NAMESPACE
  labels: {sdewanPurpose: branch, cnf-account-secret: account, cnf-cert-secret: authority}
  annotations:
    k8s.plugin.opnfv.org/nfn-network: '{"type": "ovn4nfv", "interface": [{"defaultGateway": "false", "interface": "net0", "name": "office"}]}'
spec:
  nodeName: node-a
  containers: [{name: sdewan, image: example.test/none}]
`

const cnfRuns = `
apiVersion: v1
kind: Pod
metadata: {namespace: NAMESPACE, name: cnf-0}
status:
  phase: Running
  podIP: ADDRESS
  podIPs: [{ip: ADDRESS}]
  conditions: [{type: Ready, status: "True"}]
  containerStatuses: [{name: sdewan, ready: true, restartCount: 0, image: example.test/none, imageID: ""}]
`

// TestSecretsOfSomeNamespaces narrows the chart's right to read Secrets to one namespace. A CNF there is configured as
// before; one elsewhere reports what netloom may not read, and the configuration of its device stays.
func TestSecretsOfSomeNamespaces(t *testing.T) {
	t.Parallel()
	w := &world{t: t, kube: startKube(t)}
	w.kube.Apply(nodes + sdwanNamespaces + `{apiVersion: v1, kind: Namespace, metadata: {name: ` + home + `}}`)
	w.installDefinitions()
	sdwan, far := w.cnfWithSecrets("edge", 67), w.cnfWithSecrets("far", 68)
	w.release()
	w.netloom = run(t, w.kube, home, "netloom")
	w.netloom.AwaitReady()
	for _, namespace := range []string{"edge", "far"} {
		w.zone(namespace, "first")
		w.awaitZone(namespace, "first", "In Sync", "")
	}
	requireNothingForbidden(t, w.kube)

	t.Log("Secrets of one namespace")
	before := far.Export()
	require.Contains(t, before, "config zone")
	w.release("edge")
	w.restart()
	w.zone("edge", "second")
	w.zone("far", "second")
	w.awaitZone("edge", "second", "In Sync", "")
	refusal := `read Secret far/authority: secrets "authority" is forbidden: User "` + account + `" cannot get resource "secrets"`
	w.awaitZone("far", "second", "Trying to apply", refusal)
	w.awaitZone("far", "first", "Trying to apply", refusal)
	w.awaitReadiness("degraded: when it last tried, netloom was not allowed to get secrets in far: " + refusal)
	w.zone("edge", "third")
	w.awaitZone("edge", "third", "In Sync", "")
	for range 30 {
		answer, err := w.netloom.Get("/readyz")
		require.NoError(t, err, "it is degraded, and ready")
		require.Contains(t, answer, "secrets in far", "what may be read elsewhere changes nothing")
		require.NotContains(t, answer, "secrets in edge")
		time.Sleep(100 * time.Millisecond) // pause: while those of both are read every second
	}
	require.Contains(t, sdwan.Export(), "config zone")
	require.Equal(t, before, far.Export(), "nothing is deleted, nothing added")

	t.Log("an object that is deleted stays while its device cannot be asked")
	zones := w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource("firewallzones")).Namespace("far")
	require.NoError(t, zones.Delete(t.Context(), "first", metav1.DeleteOptions{}))
	w.awaitZone("far", "first", "Being delete", refusal)
	require.Equal(t, before, far.Export())
	w.requireSecretsForbiddenIn("far")

	t.Log("those of the other too")
	w.release("edge", "far")
	w.awaitZone("far", "second", "In Sync", "")
	await.True(t, func() bool {
		_, err := zones.Get(t.Context(), "first", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, "the object goes")
	w.awaitReadiness("ok\n")
}

// release applies the chart as Helm does: what an earlier release had and this one has not goes.
func (w *world) release(namespaces ...any) {
	w.t.Helper()
	settings := map[string]any{"sdewan": true, "sdewan-interval": "1s", "retry-max": "1s", "log-level": "debug"}
	objects := helm(w.t, home, settings, map[string]any{"sdewan": map[string]any{"secretNamespaces": namespaces}})
	w.kube.ApplyObjects(objects)
	if len(namespaces) > 0 {
		w.dropSecretsEverywhere()
	}
	awaitRoles(w.t, w.kube, objects)
}

// dropSecretsEverywhere deletes the right to read the Secrets of all namespaces.
func (w *world) dropSecretsEverywhere() {
	w.t.Helper()
	roles := w.kube.Client().RbacV1()
	for _, err := range []error{
		roles.ClusterRoleBindings().Delete(w.t.Context(), "netloom-sdewan-secrets", metav1.DeleteOptions{}),
		roles.ClusterRoles().Delete(w.t.Context(), "netloom-sdewan-secrets", metav1.DeleteOptions{}),
	} {
		require.True(w.t, err == nil || apierrors.IsNotFound(err), "%v", err)
	}
	everywhere := right{resource: "secrets", verb: "get"}
	await.True(w.t, func() bool { return !may(w.t, w.kube, account, everywhere) }, "the server knows")
}

// cnfWithSecrets applies a CNF whose Secrets netloom needs, with a device behind it.
func (w *world) cnfWithSecrets(namespace string, network int) *simulator.Device {
	w.t.Helper()
	address := deviceAddress(w.t, network)
	device, err := simulator.New(simulator.Options{
		TLS: true, Strict: true, Password: "only-for-" + namespace,
		Names: []string{strings.ReplaceAll(address, ".", "-") + "." + namespace + ".pod.cluster.local"},
	})
	require.NoError(w.t, err)
	w.t.Cleanup(device.Close)
	require.NoError(w.t, device.Start(address+":443"))
	authority, err := json.Marshal(string(device.CA()))
	require.NoError(w.t, err)
	fill := strings.NewReplacer("NAMESPACE", namespace, "CERTIFICATE", string(authority), "ADDRESS", address)
	w.kube.Apply(fill.Replace(secretCNF))
	w.kube.Status(fill.Replace(cnfRuns))
	return device
}

// zone applies a FirewallZone.
func (w *world) zone(namespace, name string) {
	w.t.Helper()
	w.kube.Apply(`
apiVersion: ` + v1alpha1.GroupVersion.String() + `
kind: FirewallZone
metadata: {name: ` + name + `, namespace: ` + namespace + `, labels: {sdewanPurpose: branch}}
spec: {network: [office], input: ACCEPT, output: ACCEPT, forward: ACCEPT}
`)
}

// awaitZone waits until a FirewallZone says this of itself.
func (w *world) awaitZone(namespace, name, state, message string) {
	w.t.Helper()
	zones := w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource("firewallzones")).Namespace(namespace)
	await.True(w.t, func() bool {
		w.netloom.Running()
		o, err := zones.Get(w.t.Context(), name, metav1.GetOptions{})
		require.NoError(w.t, err)
		is, _, _ := unstructured.NestedString(o.Object, "status", "state")
		says, _, _ := unstructured.NestedString(o.Object, "status", "message")
		return is == state && strings.Contains(says, message)
	}, "%s/%s is %s %s", namespace, name, state, message)
}

// requireSecretsForbiddenIn checks that netloom has asked in vain only for the Secrets of one namespace.
func (w *world) requireSecretsForbiddenIn(namespace string) {
	w.t.Helper()
	forbidden := 0
	for _, q := range w.kube.Audit(account) {
		if q.Forbidden {
			forbidden++
			require.Equal(w.t, [3]string{"get", "secrets", namespace}, [3]string{q.Verb, q.Resource, q.Namespace}, "%+v", q)
		}
	}
	require.Positive(w.t, forbidden)
}
