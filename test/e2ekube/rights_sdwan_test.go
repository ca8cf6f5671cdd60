//go:build e2e

package e2ekube_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// furtherKinds has an object of each kind that the examples lack.
const furtherKinds = `
{kind: FirewallSNAT, metadata: {name: one}, spec: {src: office, src_ip: 172.16.0.2, src_dip: 203.0.113.9, dest: internet, proto: tcp}}
---
{kind: FirewallDNAT, metadata: {name: one}, spec: {src: internet, src_dport: "8025", dest: office, dest_ip: 172.16.0.3, dest_port: "25", proto: tcp}}
---
{kind: NetworkFirewallRule, metadata: {name: one}, spec: {src: net0, dest: net1, src_ip: 172.16.9.0/24, proto: tcp, target: REJECT}}
---
{kind: CNFNAT, metadata: {name: one}, spec: {src_ip: 10.5.0.0/16, dest: "#default", target: MASQUERADE}}
---
{kind: CNFRoute, metadata: {name: one}, spec: {dst: 198.51.100.0/24, gw: 172.16.70.1, dev: net0, table: default}}
---
{kind: CNFRouteRule, metadata: {name: one}, spec: {src: 172.16.3.0/24, prio: "888", table: "40"}}
---
{kind: CNFService, metadata: {name: one}, spec: {fullname: localhost, port: "8866", dport: "8080"}}
---
{kind: CNFLocalService, metadata: {name: one}, spec: {localservice: localhost, localport: "8080", remoteservice: localhost, remoteport: "80"}}
---
{kind: CNFHubSite, metadata: {name: one}, spec: {type: Device, subnet: 192.168.9.0/24, devicepip: 10.10.10.15}}
---
{kind: SdewanApplication, metadata: {name: one}, spec: {appNamespace: edge, podSelector: {matchLabels: {app: nobody}}}}
---
{kind: IpsecHost, metadata: {name: one}, spec: {type: policy-based, remote: 203.0.113.60, authentication_method: psk, pre_shared_key_secret: {name: headquarters},
  local_identifier: branch, remote_identifier: other, crypto_proposal: [strong],
  connections: [{name: desk, conn_type: tunnel, mode: start, local_sourceip: "%config", remote_subnet: 192.168.77.0/24, crypto_proposal: [strong]}]}}
`

// sdwanRights are those of the roles for SD-WAN that match.
func sdwanRights(t *testing.T, match func(right) bool) []right {
	t.Helper()
	rights := slices.DeleteFunc(rightsOf(t, central(t, "sdewan")("sdewan: true\n")), func(r right) bool {
		return r.role != "netloom-sdewan" && r.role != "netloom-sdewan-secrets" || !match(r)
	})
	require.NotEmpty(t, rights)
	return rights
}

// like reports whether a right is for one verb on objects of SD-WAN, or on a part of them, other than CNFStatus.
func like(verb, part string) func(right) bool {
	return func(r right) bool {
		kind, of, _ := strings.Cut(r.resource, "/")
		return r.group == v1alpha1.Group && kind != "cnfstatuses" && r.verb == verb && of == part
	}
}

// exactly is a right of the roles for SD-WAN.
func exactly(group, resource, verb string) func(right) bool {
	return func(r right) bool { return r.group == group && r.resource == resource && r.verb == verb }
}

