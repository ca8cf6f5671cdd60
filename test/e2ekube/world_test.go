//go:build e2e

package e2ekube_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
	"github.com/netloom/netloom/test/oracle"
)

// pod is a place in the network that a pod may take: its logical port is there from the start, as a network plugin would
// have made it.
type pod struct {
	namespace, name string
	v4, v6          string
	node            string
}

func (p pod) port() string { return p.namespace + "_" + p.name }

func (p pod) addr(v6 bool) netip.Addr {
	if v6 {
		return netip.MustParseAddr(p.v6)
	}
	return netip.MustParseAddr(p.v4)
}

// The places of every test.
var (
	web    = pod{"shop", "web", "10.244.1.10", "fd00:244:1::10", "node-a"}
	web2   = pod{"shop", "web2", "10.244.2.11", "fd00:244:2::11", "node-b"}
	api    = pod{"shop", "api", "10.244.1.20", "fd00:244:1::20", "node-a"}
	db     = pod{"shop", "db", "10.244.2.30", "fd00:244:2::30", "node-b"}
	prober = pod{"watch", "prober", "10.244.2.40", "fd00:244:2::40", "node-b"}
	places = []pod{web, web2, api, db, prober}
)

// portsOfPods are those that every pod declares.
var portsOfPods = []int32{80, 5432}

// world is a cluster with netloom in it, and the network that it writes.
type world struct {
	t       *testing.T
	kube    *kubelab.Lab
	ovn     *ovnlab.Lab
	netloom *kubelab.Pod
}

// newWorld installs netloom. Until the test ends, it may not ask for anything that it has no right to.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := freeWorld(t)
	t.Cleanup(func() { requireNothingForbidden(t, w.kube) })
	return w
}

// freeWorld installs netloom in a control plane with feature gates.
func freeWorld(t *testing.T, features ...string) *world {
	t.Helper()
	w := &world{t: t, kube: startKube(t, features...), ovn: startOVN(t)}
	w.kube.Apply(nodes + namespaces)
	w.netloom = install(t, w.kube, w.ovn)
	return w
}

// startOVN brings up a control plane with the ports of all places.
func startOVN(t *testing.T) *ovnlab.Lab {
	t.Helper()
	lab := ovnlab.Start(t)
	var ports []ovnlab.Port
	for _, p := range places {
		ports = append(ports, ovnlab.Port{Name: p.port(), Addrs: []netip.Addr{p.addr(false), p.addr(true)}})
	}
	network, err := ovnlab.NewNetwork(ports, []netip.Addr{netip.MustParseAddr("192.168.50.11"), netip.MustParseAddr("192.168.50.12")})
	require.NoError(t, err)
	lab.Install(network)
	t.Cleanup(func() { require.Empty(t, lab.Complaints(), "OVN cannot read what was written") })
	return lab
}

const nodes = `
apiVersion: v1
kind: Node
metadata: {name: node-a}
---
apiVersion: v1
kind: Node
metadata: {name: node-b}
---
`

const namespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: retail}}
---
apiVersion: v1
kind: Namespace
metadata: {name: watch, labels: {purpose: monitoring}}
---
`

// create applies a pod and sets its status as a kubelet would.
func (w *world) create(p pod, labels string) {
	w.t.Helper()
	w.kube.Apply(p.manifest(labels))
	w.status(p, "Running")
}

func (p pod) manifest(labels string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: %s, labels: {%s}}
spec:
  nodeName: %s
  containers:
  - name: main
    image: example.test/none
    ports: [{name: http, containerPort: 80}, {name: postgres, containerPort: 5432}]
`, p.namespace, p.name, labels, p.node)
}

