//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// branchCNF is a CNF of two pods, and the key of its tunnel in the namespace of the objects.
const branchCNF = `
apiVersion: v1
kind: Secret
metadata: {name: account, namespace: edge}
stringData: {password: only-for-edge}
---
apiVersion: v1
kind: Secret
metadata: {name: headquarters, namespace: far}
stringData: {pre_shared_key: two words}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cnf, namespace: edge}
spec:
  replicas: 2
  selector: {matchLabels: {app: cnf}}
  template:
    metadata: {labels: {app: cnf}}
    spec: {containers: [{name: sdewan, image: example.test/none}]}
`

// branchPod is one of its pods.
const branchPod = `
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: edge
  labels: {app: cnf, sdewanPurpose: branch, cnf-account-secret: account}
  annotations:
    k8s.plugin.opnfv.org/nfn-network: '{"type": "ovn4nfv", "interface": [
      {"defaultGateway": "false", "interface": "net0", "name": "office"}, {"defaultGateway": "true", "interface": "net1", "name": "fibre"}]}'
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: cnf, uid: OWNER, controller: true}]
spec:
  nodeName: node-a
  containers: [{name: sdewan, image: example.test/none}]
`

// branchObjects configure it: by services of the device and at once in its kernel.
const branchObjects = `
kind: FirewallZone
metadata: {name: office}
spec: {network: [office], input: ACCEPT, output: ACCEPT, forward: ACCEPT}
---
kind: Mwan3Policy
metadata: {name: lines}
spec: {members: [{network: fibre, metric: 1, weight: 1}]}
---
kind: IpsecProposal
metadata: {name: strong}
spec: {encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072}
---
kind: IpsecSite
metadata: {name: headquarters}
spec:
  remote: 203.0.113.50
  authentication_method: psk
  pre_shared_key_secret: {name: headquarters}
  local_identifier: branch
  remote_identifier: headquarters
  crypto_proposal: [strong]
  connections:
  - {name: office, conn_type: tunnel, mode: start, local_subnet: 172.16.0.0/24, remote_subnet: 192.168.0.0/16, crypto_proposal: [strong]}
---
kind: CNFRouteRule
metadata: {name: desks}
spec: {src: 172.16.70.0/24, table: "40"}
---
kind: CNFNAT
metadata: {name: web}
spec: {proto: tcp, src_dport: "8080", dest_ip: 172.16.70.9, dest_port: "80", target: DNAT}
---
kind: NetworkFirewallRule
metadata: {name: no-telnet}
spec: {src: net1, proto: tcp, dest_port: "23", target: DROP}
`

// branch is one pod of the CNF, with the device behind it.
type branch struct {
	pod, address string
	device       *simulator.Device
	restarts     int
}

