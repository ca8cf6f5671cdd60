//go:build e2e

package e2ekube_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// readinessRole and readinessWebhookRole are the roles of the components.
const (
	readinessRole        = "netloom-readiness"
	readinessWebhookRole = "netloom-readiness-webhook"
)

const readinessGate = "netloom.io/network-policy"

// TestReadiness has the webhook add the readiness gate to pods, and checks that each becomes ready once a chassis has installed what selects
// it, by one write; that a restart writes nothing; and what is reported without each right.
func TestReadiness(t *testing.T) {
	t.Parallel()
	w := &world{t: t, kube: startKube(t, "WatchList=false"), ovn: startOVN(t)}
	chassis := w.ovn.StartChassis()
	w.kube.Apply(nodes + namespaces)
	hook := w.gateWebhook()
	w.netloom = run(t, w.kube, home, "netloom")
	w.netloom.AwaitReady()

	t.Log("pods of a namespace that did not opt in get no gate")
	w.create(db, "app: db")
	require.Empty(t, w.get(db).Spec.ReadinessGates)
	w.remove(db)
	w.kube.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: shop, netloom.io/readiness-gate: enabled}}}`)
	w.kube.Apply(policies)

	t.Log("a pod waits until ovn-controller has installed its rows")
	chassis.StopController()
	w.createGated(web, "app: web")
	await.True(t, func() bool { return w.grouped(web) && w.config("nb_cfg") > w.config("hv_cfg") }, "the rows are written, and netloom asks whether they are installed")
	require.Equal(t, w.config("nb_cfg"), w.config("sb_cfg"))
	require.Nil(t, w.condition(web), "nothing is installed")
	chassis.StartController()
	c := w.awaitReady(web)
	require.Equal(t, "Installed", c.Reason)
	require.Contains(t, c.Message, "NetworkPolicy shop/web generation 1")
	require.LessOrEqual(t, w.config("nb_cfg"), w.config("hv_cfg"))
	require.EqualValues(t, 1, w.readinessWrites(), "one write")

	t.Log("a restart writes nothing, and a database that is away takes nothing back")
	version := w.get(web).ResourceVersion
	w.netloom.Kill()
	w.ovn.StopDBs()
	w.netloom.Restart()
	w.awaitReadiness("target ovn is not in sync yet")
	w.ovn.StartDBs()
	w.netloom.AwaitReady()
	w.createGated(api, "app: api") // which becomes ready after anything else that was to be written
	w.awaitReady(api)
	require.Equal(t, version, w.get(web).ResourceVersion)
	require.EqualValues(t, 1, w.readinessWrites())

	w.readinessRightIsNeeded()
	w.gateRightsAreNeeded(hook)
}

// gateWebhook runs the webhook that adds the gate as deploy/ says, with the rights of netloom for its condition.
func (w *world) gateWebhook() *admission {
	w.t.Helper()
	a := &admission{t: w.t, kube: w.kube, reviews: ovnlab.FreeAddress(w.t)}
	hooks, others := split(central(w.t, "readiness", "webhook", "readiness-webhook")(settingsFor(w.ovn)), "MutatingWebhookConfiguration")
	w.kube.ApplyObjects(others)
	require.Len(w.t, hooks, 1)
	a.configuration = hooks[0]
	a.callAt(a.reviews)
	a.pod = a.replica("netloom-webhook", 0, a.reviews)
	a.pod.AwaitReady()
	w.awaitTrusted()
	return a
}

// awaitTrusted waits until the API server trusts the webhook.
func (w *world) awaitTrusted() {
	w.t.Helper()
	configurations := w.kube.Client().AdmissionregistrationV1().MutatingWebhookConfigurations()
	await.True(w.t, func() bool {
		c, err := configurations.Get(w.t.Context(), "netloom-webhook", metav1.GetOptions{})
		require.NoError(w.t, err)
		return len(c.Webhooks[0].ClientConfig.CABundle) > 0
	}, "the webhook is trusted")
}

// distrust makes the API server trust no authority of the webhook.
func (w *world) distrust() {
	w.t.Helper()
	configurations := w.kube.Client().AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := configurations.Get(w.t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(w.t, err)
	c.Webhooks[0].ClientConfig.CABundle = nil
	_, err = configurations.Update(w.t.Context(), c, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// createGated creates a pod again and again until it gets the gate: the API server learns of the label and the authority after a moment,
// and creates pods without the webhook until then.
func (w *world) createGated(p pod, labels string) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.kube.Apply(p.manifest(labels))
		gates := w.get(p).Spec.ReadinessGates
		if len(gates) == 1 && gates[0].ConditionType == readinessGate {
			return true
		}
		w.remove(p)
		return false
	}, "pod %s gets the gate", p.name)
	w.status(p, "Running")
}

func (w *world) get(p pod) *corev1.Pod {
	w.t.Helper()
	got, err := w.kube.Client().CoreV1().Pods(p.namespace).Get(w.t.Context(), p.name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return got
}

// condition is that of the gate; nil if the pod has none.
func (w *world) condition(p pod) *corev1.PodCondition {
	w.t.Helper()
	for _, c := range w.get(p).Status.Conditions {
		if c.Type == readinessGate {
			return &c
		}
	}
	return nil
}

// awaitReady waits until the condition of a pod is True.
func (w *world) awaitReady(p pod) *corev1.PodCondition {
	w.t.Helper()
	var c *corev1.PodCondition
	await.True(w.t, func() bool {
		w.netloom.Running()
		c = w.condition(p)
		return c != nil && c.Status == corev1.ConditionTrue
	}, "the condition of %s is True", p.name)
	return c
}

// config is one of the numbers in NB_Global.
func (w *world) config(column string) int {
	w.t.Helper()
	var n int
	_, err := fmt.Sscan(w.ovn.NBCtl("get", "NB_Global", ".", column), &n)
	require.NoError(w.t, err)
	return n
}

// readinessWrites counts the conditions that the running netloom has written.
func (w *world) readinessWrites() int64 {
	w.t.Helper()
	return gaugeOf(w.t, w.netloom, `netloom_readiness_writes_total{result="ok"}`)
}

// readinessRightIsNeeded takes the right away: pods with the gate stay unready, which is reported, until it is given back.
func (w *world) readinessRightIsNeeded() {
	w.t.Helper()
	rights := rightsOfRole(w.t, central(w.t, "readiness")(settingsFor(w.ovn)), readinessRole)
	require.Equal(w.t, []right{{role: readinessRole, resource: "pods/status", verb: "patch"}}, rights)
	require.True(w.t, w.used(rights[0]))
	w.t.Log("without the right to patch pods/status")
	giveBack := w.take(rights...)
	w.createGated(web2, "app: web")
	w.awaitMissed(rights...)
	w.awaitReadiness("degraded: when it last tried, netloom was not allowed to patch pods/status: ")
	require.Nil(w.t, w.condition(web2))
	giveBack()
	w.awaitReady(web2)
	w.awaitReadiness("ok\n")
}

// gateRightsAreNeeded takes the rights of the webhook away, one by one.
func (w *world) gateRightsAreNeeded(a *admission) {
	w.t.Helper()
	rights := rightsOfRole(w.t, central(w.t, "readiness-webhook")(settingsFor(w.ovn)), readinessWebhookRole)
	require.Len(w.t, rights, 2)
	for _, r := range rights {
		w.t.Logf("without %+v", r)
		giveBack := without(w.t, w.kube, webhookAccount, r)
		w.distrust()
		a.pod.Kill()
		a.pod.Restart()
		a.awaitSays("degraded: the certificate cannot be maintained: MutatingWebhookConfiguration netloom-webhook: ")
		await.True(w.t, func() bool { return len(missing(w.kube, webhookAccount, []right{r})) == 0 }, "it is missed")
		giveBack()
		w.awaitTrusted()
	}
	require.NotContains(w.t, strings.Join(forbiddenOf(w.kube), "\n"), "pods", "netloom reads pods all the time")
}

// forbiddenOf lists what the webhook was not allowed to do.
func forbiddenOf(kube *kubelab.Lab) (out []string) {
	for _, q := range kube.Audit(webhookAccount) {
		if q.Forbidden {
			out = append(out, q.Verb+" "+q.Resource)
		}
	}
	return out
}
