//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
)

// TestControlPlaneDies kills etcd and the API server in the middle of changes, twice, the second time with netloom. While
// they are away not a row changes; afterwards the changes go on, and at the end the rows are what the objects say. What
// belongs to policies that were not edited is never taken away, not for a moment.
func TestControlPlaneDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rows := w.record()
	w.peopled()
	w.kube.Apply(policies)
	w.converge()
	settled := rows.there()
	require.NotEmpty(t, settled)

	churn := w.churn()
	for _, netloomToo := range []bool{false, true} {
		churn.await(20)
		t.Logf("etcd and the API server are killed; netloom too: %v", netloomToo)
		w.kube.KillControlPlane()
		if netloomToo {
			w.netloom.Kill()
			w.netloom.Restart()
		}
		quiet := w.settle(rows) // what netloom knew by then may still be under way
		time.Sleep(time.Second) // pause: for what should not come; a slow machine only sees less
		require.Empty(t, rows.since(quiet), "nothing is written while nothing is known")
		w.netloom.Running()
		w.kube.StartControlPlane()
		churn.await(20)
	}
	churn.end()
	w.netloom.AwaitReady()
	w.kube.Apply(webReaches("5432")) // which is delivered after everything before it
	w.converge()
	require.False(t, w.connects(web, api, 80))
	w.requireKept(settled, rows.since(0))
	w.requireNothingToDo()
}

// TestWatchesSuffer leads netloom's way to the API server over a line, and does to it what networks do.
func TestWatchesSuffer(t *testing.T) {
	t.Parallel()
	w := &world{t: t, kube: startKube(t), ovn: startOVN(t)}
	w.kube.Apply(nodes + namespaces)
	line := w.kube.NewLine()
	w.kube.ApplyObjects(central(t)(settingsFor(w.ovn)))
	// client-go asks a connection that is silent for 30 s whether it is there, and waits 15 s for the answer.
	w.netloom = run(t, w.kube, home, "netloom", line.Env(), "HTTP2_READ_IDLE_TIMEOUT_SECONDS=2", "HTTP2_PING_TIMEOUT_SECONDS=1")
	w.netloom.AwaitReady()
	rows := w.record()
	w.peopled()
	w.kube.Apply(policies)
	w.converge()

	t.Log("the line is cut until etcd and the API server have forgotten what netloom saw last")
	before := w.settle(rows)
	line.Cut()
	last := w.version()
	require.NoError(t, w.kube.Client().NetworkingV1().NetworkPolicies("shop").Delete(t.Context(), "watched", metav1.DeleteOptions{}))
	w.remove(web2)
	require.Positive(t, w.kube.Compact())
	w.kube.KillAPI()
	w.kube.StartAPI()
	w.requireGone(last)
	require.Empty(t, rows.since(before))
	line.Mend()
	w.converge()
	require.NotEmpty(t, rows.since(before))
	for _, c := range rows.since(before) {
		stale := c.ExternalIDs["netloom.io/name"] == "watched" || strings.Contains(c.ExternalIDs["netloom.io/title"], "purpose=monitoring") ||
			strings.Contains(c.ExternalIDs["netloom.io/title"], "port http at 80 in namespace shop") // the pods that it is about
		require.True(t, c.Verb == nbwatch.Modified || c.Verb == nbwatch.Deleted && stale, "its policy was not edited: %s", c)
	}

	t.Log("connections stay silent and never end")
	calls := line.Accepted()
	line.Freeze()
	require.Positive(t, line.Frozen())
	began := time.Now()
	w.kube.Apply(webReaches("5432"))
	w.create(web2, "app: web")
	w.converge()
	t.Logf("netloom noticed within %s", time.Since(began).Round(time.Millisecond))
	require.Greater(t, line.Accepted(), calls, "netloom has called again")
	require.False(t, w.connects(web, api, 80))

	t.Log("watches trickle while much happens")
	settled := rows.there()
	before, calls = w.settle(rows), line.Accepted()
	line.Slow(16_000)
	churn := w.churn()
	churn.await(60)
	churn.end()
	began = time.Now()
	w.kube.Apply(webReaches("80")) // which is delivered after everything before it
	w.converge()
	require.True(t, w.connects(web, api, 80))
	t.Logf("netloom was %s behind, and has called again %d times", time.Since(began).Round(time.Millisecond), line.Accepted()-calls)
	line.Slow(0)
	w.requireKept(settled, rows.since(before))
	requireNothingForbidden(t, w.kube)
}

// requireKept checks that of the settled rows only those of the policy that the test edits are gone.
func (w *world) requireKept(settled map[string]bool, changes []nbwatch.Change) {
	w.t.Helper()
	for _, c := range changes {
		gone := c.Verb == nbwatch.Deleted && settled[c.UUID] && c.ExternalIDs["netloom.io/name"] != "web"
		require.False(w.t, gone, "its policy was not edited: %s", c)
	}
}