// TestDevicesInTrouble has two replicas of netloom configure the two pods of a CNF by objects of another namespace, and has
// one device restarted, wiped, hung and slow, and the replica that leads killed. The other device gets every change meanwhile;
// afterwards both hold the same.
func TestDevicesInTrouble(t *testing.T) {
	t.Parallel()
	w := &world{t: t, kube: startKube(t)}
	w.kube.Apply(nodes + sdwanNamespaces + "{apiVersion: v1, kind: Namespace, metadata: {name: far}}\n---\n" +
		"{apiVersion: v1, kind: Namespace, metadata: {name: " + home + "}}")
	w.installDefinitions()
	w.kube.Apply(branchCNF)
	first, second := w.branch("cnf-0", 71), w.branch("cnf-1", 72)
	pods := w.twoReplicas()
	w.applyBranch()
	w.awaitInSync(7)
	w.requireAlike(first, second)
	w.requireReports(first, second)
	w.awaitEvents("far", "", "Applied", 7)

	for i, tc := range []struct {
		name    string
		trouble func() (over func())
		waits   bool // nothing can be written to the device meanwhile
	}{
		{"restarted", func() func() { first.device.Restart(); w.podRestarted(first); return func() {} }, false},
		{"wiped", func() func() {
			first.device.Recreate()
			w.awaitEvents("edge", "Pod", "DriftRepaired", 1) // nothing said that the configuration was lost
			return func() {}
		}, false},
		{"hung", func() func() { first.device.Hang(); return first.device.Resume }, true},
		{"slow", func() func() { first.device.Delay(time.Second); return func() { first.device.Delay(0) } }, false},
	} {
		t.Log("a device is " + tc.name)
		over := tc.trouble()
		added, removed := fmt.Sprintf("zone-%d", i+1), fmt.Sprintf("zone-%d", i)
		w.zone("far", added)
		if i > 0 {
			w.deleteZone(removed)
		}
		w.awaitPod(added, "edge/cnf-1", "In Sync")
		if tc.waits {
			w.awaitZone("far", added, "Trying to apply", "")
			w.awaitEvents("far", "FirewallZone", "Trouble", 1)
			w.awaitEvents("far", "FirewallZone", "Deleting", 1)
			w.awaitZone("far", removed, "Being delete", "")
			w.awaitReport(first, "Not Available")
			w.killLeader(pods)
			w.awaitZone("far", removed, "Being delete", "")
		}
		over()
		w.awaitZone("far", added, "In Sync", "")
		if i > 0 {
			w.awaitGone(removed)
		}
		w.awaitInSync(8)
		w.requireAlike(first, second)
		w.requireReports(first, second)
	}
	t.Log("netloom restarts, and writes nothing")
	w.restartQuietly(first, second)
	requireNothingForbidden(t, w.kube)
}

// restartQuietly restarts netloom and waits until it has read devices back twice, without a write.
func (w *world) restartQuietly(all ...*branch) {
	w.t.Helper()
	for _, b := range all {
		b.device.Reset()
	}
	w.restart()
	await.True(w.t, func() bool {
		w.netloom.Running()
		return !slices.ContainsFunc(all, func(b *branch) bool { return reads(w.t, b.device) <= 2*kindsOfDevice })
	}, "the devices are read back")
}

// kindsOfDevice is how many lists a device is read back by.
const kindsOfDevice = 13

// reads counts the requests that a device got. There must be no writes and no reloads among them.
func reads(t *testing.T, d *simulator.Device) int {
	t.Helper()
	require.Empty(t, d.Actions())
	n := 0
	for _, q := range d.Requests() {
		if !q.Login {
			require.Equal(t, "GET", q.Method, "%+v", q)
			n++
		}
	}
	return n
}

