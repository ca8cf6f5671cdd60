//go:build e2e

package e2e_test

import (
	"bytes"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/oracle"
)

// load reads the manifests below dir into what the oracle judges.
func load(tb testing.TB, dir string) *oracle.Cluster {
	tb.Helper()
	c := &oracle.Cluster{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
			add(tb, c, path, doc)
		}
		return nil
	})
	require.NoError(tb, err)
	return c
}

// add reads one document.
func add(tb testing.TB, c *oracle.Cluster, path string, doc []byte) {
	tb.Helper()
	var meta metav1.TypeMeta
	require.NoError(tb, yaml.Unmarshal(doc, &meta), path)
	switch meta.Kind {
	case "Pod":
		c.Pods = append(c.Pods, decode[corev1.Pod](tb, path, doc))
	case "Namespace":
		n := decode[corev1.Namespace](tb, path, doc)
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[corev1.LabelMetadataName] = n.Name // as the API server does
		c.Namespaces = append(c.Namespaces, n)
	case "Node":
		c.Nodes = append(c.Nodes, decode[corev1.Node](tb, path, doc))
	case "NetworkPolicy":
		c.Policies = append(c.Policies, decode[networkingv1.NetworkPolicy](tb, path, doc))
	case "Service":
		c.Services = append(c.Services, decode[corev1.Service](tb, path, doc))
	case "EndpointSlice":
		c.Slices = append(c.Slices, decode[discoveryv1.EndpointSlice](tb, path, doc))
	default:
		require.FailNow(tb, "manifest of unknown kind", "%s: %q", path, meta.Kind)
	}
}

func decode[T any](tb testing.TB, path string, doc []byte) *T {
	tb.Helper()
	v := new(T)
	require.NoError(tb, yaml.UnmarshalStrict(doc, v), path)
	return v
}

// gather copies directories of manifests into one new directory.
func gather(tb testing.TB, dirs ...string) string {
	tb.Helper()
	into := tb.TempDir()
	for _, d := range dirs {
		require.NoError(tb, os.CopyFS(filepath.Join(into, filepath.Base(d)), os.DirFS(d)))
	}
	return into
}

// live lists the pods that have traffic of their own: on the pod network, not finished, with an address.
func live(c *oracle.Cluster) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range c.Pods {
		finished := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !p.Spec.HostNetwork && !finished && len(p.Status.PodIPs) > 0 {
			pods = append(pods, p)
		}
	}
	return pods
}

// network lays out a logical port for every live pod, named as ovn-kubernetes names them. Nodes are part of the world,
// like every address of world.
func network(tb testing.TB, c *oracle.Cluster, world ...netip.Addr) *ovnlab.Network {
	tb.Helper()
	var ports []ovnlab.Port
	for _, p := range live(c) {
		port := ovnlab.Port{Name: p.Namespace + "_" + p.Name}
		for _, ip := range p.Status.PodIPs {
			port.Addrs = append(port.Addrs, netip.MustParseAddr(ip.IP))
		}
		ports = append(ports, port)
	}
	n, err := ovnlab.NewNetwork(ports, append(nodeAddrs(c), world...))
	require.NoError(tb, err)
	return n
}

func nodeAddrs(c *oracle.Cluster) []netip.Addr {
	var all []netip.Addr
	for _, n := range c.Nodes {
		for _, a := range n.Status.Addresses {
			if addr, err := netip.ParseAddr(a.Address); err == nil {
				all = append(all, addr)
			}
		}
	}
	return all
}

// ends lists the addresses of a family from and to which probes go: every live pod's, every node's, and two unused ones.
func ends(c *oracle.Cluster, v6 bool) (pods, world []oracle.End) {
	for _, p := range live(c) {
		for _, ip := range p.Status.PodIPs {
			if strings.Contains(ip.IP, ":") == v6 {
				pods = append(pods, oracle.End{Pod: p.Namespace + "/" + p.Name, Addr: netip.MustParseAddr(ip.IP)})
			}
		}
	}
	outsiders := []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("192.168.7.7")}
	if v6 {
		outsiders = []netip.Addr{netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("fc00:7::7")}
	}
	for _, a := range append(nodeAddrs(c), outsiders...) {
		if a.Is6() == v6 {
			world = append(world, oracle.End{Addr: a})
		}
	}
	return pods, world
}

// policyPorts lists every port entry of p.
func policyPorts(p *networkingv1.NetworkPolicy) []networkingv1.NetworkPolicyPort {
	var all []networkingv1.NetworkPolicyPort
	for i := range p.Spec.Ingress {
		all = append(all, p.Spec.Ingress[i].Ports...)
	}
	for i := range p.Spec.Egress {
		all = append(all, p.Spec.Egress[i].Ports...)
	}
	return all
}
