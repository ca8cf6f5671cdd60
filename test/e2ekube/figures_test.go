//go:build e2e

package e2ekube_test

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/bench/figures"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
	"github.com/netloom/netloom/test/policygen"
)

// Sizes of TestFigures. The small defaults only keep it working; `make bench-kube` sets the published ones.
var (
	sizesFlag     = flag.String("sizes", "300", "pods of each cluster of TestFigures, at least 300, separated by commas")
	stormFlag     = flag.Int("storm", 50, "changes of the storm in TestFigures, a tenth of which relabel namespaces; 0 leaves it out")
	memoryFlag    = flag.String("memory", "100", "pods of each cluster for which TestFigures measures the memory alone")
	flipsFlag     = flag.Int("flips", 3, "pods of the chassis whose labels TestFigures changes, at most 20")
	selectorsFlag = flag.Bool("selectors", false, "have TestFigures run the benchmarks of new selectors too")
	publishedFlag = flag.Bool("published", false, "have TestFigures fail if a figure is worse than the last published one by more than the noise of the run")
	tableFlag     = flag.String("table", "", "file that TestFigures writes its table to")
)

// The cluster of TestFigures.
const (
	figuresPolicies = 2000 // at most
	figuresPorts    = 20   // of the chassis
	perSwitch       = 200  // ports
)

// TestFigures prints one table of what netloom costs in clusters of several sizes, behind a real API server and before a real OVN
// with ovn-northd and one chassis, each beside what was last published. It asserts that everything ends in sync, and with -published that no
// figure has got worse.
func TestFigures(t *testing.T) {
	sizes, err := figures.Sizes(*sizesFlag)
	require.NoError(t, err)
	began := loadAverage()
	var all []figures.Figure
	for _, pods := range sizes {
		t.Run(fmt.Sprintf("pods=%d", pods), func(t *testing.T) {
			s := newSizing(t, pods)
			s.firstStart()
			s.flips("app", figures.App)
			s.flips("tier", figures.Tier)
			s.deletions()
			s.equalPolicies()
			s.withoutController()
			s.storm("a storm", *stormFlag)
			requireNothingForbidden(t, s.kube)
			t.Log("\n" + figures.Table(s.figures, figures.Last()))
			all = append(all, s.figures...)
		})
	}
	all = append(all, memory(t)...)
	all = append(all, newSelectors(t)...)
	text := fmt.Sprintf("%s, %d cores shared by everything that was measured, load average %s at the start, %s at the end\n\n%s",
		ovnVersion(t), runtime.NumCPU(), began, loadAverage(), figures.Table(all, figures.Last()))
	t.Log("\n" + text)
	if *tableFlag != "" {
		require.NoError(t, os.WriteFile(*tableFlag, []byte(text), 0o600))
	}
	if *publishedFlag {
		require.Contains(t, ovnVersion(t), figures.LastOVN, "figures are compared with those of one version of OVN")
		require.Empty(t, figures.Worse(all, figures.Last()))
	}
}

// sizing is a cluster with a chassis, and the figures that were measured in it.
type sizing struct {
	t        *testing.T
	kube     *kubelab.Lab
	ovn      *ovnlab.Lab
	chassis  *ovnlab.Chassis
	installs *ovnlab.Installs
	load     *load
	times    *stopwatch
	netloom  *kubelab.Pod
	echo     string // the program that only passes events on
	alone    bool   // without ovn-controller
	upset    int    // changes of storms so far
	figures  []figures.Figure
}

