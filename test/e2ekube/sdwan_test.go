//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	sdwan "github.com/netloom/netloom/deploy/examples/sdwan"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// sdwanNamespaces are those that SD-WAN needs besides.
const sdwanNamespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: edge}
---
apiVersion: v1
kind: Namespace
metadata: {name: sdewan-system}
---
`

// TestSDWAN configures a simulated CNF as the SD-WAN resources of an API server say, under the rights of the
// component for it: each is used, and each is missed.
func TestSDWAN(t *testing.T) {
	t.Parallel()
	w, objects := newSDWAN(t)
	names := w.inSync(objects)
	require.Greater(t, len(names), 5)
	t.Logf("%d objects are in sync", len(names))

	t.Log("an object is deleted, and goes once the device has removed it")
	rule := w.sdwan("firewallrules")
	require.NoError(t, rule.Delete(t.Context(), "no-mail-from-desks", metav1.DeleteOptions{}))
	await.True(t, func() bool {
		_, err := rule.Get(t.Context(), "no-mail-from-desks", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, "the finalizer is taken away")
	w.kube.Apply(sdwanRule("25"))

	requireNothingForbidden(t, w.kube)
	w.sdwanRights()
}

// newSDWAN installs netloom with the component for SD-WAN, and the examples with a device behind them.
func newSDWAN(t *testing.T) (*world, []*unstructured.Unstructured) {
	t.Helper()
	w := &world{t: t, kube: startKube(t, "WatchList=false"), ovn: startOVN(t)}
	w.kube.Apply(nodes + namespaces + sdwanNamespaces)
	address := deviceAddress(t, 66)
	program, err := buildOnce()
	require.NoError(t, err)
	device := ovnlab.Spawn(t, filepath.Join(t.TempDir(), "device.log"), os.Environ(), program, "device-sim", "--listen", address+":80", "--password", "only-for-the-demo")
	await.True(t, func() bool { return strings.Contains(device.Tail(5), "serving") }, "the device serves")
	w.kube.ApplyObjects(central(t, "sdewan")(settingsFor(w.ovn) +
		"sdewan: true\nsdewan-plain-http: true\nsdewan-interval: 1s\nsdewan-status-interval: 1s\n"))
	w.netloom = run(t, w.kube, home, "netloom")
	w.withoutDefinitions()
	return w, w.sdwanExamples(address)
}

// withoutDefinitions runs netloom before the kinds of SD-WAN are defined, and then defines them: that is reported, all else
// goes on, and nothing is deleted.
func (w *world) withoutDefinitions() {
	w.t.Helper()
	const degraded = "cannot be read, so settings of CNFs stay as they are"
	w.awaitReadiness(degraded)
	open := w.peopled()
	w.kube.Apply(policies)
	require.Less(w.t, w.converge(), open)
	settled := w.ovn.Dump()
	w.end()
	w.netloom.Restart()
	w.awaitReadiness(degraded)
	w.netloom.AwaitReady()
	require.Equal(w.t, settled, w.ovn.Dump())
	w.t.Log("the definitions come")
	w.installDefinitions()
	w.awaitReadiness("ok\n")
	require.Equal(w.t, settled, w.ovn.Dump())
}

// installDefinitions applies deploy/crds and waits until they are served.
func (w *world) installDefinitions() {
	w.t.Helper()
	files, err := filepath.Glob(root + "/deploy/crds/" + v1alpha1.Group + "_*.yaml")
	require.NoError(w.t, err)
	require.Len(w.t, files, 19)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(w.t, err)
		w.kube.Apply(string(raw))
	}
	await.True(w.t, func() bool {
		list, err := w.kube.Client().Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
		return err == nil && len(list.APIResources) == 2*len(files)
	}, "the SD-WAN kinds are served")
}

// deviceAddress adds an address to the loopback interface for as long as the test runs, for a device that a pod stands for: a
// pod on 127.0.0.0/8 has no address. It is of the range for tests of networks (RFC 2544), and of this process alone.
func deviceAddress(t *testing.T, network int) string {
	t.Helper()
	address := fmt.Sprintf("198.18.%d.%d", network, 1+os.Getpid()&0x7f)
	ip := func(verb string) error {
		return exec.CommandContext(context.WithoutCancel(t.Context()), "ip", "address", verb, address+"/32", "dev", "lo").Run()
	}
	require.NoError(t, ip("replace"))
	t.Cleanup(func() { require.NoError(t, ip("delete")) })
	return address
}

// sdwanExamples applies the examples for SD-WAN. Their pod gets the address of a device.
func (w *world) sdwanExamples(address string) []*unstructured.Unstructured {
	w.t.Helper()
	files, err := fs.Glob(sdwan.Files, "*.yaml")
	require.NoError(w.t, err)
	var all []*unstructured.Unstructured
	for _, f := range files {
		raw, err := fs.ReadFile(sdwan.Files, f)
		require.NoError(w.t, err)
		for _, o := range kubelab.Parse(w.t, strings.ReplaceAll(string(raw), "10.244.1.60", address)) {
			status, ok := o.Object["status"]
			delete(o.Object, "status")
			w.kube.ApplyObjects([]*unstructured.Unstructured{o})
			if ok {
				o.Object["status"] = status
				w.kube.StatusObjects([]*unstructured.Unstructured{o})
			}
			if o.GroupVersionKind().Group == v1alpha1.GroupVersion.Group {
				all = append(all, o)
			}
		}
	}
	return all
}

// inSync waits until all objects that are for a device report it, and name it.
func (w *world) inSync(objects []*unstructured.Unstructured) []string {
	w.t.Helper()
	var names []string
	missing := ""
	await.True(w.t, func() bool {
		w.netloom.Running()
		names, missing = nil, ""
		for _, o := range objects {
			plural := strings.ToLower(o.GetKind()) + "s"
			if strings.HasSuffix(plural, "ys") {
				plural = strings.TrimSuffix(plural, "ys") + "ies"
			}
			if plural == "cnfstatuss" {
				continue
			}
			got, err := w.sdwan(plural).Get(w.t.Context(), o.GetName(), metav1.GetOptions{})
			require.NoError(w.t, err)
			if state, _, _ := unstructured.NestedString(got.Object, "status", "state"); state != "In Sync" {
				missing = fmt.Sprintf("%s %s: %v", o.GetKind(), o.GetName(), got.Object["status"])
				return false
			}
			names = append(names, o.GetKind()+"/"+o.GetName())
		}
		return true
	}, "everything is in sync")
	require.Empty(w.t, missing)
	return names
}

// ruleState is the state of the rule of the examples.
func (w *world) ruleState() string {
	w.t.Helper()
	got, err := w.sdwan("firewallrules").Get(w.t.Context(), "no-mail-from-desks", metav1.GetOptions{})
	require.NoError(w.t, err)
	state, _, err := unstructured.NestedString(got.Object, "status", "state")
	require.NoError(w.t, err)
	return state
}

// sdwan are the objects of an SD-WAN kind.
func (w *world) sdwan(plural string) dynamic.ResourceInterface {
	return w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource(plural)).Namespace("edge")
}

// sdwanRule is the rule of the examples with a port.
func sdwanRule(port string) string {
	return `
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: FirewallRule
metadata: {name: no-mail-from-desks, namespace: edge, labels: {sdewanPurpose: branch}}
spec: {src: office, dest: internet, proto: tcp, dest_port: "` + port + `", target: REJECT}
`
}

// used reports whether netloom has used a right.
func (w *world) used(r right) bool {
	w.t.Helper()
	return slices.ContainsFunc(w.kube.Audit(account), func(q kubelab.Request) bool { return r.uses(q) && !q.Forbidden })
}
