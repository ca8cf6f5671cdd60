//go:build e2e

package e2ekube_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
	"github.com/netloom/netloom/test/oracle"
)

// moved is api, made again on the other node.
var moved = pod{"shop", "api", "10.244.2.20", "fd00:244:2::20", "node-b"}

// zoneSettings are those of the overlay, with a netloom that does not wait long.
const zoneSettings = "ovn-nb: [\"unix:/run/ovn/ovnnb_db.sock\"]\novn-lb-switches: \"!" + ovnlab.WorldSwitch + "\"\nretry-max: 1s\nlog-level: debug\n"

// zoneNodes are as kubelets would have made them: a DaemonSet has pods on none else.
const zoneNodes = `
{apiVersion: v1, kind: Node, metadata: {name: node-a, labels: {kubernetes.io/os: linux}}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-b, labels: {kubernetes.io/os: linux}}, spec: {taints: [{key: own, effect: NoSchedule}]}}
---
`

// zonePolicies select pods of one node, of the other, and of both.
const zonePolicies = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - {from: [{namespaceSelector: {matchLabels: {purpose: monitoring}}}, {podSelector: {matchLabels: {app: db}}}], ports: [{port: http}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: db}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress:
  - {from: [{podSelector: {matchLabels: {app: api}}}], ports: [{port: postgres}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: api}
spec:
  podSelector: {matchLabels: {app: api}}
  policyTypes: [Ingress, Egress]
  egress:
  - {to: [{podSelector: {matchLabels: {app: db}}}], ports: [{port: postgres}]}
`

// zone is a node with a database of its own, in which only the pods of that node have ports.
type zone struct {
	node    string
	ovn     *ovnlab.Lab
	ports   []string
	netloom *kubelab.Pod
}

// dir is where the sockets are: what a node has as /run/ovn.
func (z *zone) dir() string { return filepath.Dir(z.socket()) }

// socket is that of the database.
func (z *zone) socket() string { return strings.TrimPrefix(z.ovn.NBUnix(), "unix:") }

func startZone(t *testing.T, node string, pods ...pod) *zone {
	t.Helper()
	z := &zone{node: node, ovn: ovnlab.Start(t)}
	var ports []ovnlab.Port
	for _, p := range pods {
		require.Equal(t, node, p.node)
		z.ports = append(z.ports, p.port())
		ports = append(ports, ovnlab.Port{Name: p.port(), Addrs: []netip.Addr{p.addr(false), p.addr(true)}})
	}
	network, err := ovnlab.NewNetwork(ports, nil)
	require.NoError(t, err)
	z.ovn.Install(network)
	t.Cleanup(func() { require.Empty(t, z.ovn.Complaints(), "OVN cannot read what was written") })
	require.NoError(t, os.Chmod(z.dir(), 0o755))
	return z
}

// run runs the pod of the DaemonSet on the zone's node, with the zone's directory for the node's.
func (z *zone) run(t *testing.T, kube *kubelab.Lab, set *appsv1.DaemonSet) {
	t.Helper()
	program, err := buildOnce()
	require.NoError(t, err)
	spec := set.Spec.Template.Spec.DeepCopy()
	spec.NodeName = z.node
	for i := range spec.Volumes {
		if h := spec.Volumes[i].HostPath; h != nil {
			require.Equal(t, "/run/ovn", h.Path)
			h.Path = z.dir()
		}
	}
	listen := ovnlab.FreeAddress(t)
	z.netloom = kube.RunPod(set.Namespace, set.Name+"-"+z.node, spec, program, listen, "NETLOOM_LISTEN="+listen)
}

// list is a column of a table, a word for each value.
func (z *zone) list(table, column string) []string {
	return strings.Fields(z.ovn.NBCtl("--bare", "--no-headings", "--columns="+column, "list", table))
}

// acls counts the ACLs that a policy alone is there for.
func (z *zone) acls(policy string) int {
	return len(strings.Fields(z.ovn.NBCtl("--bare", "--no-headings", "--columns=_uuid", "find", "ACL", `external_ids:"netloom.io/name"=`+policy)))
}

// subjects are the names of the ports in groups.
func (z *zone) subjects() []string {
	var names []string
	for _, uuid := range z.list("Port_Group", "ports") {
		names = append(names, strings.Trim(strings.TrimSpace(z.ovn.NBCtl("get", "Logical_Switch_Port", uuid, "name")), `"`))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// zones are the nodes of a cluster.
type zones map[string]*zone

// differences are the flows that the OVNs together treat differently than the oracle: that of the source's node has to
// let a packet out, and that of the destination's node has to let it in.
func (zs zones) differences(t *testing.T, cluster *oracle.Cluster) (wrong []string, allowed, across int) {
	t.Helper()
	tracers := map[string]*ovnlab.Tracer{}
	for node, z := range zs {
		z.ovn.Sync()
		tracers[node] = z.ovn.Tracer()
		defer tracers[node].Close()
	}
	judge := cluster.Freeze()
	ends := map[oracle.End]string{{Addr: netip.MustParseAddr("192.0.2.7")}: "", {Addr: netip.MustParseAddr("2001:db8::7")}: ""}
	for _, p := range cluster.Pods {
		for _, ip := range p.Status.PodIPs {
			if p.Status.Phase == corev1.PodRunning {
				ends[oracle.End{Pod: p.Namespace + "/" + p.Name, Addr: netip.MustParseAddr(ip.IP)}] = p.Spec.NodeName
			}
		}
	}
	for src, from := range ends {
		for dst, to := range ends {
			if src.Addr.Is4() != dst.Addr.Is4() || src.Pod == dst.Pod {
				continue
			}
			for _, port := range portsOfPods {
				f := oracle.Flow{Src: src, Dst: dst, Protocol: corev1.ProtocolTCP, Port: port}
				want, got := judge.Allowed(f), true
				for node, tracer := range tracers {
					if node == from || node == to {
						got = got && tracer.Verdict(flowOf(f)) == ovnlab.Allow
					}
				}
				if want.Allowed {
					allowed++
				}
				if from != to {
					across++
				}
				if want.Allowed != got {
					wrong = append(wrong, fmt.Sprintf("%s (%s -> %s): allowed %t; the oracle: %s", flowOf(f), src.Pod, dst.Pod, got, strings.Join(want.Why, ", ")))
				}
			}
		}
	}
	return wrong, allowed, across
}

// converge waits until the OVNs together treat every flow as the oracle does.
func (zs zones) converge(t *testing.T, w *world) (allowed int) {
	t.Helper()
	var wrong []string
	var across int
	await.NoError(t, func() error {
		for _, z := range zs {
			z.netloom.Running()
		}
		if wrong, allowed, across = zs.differences(t, w.cluster()); len(wrong) > 0 {
			return errors.New(strings.Join(wrong[:min(len(wrong), 10)], "\n"))
		}
		return nil
	}, "the OVNs and the oracle agree")
	t.Logf("%d flows allowed; %d of all go from one node to another", allowed, across)
	return allowed
}

// installZones applies the overlay, as a dry run and for real, and a second time, which changes nothing; the cluster makes a
// pod for each node.
func installZones(t *testing.T, kube *kubelab.Lab) *appsv1.DaemonSet {
	t.Helper()
	objects := overlay(t, "zone", "feedback")(zoneSettings)
	kube.ApplyObjects(objects[:1]) // the namespace, which a dry run would miss
	require.Equal(t, "Namespace", objects[0].GetKind())
	for _, o := range objects {
		_, err := kube.TryApply(o, true)
		require.NoError(t, err, "dry run")
	}
	kube.ApplyObjects(objects)
	for _, o := range objects {
		before, err := kube.TryApply(o, false)
		require.NoError(t, err)
		after, err := kube.TryApply(o, false)
		require.NoError(t, err)
		require.Equal(t, withoutStatus(before), withoutStatus(after), "%s %s", o.GetKind(), o.GetName())
	}
	requireOnePerNode(t, kube, home)
	set, err := kube.Client().AppsV1().DaemonSets(home).Get(t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(t, err)
	return set
}

func requireOnePerNode(t *testing.T, kube *kubelab.Lab, namespace string) {
	t.Helper()
	await.True(t, func() bool {
		pods, err := kube.Client().CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=netloom"})
		require.NoError(t, err)
		return len(pods.Items) == 2
	}, "%s", "each node has a pod in "+namespace)
}

// TestZones runs the DaemonSet on two nodes that have an OVN each. Every database isolates the pods of its own node, knows the
// addresses of all, and the two let pass together what policies allow, also when a pod goes from one node to the other.
func TestZones(t *testing.T) {
	t.Parallel()
	kube := startKube(t, "WatchList=false")
	kube.Apply(zoneNodes + namespaces)
	definition, err := os.ReadFile(root + "/deploy/crds/netloom.io_policystatuses.yaml")
	require.NoError(t, err)
	kube.Apply(string(definition))
	a, b := startZone(t, "node-a", web, api), startZone(t, "node-b", web2, db, prober, moved)
	zs, w := zones{"node-a": a, "node-b": b}, &world{t: t, kube: kube}
	w.defineClusterPolicies()
	kube.Apply(onePolicyOfEachKind)
	set := installZones(t, kube)
	for _, z := range zs {
		z.run(t, kube, set)
	}
	t.Cleanup(func() { requireNothingForbidden(t, kube) })

	// The umask of most programs takes from the group what it needs to connect.
	for _, z := range zs {
		await.True(t, func() bool {
			z.netloom.Running()
			return strings.Contains(z.netloom.Log(), "permission denied")
		}, "the unreachable socket is reported")
		require.False(t, z.netloom.Ready())
		require.NoError(t, os.Chmod(z.socket(), 0o770))
	}
	for _, z := range zs {
		z.netloom.AwaitReady()
	}
	for p, labels := range map[pod]string{web: "app: web", web2: "app: web", api: "app: api", db: "app: db", prober: ""} {
		w.create(p, labels)
	}
	open := zs.converge(t, w)
	kube.Apply(zonePolicies)
	require.Less(t, zs.converge(t, w), open)
	require.Equal(t, []string{"shop_api", "shop_web"}, a.subjects())
	require.Equal(t, []string{"shop_db", "shop_web2"}, b.subjects())
	require.Zero(t, a.acls("db"), "db is on the other node")
	require.NotZero(t, b.acls("db"))
	require.NotZero(t, a.acls("api"))
	require.Zero(t, b.acls("api"))
	for _, z := range zs {
		require.NotZero(t, z.acls("web"))
		require.Contains(t, z.list("Address_Set", "addresses"), prober.v4, "peers are those of all nodes")
	}
	require.Contains(t, b.list("Address_Set", "addresses"), api.v4)

	w.zonesReport(zs)

	w.remove(api)
	await.True(t, func() bool { return a.acls("api") == 0 }, "api is gone")
	require.Equal(t, []string{"shop_web"}, a.subjects())
	w.create(moved, "app: api")
	zs.converge(t, w)
	require.Equal(t, []string{"shop_api", "shop_db", "shop_web2"}, b.subjects())
	require.NotZero(t, b.acls("api"))
	require.Contains(t, b.list("Address_Set", "addresses"), moved.v4)
	require.NotContains(t, b.list("Address_Set", "addresses"), api.v4)

	a.ovn.KillDBs() // a failure of one node does not affect another
	require.NoError(t, kube.Client().NetworkingV1().NetworkPolicies("shop").Delete(t.Context(), "db", metav1.DeleteOptions{}))
	await.True(t, func() bool { return b.acls("db") == 0 }, "the other node goes on")
	a.netloom.Running()
}

// zonesReport checks that both write into the same PolicyStatus, and that the rights of the overlay are used. There are no
// Events: each node would report every policy.
func (w *world) zonesReport(zs zones) {
	t := w.t
	t.Helper()
	w.netloom = zs["node-a"].netloom
	w.awaitRow("web", "True", 1)
	await.True(t, func() bool { return w.rows()["web"]["Targets"] == "2/2" }, "both targets enforce it")
	var names []string
	for _, target := range w.policyStatus("web").Status.Targets {
		require.True(t, target.Enforced, target.Name)
		require.EqualValues(t, 1, target.Subjects, target.Name)
		names = append(names, target.Name)
	}
	require.ElementsMatch(t, []string{"ovn/node-a", "ovn/node-b"}, names)
	rights := slices.DeleteFunc(rightsToWork(t, overlay(t, "zone", "feedback")(zoneSettings)), func(r right) bool {
		return r.resource == "events" || r.resource == "policystatuses" && r.verb == "create" // which is part of a patch
	})
	require.Empty(t, unused(w.kube, account, rights), "unused")
}

// TestChartForZones renders the chart with a pod for each node.
func TestChartForZones(t *testing.T) {
	t.Parallel()
	kube := startKube(t)
	kube.Apply(zoneNodes + `
{apiVersion: v1, kind: Namespace, metadata: {name: zones, labels: {pod-security.kubernetes.io/enforce: privileged}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: plain, labels: {pod-security.kubernetes.io/enforce: restricted}}}
`)
	socket := map[string]any{"ovn-nb": []any{"unix:/run/ovn/ovnnb_db.sock"}, "ovn-port-names": "ovn-kubernetes"}
	for namespace, objects := range map[string][]*unstructured.Unstructured{
		"zones": helm(t, "zones", socket, map[string]any{"mode": "zone"}),
		// Without a directory of the node, pods are admitted anywhere.
		"plain": helm(t, "plain", map[string]any{"ovn-port-names": "ovn-kubernetes"}, map[string]any{
			"mode": "zone", "nameOverride": "plain", "zone": map[string]any{"socketDirectory": "", "endpoint": "ssl:$(HOST_IP):6641"},
		}),
	} {
		require.Nil(t, deployment.Find(objects, "Deployment", "netloom"))
		for _, o := range objects {
			_, err := kube.TryApply(o, true)
			require.NoError(t, err, "dry run of %s", namespace)
		}
		kube.ApplyObjects(objects)
		requireOnePerNode(t, kube, namespace)
	}
}
