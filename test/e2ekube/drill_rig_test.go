//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
	"github.com/netloom/netloom/test/oracle"
)

// The cluster of a drill: in each team's namespace two pods and three pods are isolated by a policy each, and one pod is not.
const (
	teams       = 8
	podsOfATeam = 6
	isolated    = 5 * teams
	freePod     = podsOfATeam - 1
	policyCount = 2 * teams
)

func teamName(k int) string    { return fmt.Sprintf("team-%d", k) }
func teamPod(i int) string     { return fmt.Sprintf("pod-%d", i) }
func teamPort(k, i int) string { return teamName(k) + "_" + teamPod(i) }
func appOf(i int) string       { return []string{"web", "web", "api", "api", "api", "free"}[i] }

func teamAddress(k, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 128, byte(k), byte(1 + i)})
}

// stranger is an address that no policy allows anything from or to.
var stranger = netip.MustParseAddr("192.0.2.7")

// toPod is a connection from a stranger to the ith pod of the kth team; fromPod is one from there to the stranger.
func toPod(k, i int) nbtrace.Packet {
	return nbtrace.Packet{Outport: teamPort(k, i), Src: stranger, Dst: teamAddress(k, i), Protocol: 6, SrcPort: 40000, DstPort: 80}
}

func fromPod(k, i int) nbtrace.Packet {
	return nbtrace.Packet{Inport: teamPort(k, i), Src: teamAddress(k, i), Dst: stranger, Protocol: 6, SrcPort: 40000, DstPort: 80}
}

// drillCluster is what is in force before a drill.
func drillCluster() *oracle.Cluster {
	c := &oracle.Cluster{Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}}}
	for k := range teams {
		c.Namespaces = append(c.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: teamName(k)}})
		for i := range podsOfATeam {
			address := teamAddress(k, i).String()
			c.Pods = append(c.Pods, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: teamName(k), Name: teamPod(i), Labels: map[string]string{"app": appOf(i)}},
				Spec:       corev1.PodSpec{NodeName: "node-a", Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}},
			})
		}
		web, api := isolating(k, "web"), isolating(k, "api")
		port := intstr.FromInt32(80)
		api.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{
			From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}},
			Ports: []networkingv1.NetworkPolicyPort{{Port: &port}},
		}}
		c.Policies = append(c.Policies, web, api)
	}
	return c
}

// isolating is a policy of a team that lets nothing in to the pods of an app.
func isolating(k int, app string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: teamName(k), Name: app},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}
}

// startEmptyNB starts a Northbound database without anything else, and returns its address on loopback.
func startEmptyNB(t *testing.T) (db *ovsdbtest.Process, address string) {
	t.Helper()
	schema, err := os.ReadFile("/usr/share/ovn/ovn-nb.ovsschema")
	require.NoError(t, err)
	address = ovnlab.FreeAddress(t)
	_, port, err := splitAddress(address)
	require.NoError(t, err)
	db, err = ovsdbtest.StartProcess(context.WithoutCancel(t.Context()), t.TempDir(), schema, "--remote=ptcp:"+port+":127.0.0.1",
		"--remote=db:OVN_Northbound,NB_Global,connections")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Kill() })
	return db, "tcp:" + address
}

// startNB starts a Northbound database and a witness of every state that is committed to it. Then it gets the logical ports of
// a cluster. No northd runs.
func startNB(t *testing.T, l *load) (address string, w *witness) {
	t.Helper()
	db, address := startEmptyNB(t)
	w = &witness{t: t, database: db.Addr(), replica: nbwatch.NewReplica(), closed: map[string]nbtrace.Packet{}, pending: map[string]nbtrace.Packet{}, since: map[string]time.Time{}}
	watch, err := nbwatch.Start(t.Context(), db.Addr(), w.take, nbwatch.ReplicaTables()...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, watch.Close())
		w.check()
	})
	l.makePorts(t, db.Addr())
	return address, w
}