func (w *world) status(p pod, phase string) {
	w.t.Helper()
	w.kube.Status(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: %s}
status:
  phase: %s
  podIP: %s
  podIPs: [{ip: %s}, {ip: %q}]
  conditions: [{type: Ready, status: %q}]
`, p.namespace, p.name, phase, p.v4, p.v4, p.v6, map[bool]string{true: "True", false: "False"}[phase == "Running"]))
}

// remove deletes a pod without waiting for a kubelet.
func (w *world) remove(p pod) {
	w.t.Helper()
	now := int64(0)
	require.NoError(w.t, w.kube.Client().CoreV1().Pods(p.namespace).Delete(w.t.Context(), p.name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

// cluster is the content of the API server, for the oracle.
func (w *world) cluster() *oracle.Cluster {
	w.t.Helper()
	ctx, opts, client := w.t.Context(), metav1.ListOptions{}, w.kube.Client()
	pods, err := client.CoreV1().Pods("").List(ctx, opts)
	require.NoError(w.t, err)
	spaces, err := client.CoreV1().Namespaces().List(ctx, opts)
	require.NoError(w.t, err)
	hosts, err := client.CoreV1().Nodes().List(ctx, opts)
	require.NoError(w.t, err)
	policies, err := client.NetworkingV1().NetworkPolicies("").List(ctx, opts)
	require.NoError(w.t, err)
	services, err := client.CoreV1().Services("").List(ctx, opts)
	require.NoError(w.t, err)
	endpoints, err := client.DiscoveryV1().EndpointSlices("").List(ctx, opts)
	require.NoError(w.t, err)
	return &oracle.Cluster{
		Pods: pointers[corev1.Pod](pods.Items), Namespaces: pointers[corev1.Namespace](spaces.Items),
		Nodes: pointers[corev1.Node](hosts.Items), Policies: pointers[networkingv1.NetworkPolicy](policies.Items),
		Services: pointers[corev1.Service](services.Items), Slices: pointers[discoveryv1.EndpointSlice](endpoints.Items),
	}
}

func pointers[T any](items []T) []*T {
	var all []*T
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}

// flows are those between the places of existing pods, and from and to an outside address.
func flows(c *oracle.Cluster) []oracle.Flow {
	var all []oracle.Flow
	for _, v6 := range []bool{false, true} {
		stranger := oracle.End{Addr: netip.MustParseAddr(map[bool]string{false: "192.0.2.7", true: "2001:db8::7"}[v6])}
		ends := []oracle.End{stranger}
		for _, p := range places {
			if slices.ContainsFunc(c.Pods, func(o *corev1.Pod) bool {
				return o.Namespace == p.namespace && o.Name == p.name && o.Status.Phase == corev1.PodRunning
			}) {
				ends = append(ends, oracle.End{Pod: p.namespace + "/" + p.name, Addr: p.addr(v6)})
			}
		}
		for _, src := range ends {
			for _, dst := range ends {
				for _, port := range portsOfPods {
					if src != dst {
						all = append(all, oracle.Flow{Src: src, Dst: dst, Protocol: corev1.ProtocolTCP, Port: port})
					}
				}
			}
		}
	}
	return all
}

// differences are the flows that OVN treats differently than the oracle.
func (w *world) differences() (wrong []string, allowed, asked int) {
	w.t.Helper()
	cluster := w.cluster()
	w.ovn.Sync()
	tracer := w.ovn.Tracer()
	defer tracer.Close()
	judge := cluster.Freeze()
	for _, f := range flows(cluster) {
		want := judge.Allowed(f)
		got := tracer.Verdict(flowOf(f))
		asked++
		if want.Allowed {
			allowed++
		}
		if want.Allowed != (got == ovnlab.Allow) {
			wrong = append(wrong, fmt.Sprintf("%s (%s -> %s): %s; the oracle: %s", flowOf(f), f.Src.Pod, f.Dst.Pod, got, strings.Join(want.Why, ", ")))
		}
	}
	return wrong, allowed, asked
}

func flowOf(f oracle.Flow) ovnlab.Flow {
	return ovnlab.Flow{Src: f.Src.Addr, Dst: f.Dst.Addr, Protocol: strings.ToLower(string(f.Protocol)), Port: uint16(f.Port)}
}

// converge waits until OVN treats every flow of the cluster as the oracle does, and returns how many are allowed.
func (w *world) converge() (allowed int) {
	w.t.Helper()
	var wrong []string
	var asked int
	await.NoError(w.t, func() error {
		w.netloom.Running()
		if wrong, allowed, asked = w.differences(); len(wrong) > 0 {
			return errors.New(strings.Join(wrong[:min(len(wrong), 10)], "\n"))
		}
		return nil
	}, "OVN and the oracle agree")
	w.t.Logf("%d flows, %d allowed", asked, allowed)
	return allowed
}

// connects reports whether OVN delivers a TCP packet from one place to another, in both families alike. Rules may change between the two
// traces; then it traces again.
func (w *world) connects(from, to pod, port uint16) bool {
	w.t.Helper()
	trace := func(six bool) ovnlab.Verdict {
		return w.ovn.Trace(ovnlab.Flow{Src: from.addr(six), Dst: to.addr(six), Protocol: "tcp", Port: port})
	}
	var verdict ovnlab.Verdict
	await.True(w.t, func() bool {
		verdict = trace(false)
		return verdict == trace(true)
	}, "both families are treated alike")
	return verdict == ovnlab.Allow
}
