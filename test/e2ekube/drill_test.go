//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// drillSettings avoid read-backs of everything, and leave the Lease with its holder while the API server is away.
const drillSettings = "drift-interval: 1h\nleader-elect-lease-duration: 2m\nleader-elect-renew-deadline: 1m\n"

// drill is a cluster whose objects go missing.
type drill struct {
	*world
	load    *load
	line    *kubelab.Line
	witness *witness
	times   *stopwatch
}

// TestDrillCluster loses the objects of a cluster in the ways in which clusters lose them. In no committed state a pod is open
// that a policy isolates, unless the deletion of that policy was seen; and what closes is enforced meanwhile, by a transaction
// of its own. Times are printed, beside the API server's own delivery of the same object.
func TestDrillCluster(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "")
	d.policyRightsLost()
	d.podRightsLost()
	d.emptyRelist()
	d.wrongPortNames()
	d.halfDeleted()
}

// newDrill brings up the cluster of a drill with netloom in it, with further settings and components.
func newDrill(t *testing.T, settings string, components ...string) *drill {
	t.Helper()
	d := &drill{world: &world{t: t, kube: startKube(t)}, times: newStopwatch()}
	d.load = newLoad(t, d.kube, drillCluster())
	address, w := startNB(t, d.load)
	d.witness = w
	d.load.namespaces(t)
	d.load.create(t, d.times)
	d.line = d.kube.NewLine()
	d.kube.ApplyObjects(central(t, components...)(fmt.Sprintf("ovn-nb: [%q]\n%s%s", address, drillSettings, settings)))
	d.run()
	w.protect(0, teams)
	w.await("every isolated pod is closed", d.netloom.Running)
	return d
}

// run starts netloom from its Deployment, and waits until the database is in sync with it.
func (d *drill) run(env ...string) {
	d.t.Helper()
	d.netloom = run(d.t, d.kube, home, "netloom", append(env, d.line.Env())...)
	d.netloom.AwaitReady()
}

// policyRightsLost takes the rights to policies away and ends the watches. A pod that is relabelled is isolated by a policy
// that cannot be read any more.
func (d *drill) policyRightsLost() {
	d.t.Log("the rights to policies are lost")
	giveBack := d.lose("networkpolicies")
	d.relabelled(0)
	giveBack()
	d.mended("networkpolicies")
}

// podRightsLost does so with pods and namespaces: a new policy for pods that are known is enforced.
func (d *drill) podRightsLost() {
	d.t.Log("the rights to pods and namespaces are lost")
	giveBack := d.lose("pods", "namespaces")
	out := isolating(1, "web")
	out.Name, out.Spec.PolicyTypes = "web-out", []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	d.denied(out, fromPod(1, 0)) // the watch of policies was cut too: this one waits until it is back
	d.denied(isolating(1, "free"), toPod(1, freePod))
	giveBack()
	d.mended("pods", "namespaces")
}

// lose takes the rights to resources away and cuts the watches, which were allowed when they began.
func (d *drill) lose(resources ...string) (giveBack func()) {
	d.t.Helper()
	rights := slices.DeleteFunc(rightsToWork(d.t, central(d.t)("ovn-nb: [tcp:127.0.0.1:6641]\n")), func(r right) bool {
		return !slices.Contains(resources, r.resource)
	})
	require.Len(d.t, rights, 2*len(resources))
	giveBack = without(d.t, d.kube, account, rights...)
	d.line.Cut()
	d.line.Mend()
	for _, r := range resources {
		d.awaitProblem(r)
	}
	d.witness.check()
	return giveBack
}

// mended waits until resources can be read again.
func (d *drill) mended(resources ...string) {
	d.t.Helper()
	await.True(d.t, func() bool {
		d.netloom.Running()
		problems, err := d.netloom.Get("/debug/problems")
		return err == nil && !slices.ContainsFunc(resources, func(r string) bool { return strings.Contains(problems, r) })
	}, "everything can be read again")
	require.Empty(d.t, d.kept().Objects)
	d.witness.check()
}

