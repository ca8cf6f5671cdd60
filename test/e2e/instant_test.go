//go:build e2e

package e2e_test

import (
	"context"
	"flag"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

var startsFlag = flag.Int("starts", 5, "pod starts of each row of TestNoOpenInstant")

// The ports on which web listens for TestNoOpenInstant.
const (
	permitted = 7001
	denied    = 9001
)

// instantPolicy lets far reach web on permitted only.
const instantPolicy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: far}}}], ports: [{port: 7001, protocol: UDP}]}]
`

// plugged says when the interface of a pod is connected with its logical port.
type plugged int

const (
	beforePort   plugged = iota // it waits for the port: earlier than any network plugin, the longest window
	afterPort                   // at once when the port is written: earlier than a plugin that tells its CNI by an annotation
	afterWritten                // once the port is in the groups of its policies, and northd has translated that
)

func (p plugged) String() string {
	return [...]string{"before the port", "after the port", "once the port is in its groups"}[p]
}

// writeOrder is one order in which the rows of a pod that starts are written. The policy is in force before.
type writeOrder struct {
	name    string
	plugged plugged
	policy  [][]string                      // one transaction, before the port exists
	with    [][]string                      // in the transaction that creates the port
	after   []func(t *testing.T, p *podRun) // transactions after that, in order
}

// podRun is one start of web, to which far sends without end.
type podRun struct {
	*stage
	permitted, denied *ovnlab.Server
	tried             atomic.Int64  // datagrams that were sent to denied
	written           time.Duration // from the port to the last of the rows, in the last start
}

// nbctl is a transaction of one command or of several with "--" between them.
func nbctl(command string) func(*testing.T, *podRun) {
	return func(_ *testing.T, p *podRun) { p.lab.NBCtl(strings.Split(command, " ")...) }
}

// aclsOf are the commands that give the port group of web the ACLs of instantPolicy, with the priorities of a plugin.
func aclsOf(group string, drop, allow string) [][]string {
	return [][]string{
		{"acl-add", group, "to-lport", drop, "outport == @" + group + " && ip", "drop"},
		{"acl-add", group, "to-lport", allow, "outport == @" + group + " && ip4.src == $np_peers && udp.dst == 7001", "allow-related"},
	}
}

// policyRows are the rows of instantPolicy without any pod.
func policyRows(drop, allow string) [][]string {
	return append([][]string{{"pg-add", "np_web"}, {"create", "Address_Set", "name=np_peers", "addresses=10.244.2.13"}}, aclsOf("np_web", drop, allow)...)
}

// kubeOVN writes rows in the order of kube-ovn 1.17 (pkg/controller/pod.go, network_policy.go): the port, and after it the policy again as
// a whole: the ports of its group, its address sets, and all of its ACLs anew in one transaction. Between the first two it waits for
// requests to the API, which are left out here.
func kubeOVN(when plugged) writeOrder {
	anew := append([][]string{{"acl-del", "np_web"}}, aclsOf("np_web", "2000", "2001")...)
	return writeOrder{name: "kube-ovn", plugged: when, policy: policyRows("2000", "2001"), after: []func(*testing.T, *podRun){
		nbctl("pg-set-ports np_web e2e_web"), nbctl("set Address_Set np_peers addresses=10.244.2.13"),
		func(_ *testing.T, p *podRun) { p.lab.NBCtl(joined(anew)...) },
	}}
}

// ovnKubernetes writes rows in the order of ovn-kubernetes (pkg/ovn/base_network_controller_policy.go): the port with the address set of its
// namespace, and after it, from another queue, its membership in the groups of the policy and of the default deny, in one transaction.
func ovnKubernetes(when plugged) writeOrder {
	return writeOrder{
		name: "ovn-kubernetes", plugged: when, policy: append(policyRows("1000", "1001"), []string{"create", "Address_Set", "name=ns_e2e"}),
		with:  [][]string{{"add", "Address_Set", "ns_e2e", "addresses", "10.244.1.10"}},
		after: []func(*testing.T, *podRun){nbctl("pg-set-ports np_web e2e_web")},
	}
}

// late isolates a port only after a datagram has come through.
func late() writeOrder {
	open := func(t *testing.T, p *podRun) {
		before := p.denied.Received()
		await.True(t, func() bool { return p.denied.Received() > before }, "a datagram comes through while nothing isolates the port")
	}
	return writeOrder{name: "isolated late", plugged: beforePort, policy: policyRows("2000", "2001"), after: []func(*testing.T, *podRun){open, nbctl("pg-set-ports np_web e2e_web")}}
}

func joined(commands [][]string) []string {
	var args []string
	for i, c := range commands {
		if i > 0 {
			args = append(args, "--")
		}
		args = append(args, c...)
	}
	return args
}

// TestNoOpenInstant starts a pod again and again while another one sends it a datagram each millisecond that a policy denies, and counts what
// comes through: with the orders in which network plugins write rows, and with netloom beside a plugin.
func TestNoOpenInstant(t *testing.T) {
	s := newStage(t)
	p := &podRun{stage: s, permitted: s.hosts["web"].Serve("udp", permitted), denied: s.hosts["web"].Serve("udp", denied)}
	control := late()
	s.lab.NBCtl(joined(control.policy)...)
	through, _ := p.start(t, &control)
	require.Positive(t, through, "what comes through is counted")
	p.dropPolicy()
	for _, r := range []writeOrder{kubeOVN(beforePort), kubeOVN(afterPort), ovnKubernetes(beforePort), ovnKubernetes(afterPort)} {
		s.lab.NBCtl(joined(r.policy)...)
		p.measure(t, &r)
		p.dropPolicy()
	}

	put(t, s.dir, "web-policy.yaml", instantPolicy)
	daemon := start(t, s.dir, s.lab.NBTCP())
	s.settle(t, daemon)
	settled := func(t *testing.T, p *podRun) { p.settle(t, daemon) }
	for _, when := range []plugged{beforePort, afterPort, afterWritten} {
		total := p.measure(t, &writeOrder{name: "netloom", plugged: when, after: []func(*testing.T, *podRun){settled}})
		if when == afterWritten {
			require.Zero(t, total, "datagrams that the policy denies came through")
		}
	}
}

// measure starts the pod as often as -starts says, and returns how many datagrams came through that the policy denies.
func (p *podRun) measure(t *testing.T, r *writeOrder) (total int64) {
	t.Helper()
	open, sent, most, rows := 0, int64(0), int64(0), []time.Duration(nil)
	for range *startsFlag {
		through, tried := p.start(t, r)
		total, sent, most = total+through, sent+tried, max(most, through)
		if through > 0 {
			open++
		}
		rows = append(rows, p.written)
	}
	slices.Sort(rows)
	t.Logf("%s, interface %s: %d of %d starts open, %d datagrams of %d came through, at most %d of a start; all rows known to be there after %s",
		r.name, r.plugged, open, *startsFlag, total, sent, most, rows[len(rows)/2].Round(time.Millisecond))
	return total
}

// dropPolicy removes the rows of a policy that the test has written.
func (p *podRun) dropPolicy() {
	p.lab.NBCtl("pg-del", "np_web")
	p.lab.NBCtl("--all", "destroy", "Address_Set")
}

// start starts the pod once, and returns how many datagrams came through that the policy denies, of how many.
func (p *podRun) start(t *testing.T, r *writeOrder) (through, tried int64) {
	t.Helper()
	web := p.hosts["web"]
	p.chassis.Unplug(web)
	p.lab.RemovePort(web.Name())
	p.chassis.SyncHV()
	if r.plugged == beforePort {
		p.chassis.Plug(web)
	}
	stop := p.send(t)
	defer stop()
	came, before, sent := p.permitted.Received(), p.denied.Received(), p.tried.Load()
	p.lab.AddPort(web.Name(), r.with...)
	created := time.Now()
	if r.plugged == afterPort {
		p.chassis.Plug(web)
	}
	for _, step := range r.after {
		step(t, p)
	}
	p.written = time.Since(created)
	if r.plugged == afterWritten {
		p.lab.Sync()
		p.chassis.Plug(web)
	}
	await.True(t, func() bool { return p.permitted.Received() > came }, "what the policy allows comes through")
	p.chassis.SyncHV()
	last := p.tried.Load()
	await.True(t, func() bool { return p.tried.Load() > last+100 }, "more datagrams are tried")
	return p.denied.Received() - before, p.tried.Load() - sent
}

// send sends datagrams from far to both ports of web, one each millisecond, until stop is called.
func (p *podRun) send(t *testing.T) (stop func()) {
	t.Helper()
	far, to := p.hosts["far"], p.hosts["web"].Addr(false)
	dial := func(port uint16) net.Conn {
		conn, err := far.Dial(t.Context(), "udp", far.Addr(false), netip.AddrPortFrom(to, port))
		require.NoError(t, err)
		return conn
	}
	allowed, forbidden := dial(permitted), dial(denied)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			_, _ = allowed.Write([]byte("x"))   // a pod that is not there yet may refuse it
			_, _ = forbidden.Write([]byte("x")) // likewise
			p.tried.Add(1)
		}
	})
	return func() {
		cancel()
		running.Wait()
		_, _ = allowed.Close(), forbidden.Close()
	}
}