// newSizing starts everything but netloom and creates the objects of a cluster.
func newSizing(t *testing.T, pods int) *sizing {
	t.Helper()
	require.GreaterOrEqual(t, pods, 300, "every tier is selected from here on, so that every flip changes a row")
	cluster := policygen.Workload(pods)
	cluster.Policies = cluster.Policies[:min(len(cluster.Policies), figuresPolicies)]
	var ports []ovnlab.Port
	for i, p := range cluster.Pods {
		a := netip.AddrFrom4([4]byte{10, byte(128 + i/perSwitch>>8), byte(i / perSwitch), byte(1 + i%perSwitch)}) // leaves room for routers
		p.Status.PodIP, p.Status.PodIPs[0].IP = a.String(), a.String()
		ports = append(ports, ovnlab.Port{Name: p.Namespace + "_" + p.Name, Addrs: []netip.Addr{a}})
	}
	network, err := ovnlab.NewNetwork(ports, nil)
	require.NoError(t, err)
	s := &sizing{t: t, kube: startKube(t), ovn: ovnlab.Start(t), times: newStopwatch(), echo: buildEcho(t)}
	t.Cleanup(func() { require.Empty(t, s.ovn.Complaints(), "OVN cannot read what was written") })
	s.ovn.Install(network)
	s.chassis = s.ovn.StartChassis()
	s.installs = s.chassis.WatchFlows()
	var local []string
	for i := range figuresPorts { // spread over policies as a scheduler spreads them over nodes
		local = append(local, ports[s.spread(i, pods)].Name)
	}
	s.chassis.Bind(nil, local...)
	s.load = newLoad(t, s.kube, cluster)
	s.load.namespaces(t)
	s.load.create(t, s.times)
	s.kube.ApplyObjects(central(t)(fmt.Sprintf("ovn-nb: [%q]\n", s.ovn.NBTCP())))
	watch, err := nbwatch.Start(t.Context(), s.ovn.NBTCP(), s.times.row, "ACL", "Address_Set", "Port_Group")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, watch.Close()) })
	return s
}

// spread is the index of the i-th pod of the chassis.
func (*sizing) spread(i, pods int) int { return i * pods / figuresPorts }

func (s *sizing) add(f *figures.Figure) {
	f.Pods = len(s.load.cluster.Pods)
	s.figures = append(s.figures, *f)
}

// firstStart starts netloom over a database without rows of its own.
func (s *sizing) firstStart() {
	s.t.Helper()
	_, err := buildOnce() // which takes longer than the start
	require.NoError(s.t, err)
	began := time.Now()
	s.netloom = run(s.t, s.kube, home, "netloom")
	s.netloom.AwaitReady()
	s.times.await(s.t, s.netloom, kindLoad)
	took := time.Since(began)
	s.awaitNothingToDo()
	s.chassis.Settle()
	resident, peak := statusOf(s.netloom.PID(), "VmRSS"), peakOf(s.netloom.PID())
	s.add(&figures.Figure{Name: figures.Start + ", until all rows are committed", Measured: took.Seconds(), Unit: "s", Meaning: "with the wait for the Lease"})
	s.add(&figures.Figure{
		Name: figures.Start + ", ACLs", Measured: float64(s.ovn.Rows("ACL")), AtMost: s.at(1000, 400),
		Meaning: fmt.Sprintf("%d address sets, %d port groups; %d flows on the chassis, which has %d ports", s.ovn.Rows("Address_Set"),
			s.ovn.Rows("Port_Group"), s.chassis.Flows(), figuresPorts),
	})
	s.add(&figures.Figure{
		Name: figures.Start + ", resident memory", Measured: mebibytes(resident), Unit: "MiB", AtMost: s.at(1000, 56),
		Meaning: fmt.Sprintf("%.0f MiB at most; %.0f MiB are pages of the program's file", mebibytes(peak), mebibytes(statusOf(s.netloom.PID(), "RssFile"))),
	})
}

// withoutController measures once more what a busy ovn-controller delays, which on most clusters has processors of its own. The
// limits were set for this: ovn-northd runs, and no ovn-controller. Its flips come before any storm, which changes the same labels.
func (s *sizing) withoutController() {
	s.t.Helper()
	s.chassis.StopController()
	s.alone = true
	s.flips("app", "without ovn-controller, the app label")
	s.flips("tier", "without ovn-controller, the tier label")
	s.storm("without ovn-controller, a storm", *stormFlag)
	s.alone = false
	s.chassis.StartController()
}

// at is a limit that was set for a cluster of that many pods.
func (s *sizing) at(pods int, limit float64) *float64 {
	if len(s.load.cluster.Pods) != pods {
		return nil
	}
	return &limit
}

// awaitNothingToDo waits until a plan, as a user would ask for it, finds the database in sync.
func (s *sizing) awaitNothingToDo() {
	s.t.Helper()
	await.True(s.t, func() bool {
		s.netloom.Running()
		return s.plan() == nil
	}, "a plan finds nothing to do")
}

// plan asks the program for a plan, which fails if there is anything to do.
func (s *sizing) plan() error {
	program, err := buildOnce()
	require.NoError(s.t, err)
	_, err = s.ovn.RunProgram(s.t.Context(), program, "plan", "--kubeconfig", s.kube.Kubeconfig(), "--ovn-nb", s.ovn.NBTCP())
	return err
}

// ovnVersion is the version of the OVN that was measured.
func ovnVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ovn-northd", "--version").Output()
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
