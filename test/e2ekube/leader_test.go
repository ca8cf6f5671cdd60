//go:build e2e

package e2ekube_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// replicas are the pods of the Deployment, as many as it says.
type replicas struct {
	*world
	pods   []*kubelab.Pod
	steady bool // they have the steadyLease: there is one claim for each change of the leader
}

// newReplicas installs netloom and runs all replicas. The world's netloom is the one that leads.
func newReplicas(t *testing.T, settings string) *replicas {
	t.Helper()
	program, err := buildOnce()
	require.NoError(t, err)
	return replicasOf(t, settings, program, program)
}

// replicasOf is newReplicas with a program for each replica. The first leads.
func replicasOf(t *testing.T, settings string, programs ...string) *replicas {
	t.Helper()
	r := &replicas{world: &world{t: t, kube: startKube(t), ovn: startOVN(t)}, steady: settings == steadyLease}
	r.kube.Apply(nodes + namespaces)
	r.kube.ApplyObjects(central(t)(strings.Replace(settingsFor(r.ovn), defaultLease, settings, 1)))
	d, err := r.kube.Client().AppsV1().Deployments(home).Get(t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, len(programs), *d.Spec.Replicas)
	for i, program := range programs {
		p := runProgram(t, r.kube, d, program, fmt.Sprintf("netloom-%d", i))
		p.AwaitReady()
		r.pods = append(r.pods, p)
	}
	r.netloom = r.pods[0]
	for _, p := range r.pods[1:] {
		answer, err := p.Get("/readyz")
		require.NoError(t, err)
		require.Regexp(t, `^ok\nstandby: netloom-0_\w+ leads\n(confirmed: .*\n)?$`, answer)
	}
	t.Cleanup(func() { requireNothingForbidden(t, r.kube) })
	return r
}

// claim returns the number and the holder of the newest claim on the database.
func (r *replicas) claim() (number int, holder string) {
	r.t.Helper()
	found := regexp.MustCompile(`"?netloom-claim:netloom"?="(\d+) ([^"]*)"`).FindStringSubmatch(r.ovn.NBCtl("get", "NB_Global", ".", "external_ids"))
	require.Len(r.t, found, 3)
	number, err := strconv.Atoi(found[1])
	require.NoError(r.t, err)
	return number, found[2]
}

// awaitClaim waits until a pod has made the newest claim on the database, and returns how long that took. The claim has a number, or without
// the steadyLease a later one: a leader that gets no processor time for long may have lost its Lease and made one more.
func (r *replicas) awaitClaim(want int, pod string) time.Duration {
	r.t.Helper()
	began := time.Now()
	await.True(r.t, func() bool {
		number, holder := r.claim()
		if r.steady {
			require.LessOrEqual(r.t, number, want, holder)
		}
		return number >= want && strings.HasPrefix(holder, pod+"_")
	}, "%s makes claim %d", pod, want)
	return time.Since(began)
}

// steadyLease is one that no leader loses because it waits for a processor: nobody takes over before takeLease.
const steadyLease = "leader-elect-lease-duration: 2h\nleader-elect-renew-deadline: 1h\nleader-elect-retry-period: 500ms\n"

// takeLease takes the Lease from its holder, as if its time were over, so that another replica acquires it.
func (r *replicas) takeLease() {
	r.t.Helper()
	_, err := r.kube.Client().CoordinationV1().Leases(home).Patch(r.t.Context(), "netloom-leader", types.MergePatchType,
		[]byte(`{"spec":{"holderIdentity":""}}`), metav1.PatchOptions{})
	require.NoError(r.t, err)
}

// requireOneWriter checks in the database's own log that no instance wrote after the next one had claimed, that there were so many claims, and
// that something was written under each. Without the steadyLease, there may have been more claims, and each instance that claimed wrote.
func (r *replicas) requireOneWriter(claims int) {
	r.t.Helper()
	ours := regexp.MustCompile(`^netloom netloom (\S+) (claims|claim) (\d+)$`)
	now, writes, holders := 0, []int{0}, map[string]int{}
	holder := ""
	for i, comment := range r.ovn.NBComments() {
		if !strings.HasPrefix(comment, "netloom ") {
			continue
		}
		found := ours.FindStringSubmatch(comment)
		require.Len(r.t, found, 4, "record %d: %s", i, comment)
		number, err := strconv.Atoi(found[3])
		require.NoError(r.t, err)
		if found[2] == "claims" {
			require.Equal(r.t, now+1, number, "record %d: %s", i, comment)
			now, holder = number, found[1]
			writes, holders[holder] = append(writes, 0), holders[holder]
			continue
		}
		require.Equal(r.t, now, number, "record %d: %s, after a later claim", i, comment)
		require.Equal(r.t, holder, found[1], "record %d: %s", i, comment)
		writes[number]++
		holders[holder]++
	}
	if r.steady {
		require.Equal(r.t, claims, now)
		require.NotContains(r.t, writes[1:], 0, "transactions by claim")
	}
	require.GreaterOrEqual(r.t, now, claims)
	for holder, n := range holders {
		require.Positive(r.t, n, holder)
	}
	r.t.Logf("transactions by claim: %v", writes[1:])
}