// sdwanRights checks that each right of the roles for SD-WAN is used, on each kind, and has an effect when it is missing:
// netloom asks in vain, says what it cannot do, deletes nothing, and goes on by itself. As no kind waits for another, the same
// right is taken for all kinds at once, and missed for each of them.
func (w *world) sdwanRights() {
	t := w.t
	t.Helper()
	w.eachKind()
	all := sdwanRights(t, func(right) bool { return true })
	changing := sdwanRights(t, like("get", "")) // one for each kind
	require.Len(t, changing, 18)

	t.Log("watching")
	watch := slices.Concat(sdwanRights(t, like("watch", "")), sdwanRights(t, exactly(v1alpha1.Group, "cnfstatuses", "watch")))
	giveBack := w.take(watch...)
	w.restart()
	w.awaitMissed(watch...)
	w.awaitProblem("firewallrules")
	t.Log("reading again, without any event of a change")
	w.behindItsBack(func() bool { return len(w.unused(changing)) == 0 })
	t.Log("reading again")
	giveBackGet := w.take(changing...)
	w.behindItsBack(func() bool { return len(missing(w.kube, account, changing)) == 0 })
	w.awaitReadiness("degraded: when it last tried, netloom was not allowed to get ")
	giveBackGet()
	giveBack()
	w.awaitReadiness("ok\n")

	require.Empty(t, w.unused(slices.DeleteFunc(slices.Clone(all), exactly("", "events", "patch"))), "unused")
	w.sameTwice(func() bool { return w.used(sdwanRights(t, exactly("", "events", "patch"))[0]) })
	for _, q := range w.kube.Audit(account) {
		require.False(t, q.Resource == "secrets" && (q.Verb != "get" || q.Name == ""), "Secrets by their names only: %+v", q)
	}
	finalizers := w.finalizers()

	t.Log("listing")
	list := slices.Concat(sdwanRights(t, like("list", "")), sdwanRights(t, exactly(v1alpha1.Group, "cnfstatuses", "list")))
	w.without(list, w.restart, "cannot be read, so settings of CNFs stay as they are")
	require.Equal(t, finalizers, w.finalizers(), "nothing was released")

	t.Log("writing finalizers")
	w.without(sdwanRights(t, like("patch", "")), w.takeFinalizers, "degraded: when it last tried, netloom was not allowed to patch firewallrules: ")
	await.True(t, func() bool { return slices.Equal(finalizers, w.finalizers()) }, "the finalizers are back")

	t.Log("writing statuses")
	status := slices.Concat(sdwanRights(t, like("patch", "status")), sdwanRights(t, exactly(v1alpha1.Group, "cnfstatuses/status", "patch")))
	w.without(status, w.bounce, "degraded: when it last tried, netloom was not allowed to patch firewallrules/status: ")

	t.Log("reading Secrets and reports, and making Events")
	w.without(slices.Concat(sdwanRights(t, exactly("", "secrets", "get")), sdwanRights(t, exactly("", "events", "create")),
		sdwanRights(t, exactly(v1alpha1.Group, "cnfstatuses", "get"))), w.restartAnew, "degraded: when it last tried, netloom was not allowed to get secrets in edge: ")
	t.Log("making the report")
	w.without(sdwanRights(t, exactly(v1alpha1.Group, "cnfstatuses", "create")), w.forgetReports, "degraded: when it last tried, netloom was not allowed to create cnfstatuses: ")
	t.Log("counting Events up")
	patch := sdwanRights(t, exactly("", "events", "patch"))
	giveBack = w.take(patch...)
	w.sameTwice(func() bool { return len(missing(w.kube, account, patch)) == 0 })
	giveBack()
	require.Empty(t, missing(w.kube, account, all), "each was missed")
}

// without takes rights away, has something happen that needs them, waits until each has been asked for in vain and /readyz says
// so, and gives them back.
func (w *world) without(rights []right, trigger func(), says string) {
	w.t.Helper()
	giveBack := w.take(rights...)
	trigger()
	w.awaitMissed(rights...)
	w.awaitReadiness(says)
	giveBack()
	w.awaitReadiness("ok\n")
}

// unused are those of rights that netloom has not made use of.
func (w *world) unused(rights []right) []right { return unused(w.kube, account, rights) }

// restart restarts netloom; one that is stopped gives the Lease back.
func (w *world) restart() {
	w.netloom.Stop()
	w.netloom.Restart()
}