// emptyRelist deletes all policies while netloom sleeps and the API server loses its history: the list that follows has only
// a new one.
func (d *drill) emptyRelist() {
	d.t.Log("a list has none of the policies any more")
	ctx, client := d.t.Context(), d.load.client
	all, err := client.NetworkingV1().NetworkPolicies("").List(ctx, metav1.ListOptions{})
	require.NoError(d.t, err)
	require.NoError(d.t, d.netloom.Signal(syscall.SIGSTOP))
	_, err = client.CoreV1().Namespaces().Patch(ctx, teamName(0), types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/seen":"no"}}}`), metav1.PatchOptions{})
	require.NoError(d.t, err)
	d.kube.KillAPI()
	d.kube.StartAPI() // it remembers only what changes from now on
	d.deletePolicies(0, teams)
	listed := isolating(2, "free")
	_, err = client.NetworkingV1().NetworkPolicies(listed.Namespace).Create(ctx, listed, metav1.CreateOptions{})
	require.NoError(d.t, err)
	d.witness.close("in the list", toPod(2, freePod))
	require.NoError(d.t, d.netloom.Signal(syscall.SIGCONT))
	woken := time.Now()
	d.witness.await("the policy in the list is enforced", d.netloom.Running)
	d.t.Logf("%-45s %v after netloom went on", "a deny in the list that lacks the others", d.witness.enforced("in the list").Sub(woken))
	d.awaitKept(len(all.Items))
	d.denied(isolating(3, "free"), toPod(3, freePod))
	d.relabelled(4) // this one waits until the watch of pods is back
	d.relabelled(6)
	require.Len(d.t, d.kept().Objects, len(all.Items), "still")

	d.t.Log("the policies come back")
	for i := range all.Items {
		p := &all.Items[i]
		p.ObjectMeta = metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}
		_, err := client.NetworkingV1().NetworkPolicies(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		require.NoError(d.t, err)
	}
	d.awaitKept(0)
	d.witness.check()
}

// wrongPortNames restarts netloom over the database that it filled, with a pattern that fits no logical port.
func (d *drill) wrongPortNames() {
	d.t.Log("netloom restarts with names of logical ports that fit none")
	d.end()
	d.run("NETLOOM_OVN_PORT_NAMES={namespace}-{pod}")
	await.True(d.t, func() bool {
		d.netloom.Running()
		d.witness.check()
		text, err := d.netloom.Get("/metrics")
		return err == nil && strings.Contains(text, "netloom_kept_ports{") && !strings.Contains(text, `netloom_kept_ports{target="ovn"} 0`)
	}, "the ports are kept")
	deny := isolating(5, "api")
	deny.Name, deny.Spec.PolicyTypes = "api-out", []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	d.denied(deny, fromPod(5, 2))
	d.end()
	d.run()
	d.witness.check()
}

// halfDeleted deletes the policies of half the namespaces: their pods open, and nothing else changes.
func (d *drill) halfDeleted() {
	d.t.Log("the policies of half the cluster are deleted")
	const half = teams / 2
	require.Positive(d.t, d.witness.rowsOf(teamName(0)))
	d.witness.release(protected(0, half)...)
	d.witness.release("in the list", toName(fromPod(1, 0)))
	for k := range half {
		d.witness.release(toName(toPod(k, freePod)))
	}
	began := time.Now()
	d.deletePolicies(0, half)
	await.True(d.t, func() bool {
		d.netloom.Running()
		require.Empty(d.t, d.kept().Objects, "a deletion that was seen is never kept")
		for k := range half {
			for i := range podsOfATeam {
				if !d.witness.allows(toPod(k, i)) {
					return false
				}
			}
		}
		return true
	}, "the pods of half the cluster are open")
	d.t.Logf("%-45s %v", "the policies of half the cluster deleted", time.Since(began))
	for k := range half {
		require.Zero(d.t, d.witness.rowsOf(teamName(k)))
		require.Positive(d.t, d.witness.rowsOf(teamName(half+k)))
	}
	d.witness.check()
}

func (d *drill) deletePolicies(from, to int) {
	d.t.Helper()
	for k := from; k < to; k++ {
		err := d.load.client.NetworkingV1().NetworkPolicies(teamName(k)).DeleteCollection(d.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		require.NoError(d.t, err)
	}
}

// toName is what a packet is called that a new deny closes.
func toName(p nbtrace.Packet) string { return "deny " + p.Inport + p.Outport }

// denied creates a policy and waits until it is enforced.
func (d *drill) denied(p *networkingv1.NetworkPolicy, packet nbtrace.Packet) {
	d.t.Helper()
	d.enforced(key(p), packet, func() string {
		made, err := d.load.client.NetworkingV1().NetworkPolicies(p.Namespace).Create(d.t.Context(), p, metav1.CreateOptions{})
		require.NoError(d.t, err)
		return made.ResourceVersion
	})
}

// relabelled gives the pod of a team that no policy selects a label that one does, and waits until it is isolated.
func (d *drill) relabelled(k int) {
	d.t.Helper()
	d.enforced(teamName(k)+"/"+teamPod(freePod), toPod(k, freePod), func() string {
		made, err := d.load.client.CoreV1().Pods(teamName(k)).Patch(d.t.Context(), teamPod(freePod), types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"app":"api"}}}`), metav1.PatchOptions{})
		require.NoError(d.t, err)
		return made.ResourceVersion
	})
}

// enforced makes a change that closes something and prints how long it took to be committed, and to be delivered by a watch of
// the API server's.
func (d *drill) enforced(object string, packet nbtrace.Packet, change func() (version string)) {
	d.t.Helper()
	require.True(d.t, d.witness.allows(packet), "it is open before")
	stop := d.times.watch(d.t, d.kube)
	defer stop()
	name := toName(packet)
	d.witness.close(name, packet)
	done := d.times.begin("drill", object, object)
	done(change())
	d.witness.await(object+" closes "+name, d.netloom.Running)
	all := d.times.of("drill")
	c := all[len(all)-1]
	await.True(d.t, func() bool { return d.times.delivered(c) }, "%s", "the API server's watch delivers "+object)
	d.t.Logf("%-45s %v; the API server's watch %v", object, d.witness.enforced(name).Sub(c.sent), c.watched.Sub(c.sent))
}

// keptObjects is what netloom approve lists.
type keptObjects struct {
	Digest  string           `json:"digest"`
	Objects []map[string]any `json:"objects"`
}

func (d *drill) kept() keptObjects {
	d.t.Helper()
	text, err := d.netloom.Get("/debug/approve")
	require.NoError(d.t, err)
	var kept keptObjects
	require.NoError(d.t, json.Unmarshal([]byte(text), &kept))
	return kept
}

// awaitKept waits until netloom reports this many kept objects.
func (d *drill) awaitKept(n int) {
	d.t.Helper()
	await.True(d.t, func() bool {
		d.netloom.Running()
		d.witness.check()
		return len(d.kept().Objects) == n
	}, "%d objects are kept", n)
	said, err := d.netloom.Get("/readyz")
	require.NoError(d.t, err)
	require.Equal(d.t, n > 0, strings.Contains(said, "degraded: "), said)
}