// TestLeaderIsKilled kills the leader in the middle of 200 changes a second. The other replica takes over when the time of the Lease is over,
// the rows follow the objects again, and the database's log shows that there was never more than one writer.
func TestLeaderIsKilled(t *testing.T) {
	r := newReplicas(t, defaultLease)
	r.peopled()
	r.kube.Apply(policies)
	r.converge()

	s := r.storm(200)
	time.Sleep(3 * time.Second) // pause: of changes, however many
	r.pods[0].Kill()
	r.netloom = r.pods[1]
	took := r.awaitClaim(2, "netloom-1")
	t.Logf("takeover after %s", took.Round(10*time.Millisecond))
	time.Sleep(3 * time.Second) // pause: of changes
	s.end()
	r.awaitReadiness("ok\n")
	r.converge()
	r.requireNothingToDo()

	t.Log("the first comes back and stands by")
	r.pods[0].Restart()
	r.pods[0].AwaitReady()
	answer, err := r.pods[0].Get("/readyz")
	require.NoError(t, err)
	require.Regexp(t, `^ok\nstandby: netloom-1_\w+ leads\n(confirmed: .*\n)?$`, answer)
	r.kube.Apply(webReaches("5432"))
	r.converge()
	r.requireOneWriter(2)
}

// TestLeaderSleeps stops the leader for longer than its Lease is good, among changes, and wakes it up once the other one
// leads: whatever it still writes is refused, by the database alone, as it has not noticed that the Lease is lost. It stands by, and then takes
// over again.
func TestLeaderSleeps(t *testing.T) {
	r := newReplicas(t, steadyLease)
	r.peopled()
	r.kube.Apply(policies)
	r.converge()

	s := r.storm(100)
	time.Sleep(time.Second) // pause: of changes, however many
	require.NoError(t, r.pods[0].Signal(syscall.SIGSTOP))
	r.takeLease()
	r.netloom = r.pods[1]
	t.Logf("takeover after %s", r.awaitClaim(2, "netloom-1").Round(10*time.Millisecond))
	time.Sleep(time.Second) // pause: of changes
	require.NoError(t, r.pods[0].Signal(syscall.SIGCONT))
	await.True(t, func() bool {
		r.pods[0].Running()
		answer, err := r.pods[0].Get("/readyz")
		return err == nil && strings.HasPrefix(answer, "ok\nstandby: netloom-1_")
	}, "it stands by")
	time.Sleep(time.Second) // pause: of changes
	s.end()
	r.converge()
	r.requireNothingToDo()
	t.Logf("the sleeper was refused %d times", strings.Count(r.pods[0].Log(), "another instance has claimed the target: claim 2"))
	r.requireOneWriter(2)

	t.Log("the sleeper leads again, in the same process")
	require.NoError(t, r.pods[1].Signal(syscall.SIGTERM))
	r.netloom = r.pods[0]
	r.awaitClaim(3, "netloom-0")
	r.kube.Apply(webReaches("5432"))
	r.converge()
	r.requireNothingToDo()
	r.requireOneWriter(3)
}

// TestLeaderStops ends the leader as a kubelet does. The other one need not wait for the end of the Lease, which is longer than the test.
func TestLeaderStops(t *testing.T) {
	r := newReplicas(t, steadyLease)
	r.peopled()
	r.kube.Apply(policies)
	r.converge()
	r.end()
	r.netloom = r.pods[1]
	t.Logf("takeover after %s", r.awaitClaim(2, "netloom-1").Round(10*time.Millisecond))
	r.kube.Apply(webReaches("5432"))
	r.converge()
	r.requireNothingToDo()
	r.requireOneWriter(2)
}
