package upgrade

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
)

// World is a cluster in a directory of manifests, and what the current version makes of it.
type World struct {
	Dir     string
	Want    *intent.Snapshot
	cluster *oracle.Cluster
}

// Generate returns the manifests of the cluster of a seed, and of as many clusters after it, each with a few changes more.
func Generate(t testing.TB, seed uint64, later int) [][]byte {
	t.Helper()
	c := policygen.Generate(seed, policygen.Size{Nodes: 3, Services: 5, Cluster: 4})
	rng := policygen.NewRand(seed)
	c.Policies = append(c.Policies, policygen.Alike(c, rng, 10)...) // the forms of rows differ in what they share
	all := [][]byte{text(t, c)}
	for range later {
		for range 4 {
			policygen.Mutate(c, rng)
		}
		all = append(all, text(t, c))
	}
	return all
}

// text returns the manifests of a cluster without the policies that a resolver has a say in: DNS would answer the versions differently.
func text(t testing.TB, c *oracle.Cluster) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, o := range policygen.Objects(c) {
		one, err := yaml.Marshal(o)
		require.NoError(t, err)
		if !bytes.Contains(one, []byte("domainNames:")) {
			b.WriteString("---\n")
			b.Write(one)
		}
	}
	return b.Bytes()
}

// Open makes a World of manifests. The directory is removed with the test.
func Open(t testing.TB, manifests []byte) *World {
	t.Helper()
	w := &World{Dir: t.TempDir()}
	w.Write(t, manifests)
	return w
}

// Write replaces the manifests at once.
func (w *World) Write(t testing.TB, manifests []byte) {
	t.Helper()
	aside := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(aside, manifests, 0o600))
	require.NoError(t, os.Rename(aside, filepath.Join(w.Dir, "all.yaml")))
	w.read(t)
}

// Text returns the manifests.
func (w *World) Text(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir, "all.yaml"))
	require.NoError(t, err)
	return text
}

// read translates the manifests as the daemon does for OVN alone.
func (w *World) read(t testing.TB) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	source := manifest.NewDirectory(w.Dir, manifest.Options{}, log)
	require.NoError(t, source.ReadOnce())
	w.cluster = &oracle.Cluster{}
	made := translator.New(translator.Options{PartsOnly: true})
	for _, ref := range source.Refs() {
		o, ok := source.Get(ref)
		require.True(t, ok)
		require.NoError(t, made.Put(o))
		switch o := o.(type) {
		case *corev1.Pod:
			w.cluster.Pods = append(w.cluster.Pods, o)
		case *corev1.Namespace:
			w.cluster.Namespaces = append(w.cluster.Namespaces, o)
		case *corev1.Node:
			w.cluster.Nodes = append(w.cluster.Nodes, o)
		case *networkingv1.NetworkPolicy:
			w.cluster.Policies = append(w.cluster.Policies, o)
		case *v1alpha2.ClusterNetworkPolicy:
			w.cluster.ClusterPolicies = append(w.cluster.ClusterPolicies, o)
		case *v1alpha1.AdminNetworkPolicy:
			w.cluster.AdminPolicies = append(w.cluster.AdminPolicies, o)
		case *v1alpha1.BaselineAdminNetworkPolicy:
			w.cluster.BaselinePolicies = append(w.cluster.BaselinePolicies, o)
		case *corev1.Service:
			w.cluster.Services = append(w.cluster.Services, o)
		case *discoveryv1.EndpointSlice:
			w.cluster.Slices = append(w.cluster.Slices, o)
		}
	}
	w.Want = made.Snapshot()
}

// Endpoints are the pods that have a logical port.
func (w *World) Endpoints() []intent.Endpoint {
	var list []intent.Endpoint
	for _, pod := range w.cluster.Pods {
		if pod.Spec.HostNetwork || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		e := intent.Endpoint{Key: object.Key{Namespace: pod.Namespace, Name: pod.Name}, Node: pod.Spec.NodeName}
		for _, ip := range pod.Status.PodIPs {
			e.Addrs = append(e.Addrs, netip.MustParseAddr(ip.IP))
		}
		list = append(list, e)
	}
	return list
}

// Flows are n flows worth judging, the same for the same world and seed.
func (w *World) Flows(seed uint64, n int) []intent.Flow {
	var flows []intent.Flow
	for _, f := range policygen.Probes(w.cluster, policygen.NewRand(seed), n) {
		known := slices.ContainsFunc(w.cluster.Nodes, func(n *corev1.Node) bool { return n.Name == f.Node })
		if f.Src.Addr != f.Dst.Addr && known && f.Network == "" {
			flows = append(flows, policygen.IntentFlow(f))
		}
	}
	return flows
}

// Has reports whether a party is as in the world: a pod with the address, or an address that no pod has.
func (w *World) Has(p intent.Party) bool {
	for _, e := range w.Endpoints() {
		if slices.Contains(e.Addrs, p.Addr) || e.Key == p.Key {
			return e.Key == p.Key && slices.Contains(e.Addrs, p.Addr)
		}
	}
	return p.Key == object.Key{}
}