// eachKind makes an object of each kind, and waits until each has its finalizer and a status.
func (w *world) eachKind() {
	w.t.Helper()
	for _, o := range kubelab.Parse(w.t, furtherKinds) {
		o.SetAPIVersion(v1alpha1.GroupVersion.String())
		o.SetNamespace("edge")
		o.SetLabels(map[string]string{v1alpha1.LabelPurpose: "branch"})
		w.kube.ApplyObjects([]*unstructured.Unstructured{o})
	}
	await.True(w.t, func() bool { return len(w.finalizers()) >= 18 }, "an object of each kind has a finalizer")
	await.True(w.t, func() bool { return len(w.unused(sdwanRights(w.t, like("patch", "status")))) == 0 }, "each kind has a status")
}

// sdwanKinds are the resources of SD-WAN that CNFs have.
func sdwanKinds() []string {
	var all []string
	for _, r := range v1alpha1.Resources() {
		if r.Kind != "CNFStatus" {
			all = append(all, r.Plural)
		}
	}
	return all
}

// finalizers are the objects of SD-WAN with a finalizer, a line for each.
func (w *world) finalizers() []string {
	w.t.Helper()
	var all []string
	w.eachObject(func(plural string, o *unstructured.Unstructured) {
		for _, f := range o.GetFinalizers() {
			all = append(all, plural+"/"+o.GetName()+" "+f)
		}
	})
	slices.Sort(all)
	return all
}

func (w *world) eachObject(do func(plural string, o *unstructured.Unstructured)) {
	w.t.Helper()
	for _, plural := range sdwanKinds() {
		list, err := w.sdwan(plural).List(w.t.Context(), metav1.ListOptions{})
		require.NoError(w.t, err)
		for i := range list.Items {
			do(plural, &list.Items[i])
		}
	}
}

// merge merges into all objects of SD-WAN.
func (w *world) merge(patch string) {
	w.t.Helper()
	w.eachObject(func(plural string, o *unstructured.Unstructured) {
		_, err := w.sdwan(plural).Patch(w.t.Context(), o.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(w.t, err)
	})
}

func (w *world) takeFinalizers() { w.merge(`{"metadata": {"finalizers": null}}`) }

// bounce gives the CNF another purpose for a while, which changes the status of all objects.
func (w *world) bounce() {
	w.t.Helper()
	purpose := func(is string, until func(state string) bool) {
		patch := []byte(`{"metadata": {"labels": {"sdewanPurpose": "` + is + `"}}}`)
		_, err := w.kube.Client().CoreV1().Pods("edge").Patch(w.t.Context(), "cnf-0", types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(w.t, err)
		for limit := time.Now().Add(2 * time.Second); !until(w.ruleState()) && time.Now().Before(limit); {
			time.Sleep(50 * time.Millisecond) // pause: where statuses cannot be written they stay; behindItsBack tries again
		}
	}
	purpose("elsewhere", func(state string) bool { return state != "In Sync" })
	purpose("branch", func(state string) bool { return state == "In Sync" })
}

// behindItsBack changes objects and their results until one of the changes takes effect.
func (w *world) behindItsBack(until func() bool) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.merge(`{"metadata": {"annotations": {"seen": null}}}`)
		w.merge(`{"metadata": {"annotations": {"seen": "no"}}}`)
		w.bounce()
		return until()
	}, "changes are noticed by writing")
}

// restartAnew restarts netloom with a rule that it has not reported of.
func (w *world) restartAnew() {
	w.t.Helper()
	w.restart()
	w.kube.Apply(sdwanRule("2525"))
}

// forgetReports deletes what shows the reports of CNFs.
func (w *world) forgetReports() {
	w.t.Helper()
	require.NoError(w.t, w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource("cnfstatuses")).Namespace("sdewan-system").
		DeleteCollection(w.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// sameTwice repeats the same Event, which is counted.
func (w *world) sameTwice(until func() bool) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.kube.Apply(strings.Replace(sdwanRule("25"), "src: office", "src: nowhere", 1))
		await.True(w.t, func() bool { return w.ruleState() != "In Sync" }, "a missing zone is reported")
		w.kube.Apply(sdwanRule("25"))
		await.True(w.t, func() bool { return w.ruleState() == "In Sync" }, "it is in sync again")
		return until()
	}, "an Event is counted up")
}