// witness judges packets in every state that is committed, one after the other.
type witness struct {
	t        *testing.T
	database string // its endpoint
	mu       sync.Mutex
	replica  *nbwatch.Replica
	tracer   *nbtrace.Tracer           // of the newest state
	closed   map[string]nbtrace.Packet // denied in every state from now on, by what they are called
	pending  map[string]nbtrace.Packet // to be closed from the first state on that denies them
	since    map[string]time.Time      // when the state was read that first denied what was pending
	states   int
	wrong    []string

	measured *nbtrace.Packet // how long it has been open is measured
	opened   time.Time       // when the state was read that first allowed it; zero if the newest denies it
	open     time.Duration   // in sum, except in the newest state
	openings int
}

// take takes a change in, and judges the state when it is complete.
func (w *witness) take(c nbwatch.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replica.Apply(c)
	if !c.Last {
		return
	}
	w.states++
	tracer, err := nbtrace.New(w.replica.Rows())
	if err != nil {
		w.wrong = append(w.wrong, fmt.Sprintf("state %d: %v", w.states, err))
	}
	w.tracer = tracer
	w.measure(c.At)
	for name, p := range w.pending {
		if !tracer.Trace(p).Allowed {
			w.since[name], w.closed[name] = c.At, p
			delete(w.pending, name)
		}
	}
	for name, p := range w.closed {
		if tracer.Trace(p).Allowed {
			w.wrong = append(w.wrong, fmt.Sprintf("state %d: %s is open", w.states, name))
		}
	}
}

// measure takes the newest state into account, which was read at a moment. The lock is held.
func (w *witness) measure(at time.Time) {
	if w.measured == nil {
		return
	}
	switch allowed := w.tracer.Trace(*w.measured).Allowed; {
	case allowed && w.opened.IsZero():
		w.opened = at
		w.openings++
	case !allowed && !w.opened.IsZero():
		w.open += at.Sub(w.opened)
		w.opened = time.Time{}
	}
}

// timeOpen measures for how long a packet is allowed from now on. Said returns that, and how often it began to be allowed.
func (w *witness) timeOpen(p nbtrace.Packet) (said func() (open time.Duration, openings int)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.measured, w.opened, w.open, w.openings = &p, time.Time{}, 0, 0
	return func() (time.Duration, int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.opened.IsZero() {
			return w.open, w.openings
		}
		return w.open + time.Since(w.opened), w.openings
	}
}

// close requires that a packet is denied in every state from now on, or from the first state on that denies it.
func (w *witness) close(name string, p nbtrace.Packet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tracer != nil && !w.tracer.Trace(p).Allowed {
		w.closed[name] = p
		return
	}
	w.pending[name] = p
}

// release ends that packets have to be denied.
func (w *witness) release(names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		delete(w.closed, name)
	}
}

// await waits until all that is pending is denied.
func (w *witness) await(what string, running func()) {
	w.t.Helper()
	await.True(w.t, func() bool {
		running()
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.pending) == 0
	}, "%s", what)
	w.check()
}

// enforced is when the state was read that first denied what was pending under a name.
func (w *witness) enforced(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since[name]
}

// allows reports whether the newest state allows a packet.
func (w *witness) allows(p nbtrace.Packet) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracer.Trace(p).Allowed
}

// rowsOf counts the ACLs that name policies of a namespace, in the newest state.
func (w *witness) rowsOf(namespace string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	rows := w.replica.Rows()
	for i := range rows.ACLs {
		if rows.ACLs[i].ExternalIDs["netloom.io/namespace"] == namespace {
			n++
		}
	}
	return n
}

// check fails the test when something was open in any state so far.
func (w *witness) check() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.t, strings.Join(w.wrong[:min(len(w.wrong), 10)], "\n"), "in %d committed states", w.states)
}

// protect requires that the isolated pods of teams stay closed.
func (w *witness) protect(from, to int) {
	for k := from; k < to; k++ {
		for i := range podsOfATeam {
			if i != freePod {
				w.close(teamPort(k, i), toPod(k, i))
			}
		}
	}
}

// protected are the names under which the isolated pods of teams are closed.
func protected(from, to int) []string {
	var all []string
	for k := from; k < to; k++ {
		for i := range podsOfATeam {
			if i != freePod {
				all = append(all, teamPort(k, i))
			}
		}
	}
	return all
}