// branch applies a pod of the CNF with a device behind it.
func (w *world) branch(pod string, network int) *branch {
	w.t.Helper()
	b := &branch{pod: pod, address: deviceAddress(w.t, network)}
	var err error
	b.device, err = simulator.New(simulator.Options{Strict: true, Password: "only-for-edge"})
	require.NoError(w.t, err)
	w.t.Cleanup(b.device.Close)
	require.NoError(w.t, b.device.Start(b.address+":80"))
	owner, err := w.kube.Client().AppsV1().StatefulSets("edge").Get(w.t.Context(), "cnf", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.kube.Apply(strings.NewReplacer("NAME", pod, "OWNER", string(owner.UID)).Replace(branchPod))
	w.kube.Status(b.status())
	return b
}

// status is that of the pod.
func (b *branch) status() string {
	return strings.NewReplacer("name: cnf-0", "name: "+b.pod, "NAMESPACE", "edge", "ADDRESS", b.address,
		"restartCount: 0", fmt.Sprint("restartCount: ", b.restarts)).Replace(cnfRuns)
}

// podRestarted has the pod's status report a restarted container.
func (w *world) podRestarted(b *branch) {
	w.t.Helper()
	b.restarts++
	w.kube.Status(b.status())
}

// twoReplicas installs netloom with the chart and runs both of its pods. The world's netloom is the one that leads.
func (w *world) twoReplicas() []*kubelab.Pod {
	w.t.Helper()
	w.kube.ApplyObjects(helm(w.t, home, map[string]any{
		"sdewan": true, "sdewan-plain-http": true, "sdewan-cluster-wide": true, "sdewan-interval": "1s", "sdewan-status-interval": "1s",
		"retry-max": "1s", "log-level": "debug",
		"leader-elect-lease-duration": "5s", "leader-elect-renew-deadline": "4s", "leader-elect-retry-period": "500ms",
	}, nil))
	d, err := w.kube.Client().AppsV1().Deployments(home).Get(w.t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(w.t, err)
	require.EqualValues(w.t, 2, *d.Spec.Replicas)
	var pods []*kubelab.Pod
	for i := range int(*d.Spec.Replicas) {
		p := runTemplate(w.t, w.kube, d, fmt.Sprintf("netloom-%d", i))
		p.AwaitReady()
		pods = append(pods, p)
	}
	w.netloom = pods[0]
	return pods
}

// killLeader ends the replica that leads and waits until the other one does.
func (w *world) killLeader(pods []*kubelab.Pod) {
	w.t.Helper()
	pods[0].Kill()
	w.netloom = pods[1]
	await.True(w.t, func() bool {
		w.netloom.Running()
		answer, err := w.netloom.Get("/readyz")
		return err == nil && !strings.Contains(answer, "standby")
	}, "the other replica leads")
}

// applyBranch applies the objects for the CNF, in another namespace.
func (w *world) applyBranch() {
	w.t.Helper()
	for _, o := range kubelab.Parse(w.t, branchObjects) {
		o.SetAPIVersion(v1alpha1.GroupVersion.String())
		o.SetNamespace("far")
		o.SetLabels(map[string]string{v1alpha1.LabelPurpose: "branch"})
		w.kube.ApplyObjects([]*unstructured.Unstructured{o})
	}
}

// awaitInSync waits until so many objects are in sync on both pods and have a finalizer.
func (w *world) awaitInSync(want int) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		n := 0
		for _, plural := range sdwanKinds() {
			list, err := w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource(plural)).Namespace("far").List(w.t.Context(), metav1.ListOptions{})
			require.NoError(w.t, err)
			for i := range list.Items {
				o := &list.Items[i]
				states := podStates(w.t, o)
				state, _, _ := unstructured.NestedString(o.Object, "status", "state")
				if state == "In Sync" && states["edge/cnf-0"] == state && states["edge/cnf-1"] == state &&
					len(o.GetFinalizers()) == 1 && o.GetDeletionTimestamp() == nil {
					n++
				}
			}
		}
		return n == want
	}, "%d objects are in sync on both pods", want)
}

// podStates are the states of an object on each pod.
func podStates(t *testing.T, o *unstructured.Unstructured) map[string]string {
	t.Helper()
	list, _, err := unstructured.NestedSlice(o.Object, "status", "pods")
	require.NoError(t, err)
	states := map[string]string{}
	for _, p := range list {
		name, _, _ := unstructured.NestedString(p.(map[string]any), "name")
		states[name], _, _ = unstructured.NestedString(p.(map[string]any), "state")
	}
	return states
}

// awaitPod waits for the state of a zone on one pod.
func (w *world) awaitPod(zone, pod, want string) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		o, err := w.zones().Get(w.t.Context(), zone, metav1.GetOptions{})
		require.NoError(w.t, err)
		return podStates(w.t, o)[pod] == want
	}, "%s", zone+" is "+want+" on "+pod)
}

// zones are the FirewallZones for the CNF.
func (w *world) zones() dynamic.ResourceInterface {
	return w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource("firewallzones")).Namespace("far")
}

// deleteZone deletes a FirewallZone, which goes when its finalizer does.
func (w *world) deleteZone(name string) {
	w.t.Helper()
	require.NoError(w.t, w.zones().Delete(w.t.Context(), name, metav1.DeleteOptions{}))
}

func (w *world) awaitGone(name string) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		_, err := w.zones().Get(w.t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, "%s", name+" is gone")
}

