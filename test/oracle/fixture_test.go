package oracle_test

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
)

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// pod makes a running pod from "namespace/name node key=value,key=value address address…".
func pod(t *testing.T, spec string) *corev1.Pod {
	t.Helper()
	f := strings.Fields(spec)
	require.GreaterOrEqual(t, len(f), 3, spec)
	ns, name, _ := strings.Cut(f[0], "/")
	labels := map[string]string{}
	for kv := range strings.SplitSeq(f[2], ",") {
		k, v, _ := strings.Cut(kv, "=")
		labels[k] = v
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}}
	p.Spec.NodeName = f[1]
	p.Status.Phase = corev1.PodRunning
	for i, a := range f[3:] {
		if i == 0 {
			p.Status.PodIP = a
		}
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a})
	}
	return p
}

func containerPort(name string, number int32, protocol corev1.Protocol) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: protocol}
}

// base is two namespaces on two nodes: red with pods a, b, s1 (web=80), s2 (web=8080, dns=53/UDP) and h on the host
// network; blue with a and c.
func base(t *testing.T) *oracle.Cluster {
	t.Helper()
	c := &oracle.Cluster{
		Namespaces: []*corev1.Namespace{
			namespace("red", map[string]string{"team": "red"}),
			namespace("blue", map[string]string{"team": "blue", "empty": ""}),
		},
		Pods: []*corev1.Pod{
			pod(t, "red/a n1 app=a,tier=front 10.244.1.10 fd00:10::10"),
			pod(t, "red/b n2 app=b,empty= 10.244.1.20 fd00:10::20"),
			pod(t, "red/s1 n1 app=s 10.244.1.81 fd00:10::81"),
			pod(t, "red/s2 n2 app=s 10.244.1.82 fd00:10::82"),
			pod(t, "red/h n1 app=a,tier=front 10.0.1.1"),
			pod(t, "blue/a n1 app=a 10.244.2.10 fd00:20::10"),
			pod(t, "blue/c n2 app=c 10.244.2.30 fd00:20::30"),
		},
	}
	find(t, c, "red/h").Spec.HostNetwork = true
	find(t, c, "red/s1").Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{containerPort("web", 80, "")}}}
	find(t, c, "red/s2").Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{
		containerPort("web", 8080, corev1.ProtocolTCP), containerPort("dns", 53, corev1.ProtocolUDP),
	}}}
	for name, addrs := range map[string][]string{"n1": {"10.0.1.1", "fd00:1::1"}, "n2": {"10.0.1.2"}} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, a := range addrs {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func find(t *testing.T, c *oracle.Cluster, key string) *corev1.Pod {
	t.Helper()
	for _, p := range c.Pods {
		if p.Namespace+"/"+p.Name == key {
			return p
		}
	}
	require.FailNow(t, "no such pod", key)
	return nil
}

// finish ends a pod: it keeps its address.
func finish(t *testing.T, c *oracle.Cluster, key string, phase corev1.PodPhase) {
	t.Helper()
	find(t, c, key).Status.Phase = phase
}

// policy reads "namespace/name" and the YAML of a spec.
func policy(t *testing.T, id, spec string) *networkingv1.NetworkPolicy {
	t.Helper()
	ns, name, _ := strings.Cut(id, "/")
	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	return p
}

// end reads "namespace/name" (its first IPv4 address), "namespace/name/6" (its first IPv6 address) or an address.
func end(t *testing.T, c *oracle.Cluster, s string) oracle.End {
	t.Helper()
	if a, err := netip.ParseAddr(s); err == nil {
		return oracle.End{Addr: a}
	}
	key, v6 := strings.CutSuffix(s, "/6")
	for _, ip := range find(t, c, key).Status.PodIPs {
		if a := netip.MustParseAddr(ip.IP); a.Is6() == v6 {
			return oracle.End{Pod: key, Addr: a}
		}
	}
	require.FailNow(t, "pod has no such address", s)
	return oracle.End{}
}

// probe asks "source destination protocol/port" and expects the word that follows: allow, deny, or which direction
// denies (egress, ingress).
func probe(t *testing.T, c *oracle.Cluster, line string) {
	t.Helper()
	f := strings.Fields(line)
	require.Len(t, f, 4, line)
	protocol, number, _ := strings.Cut(f[2], "/")
	var port int64
	if number != "" {
		var err error
		port, err = strconv.ParseInt(number, 10, 32)
		require.NoError(t, err, line)
	}
	flow := oracle.Flow{
		Src: end(t, c, f[0]), Dst: end(t, c, f[1]),
		Protocol: corev1.Protocol(strings.ToUpper(protocol)), Port: int32(port),
	}
	v := c.Allowed(flow)
	got := "allow"
	switch {
	case !v.EgressAllowed && !v.IngressAllowed:
		got = "deny"
	case !v.EgressAllowed:
		got = "egress"
	case !v.IngressAllowed:
		got = "ingress"
	}
	require.Equal(t, got == "allow", v.Allowed, "%s: %v", line, v)
	require.Equal(t, f[3], got, "%s: %v", line, v.Why)
	require.NotEmpty(t, v.Why)
}
