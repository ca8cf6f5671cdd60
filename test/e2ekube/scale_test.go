//go:build e2e

package e2ekube_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
	"github.com/netloom/netloom/test/policygen"
)

// Sizes of TestScale. The small defaults only keep it working; `make bench-scale` sets the published ones.
var (
	podsFlag     = flag.Int("pods", 300, "pods of TestScale")
	policiesFlag = flag.Int("policies", 50, "policies of TestScale, from 40 to a fifth of its pods")
	profileFlag  = flag.String("profiles", "", "directory that TestScale leaves netloom's profiles in")
)

// scale is a cluster of many objects, and the witnesses of their effects.
type scale struct {
	t       *testing.T
	kube    *kubelab.Lab
	db      *ovsdbtest.Process
	address string // of the database
	load    *load
	netloom *kubelab.Pod
	limit   int64 // bytes that the Deployment allows
	times   *stopwatch
	report  *report
}

// TestScale loads a cluster through the API server while netloom follows, changes single objects, then many at once, and
// prints how long each change took from the request to the committed row, beside how long the API server took to deliver it
// to a plain watch. At the end a plan must find nothing left to do, and netloom must have stayed within the memory that
// its Deployment allows.
//
// The database is a real ovsdb-server with the schema of the installed OVN; northd does not run.
func TestScale(t *testing.T) {
	s := newScale(t)
	s.start()
	s.fill()
	s.steady()
	s.burst()
	s.requireNothingToDo()
	s.startOver()
	s.report.print(t)
	requireNothingForbidden(t, s.kube)
}

// newScale starts everything but netloom, over a database with the logical ports of all pods to come. The tables of each connection are
// watched together; those of one do not wait for another's. Without any, one connection has all tables, so that transactions are told apart.
func newScale(t *testing.T, connections ...[]string) *scale {
	t.Helper()
	pods, policies := *podsFlag, *policiesFlag
	require.True(t, policies >= 40 && policies <= pods/5, "-policies %d: expected from 40 to a fifth of the pods, %d", policies, pods/5)
	cluster := policygen.Workload(pods)
	cluster.Policies = cluster.Policies[:policies]
	s := &scale{t: t, kube: startKube(t), report: &report{pods: pods, policies: policies}}
	s.address = ovnlab.FreeAddress(t)
	schema, err := os.ReadFile("/usr/share/ovn/ovn-nb.ovsschema")
	require.NoError(t, err)
	_, port, err := splitAddress(s.address)
	require.NoError(t, err)
	s.db, err = ovsdbtest.StartProcess(context.WithoutCancel(t.Context()), t.TempDir(), schema, "--remote=ptcp:"+port+":127.0.0.1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.db.Kill() })
	s.load = newLoad(t, s.kube, cluster)
	s.load.makePorts(t, s.db.Addr())

	s.times = newStopwatch()
	if len(connections) == 0 {
		connections = [][]string{{"ACL", "Address_Set", "Port_Group"}}
	}
	for _, tables := range connections {
		watch, err := nbwatch.Start(t.Context(), s.db.Addr(), s.times.row, tables...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, watch.Close()) })
	}
	return s
}