// requireAlike waits until two devices hold the same, also in the kernel, and strongSwan has the key of the tunnel as it is in the
// Secret.
func (w *world) requireAlike(a, b *branch) {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s holds\n%s\n%s holds\n%s", a.pod, strings.Join(holding(a.device), "\n"), b.pod, strings.Join(holding(b.device), "\n"))
		}
	}()
	await.True(w.t, func() bool { return slices.Equal(holding(a.device), holding(b.device)) }, "the devices hold the same")
	for _, d := range []*simulator.Device{a.device, b.device} {
		await.True(w.t, func() bool {
			secrets := d.Secrets()
			return len(secrets) == 1 && secrets[0].Key == "two words"
		}, "the key is loaded")
	}
}

// holding lists the sections and the commands for the kernel of a device in order. Rules between interfaces count once: after a
// restart of the container the device cannot remove their second copy.
func holding(d *simulator.Device) []string {
	sections := strings.Split(d.Export("firewall", "mwan3", "ipsec", "rule-cnf", "firewall-nat", "firewall-rule"), "\n\n")
	all := slices.Concat(sections, strings.Split(d.Kernel(), "\n"))
	slices.Sort(all)
	return slices.CompactFunc(all, func(a, b string) bool { return a == b && strings.HasPrefix(a, "iptables -t filter") })
}

// requireReports waits until the CNFStatus of the cluster shows what both pods report of themselves.
func (w *world) requireReports(want ...*branch) {
	w.t.Helper()
	await.True(w.t, func() bool {
		reports := w.reports()
		return len(reports) == len(want) &&
			!slices.ContainsFunc(want, func(b *branch) bool { return !reportsOf(w.t, reports[b.pod], b) })
	}, "both pods report")
}

// awaitReport waits until the CNFStatus shows this text as the report of a pod.
func (w *world) awaitReport(b *branch, want string) {
	w.t.Helper()
	await.True(w.t, func() bool { return w.reports()[b.pod].Status == want }, "%s", b.pod+" is "+want)
}

// reports are those of the CNFStatus of the cluster, by pod.
func (w *world) reports() map[string]v1alpha1.CNFInformation {
	w.t.Helper()
	w.netloom.Running()
	reports := map[string]v1alpha1.CNFInformation{}
	statuses := w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource("cnfstatuses")).Namespace("sdewan-system")
	got, err := statuses.Get(w.t.Context(), "cnf-status", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return reports
	}
	require.NoError(w.t, err)
	var s v1alpha1.CNFStatus
	require.NoError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, &s))
	for _, i := range s.Status.Information {
		reports[i.Name] = i
	}
	return reports
}

// reportsOf reports whether this is what a pod says of itself: every module, with its interfaces and the rule in its kernel.
func reportsOf(t *testing.T, i v1alpha1.CNFInformation, b *branch) bool {
	t.Helper()
	var modules []struct {
		Name   string          `json:"name"`
		Status json.RawMessage `json:"status"`
	}
	if i.Namespace != "edge" || i.IP != b.address || i.Purpose != "branch" || json.Unmarshal([]byte(i.Status), &modules) != nil {
		return false
	}
	texts := map[string]string{}
	for _, m := range modules {
		texts[m.Name] = string(m.Status)
	}
	require.NotContains(t, i.Status, "two words", "no key is shown")
	require.Equal(t, []string{"conntrack", "interface", "ipsec", "route", "rule", "wan"}, slices.Sorted(maps.Keys(texts)))
	return strings.Contains(texts["interface"], "172.16.70.39") && strings.Contains(texts["rule"], `172.16.70.0/24`) &&
		strings.Contains(texts["ipsec"], "success")
}

// awaitEvents waits until at least so many objects of a kind, "" for any, have an Event with a reason.
func (w *world) awaitEvents(namespace, kind, reason string, want int) {
	w.t.Helper()
	await.True(w.t, func() bool {
		list, err := w.kube.Client().CoreV1().Events(namespace).List(w.t.Context(), metav1.ListOptions{})
		require.NoError(w.t, err)
		about := map[string]bool{}
		for _, e := range list.Items {
			if e.Reason == reason && (kind == "" || e.InvolvedObject.Kind == kind) {
				about[e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name] = true
			}
		}
		return len(about) >= want
	}, "%d objects have the Event %s", want, reason)
}