// version is that of the newest object.
func (w *world) version() string {
	w.t.Helper()
	list, err := w.kube.Client().CoreV1().Pods("").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.ResourceVersion
}

// requireGone checks that no watch can continue from a version, and so from an older one.
func (w *world) requireGone(version string) {
	w.t.Helper()
	ctx := await.Context(w.t)
	watcher, err := w.kube.Client().CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		require.True(w.t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), err)
		return
	}
	defer watcher.Stop()
	first, ok := <-watcher.ResultChan()
	require.True(w.t, ok, "the watch goes on")
	require.Equal(w.t, watch.Error, first.Type)
	require.True(w.t, apierrors.IsResourceExpired(apierrors.FromObject(first.Object)), "%v", first.Object)
}

// requireNothingToDo asks netloom what it would write now.
func (w *world) requireNothingToDo() {
	w.t.Helper()
	plan := ""
	await.True(w.t, func() bool {
		var err error
		plan, err = w.netloom.Get("/debug/plan")
		return err == nil && strings.Contains(plan, "nothing to do")
	}, "there is nothing left to write")
}

// recorder records what happens to rows.
type recorder struct {
	mu      sync.Mutex
	changes []nbwatch.Change
}

// record starts to watch what is written of policies.
func (w *world) record() *recorder {
	w.t.Helper()
	r := &recorder{}
	watch, err := nbwatch.Start(w.t.Context(), w.ovn.NBTCP(), func(c nbwatch.Change) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes = append(r.changes, c)
	}, "ACL", "Address_Set", "Load_Balancer", "Port_Group")
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, watch.Close()) })
	return r
}

// since are the changes from the nth on.
func (r *recorder) since(n int) []nbwatch.Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]nbwatch.Change{}, r.changes[n:]...)
}

// settle waits until no more changes come, and says how many there are.
func (w *world) settle(r *recorder) int {
	w.t.Helper()
	n := -1
	for {
		now := len(r.since(0))
		if now == n {
			return n
		}
		n = now
		time.Sleep(300 * time.Millisecond) // pause: for what is still under way
	}
}

// there are the rows that came and have not gone.
func (r *recorder) there() map[string]bool {
	rows := map[string]bool{}
	for _, c := range r.since(0) {
		switch c.Verb {
		case nbwatch.Inserted:
			rows[c.UUID] = true
		case nbwatch.Deleted:
			delete(rows, c.UUID)
		case nbwatch.Modified:
		}
	}
	return rows
}

// churn writes one change after the other, and ignores failures.
type churn struct {
	w       *world
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	done    int // that an API server took
}

// churn begins to change a label, and policies that come, change and go beside those that stay.
func (w *world) churn() *churn {
	ctx, cancel := context.WithCancel(w.t.Context())
	c := &churn{w: w, cancel: cancel}
	c.running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := c.change(ctx, i); err == nil {
				c.mu.Lock()
				c.done++
				c.mu.Unlock()
			}
			time.Sleep(20 * time.Millisecond) // pause: others want the API server too
		}
	})
	w.t.Cleanup(c.end)
	return c
}

// change makes the ith change.
func (c *churn) change(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	client := c.w.kube.Client()
	name := fmt.Sprintf("churn-%d", i/4%3)
	switch i % 4 {
	case 0:
		label := []string{"web", "former-web"}[i/4%2]
		_, err := client.CoreV1().Pods(web2.namespace).Patch(ctx, web2.name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{"app":%q},"annotations":{"ballast":%q}}}`, label, strings.Repeat("-", 1000)), metav1.PatchOptions{})
		return err
	case 1:
		_, err := client.NetworkingV1().NetworkPolicies("shop").Create(ctx, churning(name, 1000), metav1.CreateOptions{})
		return err
	case 2:
		_, err := client.NetworkingV1().NetworkPolicies("shop").Update(ctx, churning(name, int32(1001+i%1000)), metav1.UpdateOptions{})
		return err
	default:
		if i/4%2 == 0 {
			return nil // this one stays until its name comes round again
		}
		return client.NetworkingV1().NetworkPolicies("shop").Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// churning is a policy of its own.
func churning(name string, port int32) *networkingv1.NetworkPolicy {
	at := intstr.FromInt32(port)
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}},
				Ports: []networkingv1.NetworkPolicyPort{{Port: &at}},
			}},
		},
	}
}

// await waits until n more changes were taken.
func (c *churn) await(n int) {
	c.w.t.Helper()
	taken := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.done
	}
	until := taken() + n
	await.True(c.w.t, func() bool { return taken() >= until }, "the API server takes changes")
}

// end stops the changes.
func (c *churn) end() {
	c.cancel()
	c.running.Wait()
}