// start installs netloom and waits until it is ready for a cluster without pods.
func (s *scale) start() {
	s.t.Helper()
	s.kube.ApplyObjects(central(s.t)(fmt.Sprintf("ovn-nb: [\"tcp:%s\"]\npprof: true\n", s.address)))
	deployment, err := s.kube.Client().AppsV1().Deployments(home).Get(s.t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(s.t, err)
	limit := deployment.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
	s.limit = limit.Value()
	require.Positive(s.t, s.limit)
	s.netloom = runTemplate(s.t, s.kube, deployment, "netloom")
	s.netloom.AwaitReady()
	s.report.memory(s.t, "empty cluster", s.netloom)
}

// fill creates every object while netloom looks on.
func (s *scale) fill() {
	s.t.Helper()
	s.load.namespaces(s.t)
	before := cpuOf(s.t, s.netloom.PID())
	began := time.Now()
	s.load.create(s.t, s.times)
	created := time.Now()
	s.times.await(s.t, s.netloom, "load")
	s.report.load(began, created, time.Now(), cpuOf(s.t, s.netloom.PID())-before, s.times.of("load"))
	s.settle("after the load")
	s.report.data(s.t, s.kube, s.db)
	s.profile("loaded")
}

// settle gives the collector of garbage and the scavenger some time, and then looks at the memory.
func (s *scale) settle(when string) {
	s.t.Helper()
	pause := time.Second
	if *podsFlag > 1000 {
		pause = 15 * time.Second
	}
	before := cpuOf(s.t, s.netloom.PID())
	time.Sleep(pause) // pause: for measuring
	s.report.idle = (cpuOf(s.t, s.netloom.PID()) - before) / pause.Seconds()
	s.report.memory(s.t, when, s.netloom)
	require.Less(s.t, peakOf(s.netloom.PID()), s.limit, "memory %s: the Deployment's limit would have ended netloom", when)
}

// steady changes one object after the other.
func (s *scale) steady() {
	s.t.Helper()
	stop := s.times.watch(s.t, s.kube)
	defer stop()
	n, rate := 10, 20
	if *podsFlag > 1000 {
		n, rate = 200, 10
	}
	before, began := cpuOf(s.t, s.netloom.PID()), time.Now()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for i := range n {
		<-tick.C
		s.load.relabel(s.t, s.times, kindRelabel, i)
		<-tick.C
		s.load.readdress(s.t, s.times, i)
		<-tick.C
		s.load.addPolicy(s.t, s.times, i)
	}
	s.times.await(s.t, s.netloom, kindRelabel, kindReaddress, kindPolicy)
	s.report.steadyCPU = (cpuOf(s.t, s.netloom.PID()) - before) / time.Since(began).Seconds()
	s.report.rate = rate
	for _, kind := range []string{kindRelabel, kindReaddress, kindPolicy} {
		s.report.changes(kind, s.times.of(kind))
	}
}

// burst changes many pods as fast as the API server takes it.
func (s *scale) burst() {
	s.t.Helper()
	stop := s.times.watch(s.t, s.kube)
	defer stop()
	n := *podsFlag / 10
	first := 200
	if *podsFlag <= 1000 {
		first = 10
	}
	began := time.Now()
	s.load.each(s.t, n, func(i int) { s.load.relabel(s.t, s.times, kindBurst, first+i) })
	answered := time.Now()
	s.times.await(s.t, s.netloom, kindBurst)
	s.report.bursts(n, answered.Sub(began), time.Since(answered), s.times.of(kindBurst))
	s.settle("after the burst")
}

// requireNothingToDo asks the program for a plan, as a user would.
func (s *scale) requireNothingToDo() {
	s.t.Helper()
	program, err := buildOnce()
	require.NoError(s.t, err)
	plan := exec.CommandContext(s.t.Context(), program, "plan", "--kubeconfig", s.kube.Kubeconfig(), "--ovn-nb", "tcp:"+s.address)
	out, err := plan.CombinedOutput()
	require.NoError(s.t, err, "a plan after everything: %.2000s", out)
}

// startOver stops netloom twice, which gives up the Lease then: once everything is in place when it comes back, once the
// database has lost it all.
func (s *scale) startOver() {
	s.t.Helper()
	s.netloom.Stop()
	before := s.times.seen()
	began := time.Now()
	s.netloom.Restart()
	s.awaitWriter()
	s.report.starts("restart, everything in place", time.Since(began), cpuOf(s.t, s.netloom.PID()), peakOf(s.netloom.PID()))
	require.Equal(s.t, before, s.times.seen(), "rows that a restart has changed")
	s.settle("after the restart")

	s.netloom.Stop()
	s.load.wipe(s.t, s.db.Addr())
	began = time.Now()
	s.netloom.Restart()
	s.awaitWriter()
	s.report.starts("start, empty database", time.Since(began), cpuOf(s.t, s.netloom.PID()), peakOf(s.netloom.PID()))
	s.requireNothingToDo()
	s.profile("started")
}

// awaitWriter waits until netloom leads and the database is in sync with it.
func (s *scale) awaitWriter() {
	s.t.Helper()
	await.True(s.t, func() bool {
		s.netloom.Running()
		said, err := s.netloom.Get("/readyz")
		return err == nil && !strings.Contains(said, "standby")
	}, "netloom is ready, and no standby")
}

// profile keeps what netloom's memory consists of, where that was asked for.
func (s *scale) profile(name string) {
	s.t.Helper()
	if *profileFlag == "" {
		return
	}
	heap, err := s.netloom.Get("/debug/pprof/heap")
	require.NoError(s.t, err)
	require.NoError(s.t, os.MkdirAll(*profileFlag, 0o755))
	require.NoError(s.t, os.WriteFile(fmt.Sprintf("%s/%s.heap", *profileFlag, name), []byte(heap), 0o600))
}

// profileCPU keeps what netloom spends its time on for some seconds, and its last rounds, where that was asked for.
func (s *scale) profileCPU(name string, seconds int) {
	if *profileFlag == "" {
		return
	}
	cpu, err := s.netloom.Get(fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds))
	if err != nil {
		s.t.Error(err)
		return
	}
	rounds, err := s.netloom.Get("/debug/rounds")
	if err != nil {
		s.t.Error(err)
	}
	for kind, text := range map[string]string{"cpu": cpu, "rounds": rounds} {
		if err := os.WriteFile(fmt.Sprintf("%s/%s.%s", *profileFlag, name, kind), []byte(text), 0o600); err != nil {
			s.t.Error(err)
		}
	}
}
