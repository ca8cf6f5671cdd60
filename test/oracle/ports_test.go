package oracle_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/oracle"
)

func TestPorts(t *testing.T) {
	web := map[string]string{
		"red/in":   `{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: web}]}]}`,
		"blue/out": `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}], ports: [{port: web}]}]}`,
	}
	run(t, []row{
		{name: "20 a nil protocol is TCP", policies: map[string]string{
			"red/tcp": `{podSelector: {matchLabels: {app: a}}, ingress: [{ports: [{}]}]}`,
			"red/udp": `{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{protocol: UDP}]}]}`,
		}, want: `
			blue/a red/a tcp/1 allow
			blue/a red/a udp/1 ingress
			blue/a red/a icmp/ ingress
			blue/a red/b udp/9 allow
			blue/a red/b tcp/9 ingress`},
		{name: "21 the protocols of one number are three things", policies: map[string]string{
			"red/sctp": `{podSelector: {}, ingress: [{ports: [{protocol: SCTP, port: 80}]}]}`,
		}, want: `
			blue/a red/a sctp/80 allow
			blue/a red/a tcp/80 ingress
			blue/a red/a udp/80 ingress`},
		{name: "22 endPort is inclusive, may equal port, and needs a number", policies: map[string]string{
			"red/range":  `{podSelector: {matchLabels: {app: a}}, ingress: [{ports: [{port: 80, endPort: 82}, {port: 81}, {port: 90, endPort: 90}]}]}`,
			"red/broken": `{podSelector: {matchLabels: {app: s}}, ingress: [{ports: [{port: web, endPort: 9000}, {endPort: 90}, {port: 90, endPort: 80}]}]}`,
		}, want: `
			blue/a red/a tcp/79 ingress
			blue/a red/a tcp/80 allow
			blue/a red/a tcp/82 allow
			blue/a red/a tcp/83 ingress
			blue/a red/a tcp/90 allow
			blue/a red/a udp/81 ingress
			blue/a red/s1 tcp/80 ingress
			blue/a red/s2 tcp/8080 ingress
			blue/a red/s1 tcp/85 ingress`},
		{name: "23 names resolve per destination pod, in both directions", policies: web, want: `
			blue/a red/s1 tcp/80 allow
			blue/a red/s1 tcp/8080 deny
			blue/a red/s2 tcp/8080 allow
			blue/a red/s2 tcp/80 deny
			192.0.2.1 red/s2 tcp/80 ingress`},
		{name: "24 a pod without the name, or with it under another protocol, gets nothing from it", policies: map[string]string{
			"red/in": `{podSelector: {}, ingress: [{ports: [{port: dns}, {port: 443}]}]}`,
		}, want: `
			blue/a red/a tcp/80 ingress
			blue/a red/s2 tcp/53 ingress
			blue/a red/s2 udp/53 ingress
			blue/a red/s2 tcp/443 allow`},
		{name: "25 addresses outside have no names, pods inside a block have", policies: map[string]string{
			"blue/all":  `{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{ports: [{port: web}]}]}`,
			"blue/part": `{podSelector: {matchLabels: {app: c}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.244.1.81/32}}, {ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: web}]}]}`,
		}, want: `
			blue/a red/s1 tcp/80 allow
			blue/a red/a tcp/80 egress
			blue/a 192.0.2.1 tcp/80 egress
			blue/c red/s1 tcp/80 allow
			blue/c red/s2 tcp/8080 egress
			blue/c 192.0.2.1 tcp/80 egress`},
		{
			name: "26 names follow the containers of the pod that is there now", policies: web,
			change: func(t *testing.T, c *oracle.Cluster) {
				t.Helper()
				find(t, c, "red/s1").Spec.Containers[0].Ports[0].ContainerPort = 81
			}, want: `
			blue/a red/s1 tcp/80 deny
			blue/a red/s1 tcp/81 allow`,
		},
		{name: "27 numbers need no declared containerPort", policies: map[string]string{
			"red/in": `{podSelector: {}, ingress: [{ports: [{port: 12345}]}]}`,
		}, want: `
			blue/a red/s1 tcp/12345 allow`},
		{
			name: "the first container wins, then init containers that keep running", policies: web,
			change: func(t *testing.T, c *oracle.Cluster) {
				t.Helper()
				always := corev1.ContainerRestartPolicyAlways
				side := corev1.Container{RestartPolicy: &always, Ports: []corev1.ContainerPort{containerPort("web", 9, "TCP")}}
				once := corev1.Container{Ports: []corev1.ContainerPort{containerPort("web", 7, "TCP")}}
				s1 := find(t, c, "red/s1")
				s1.Spec.Containers = append(s1.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{containerPort("web", 8, "TCP")}})
				s1.Spec.InitContainers = []corev1.Container{once, side}
				find(t, c, "red/s2").Spec.Containers = nil
				find(t, c, "red/s2").Spec.InitContainers = []corev1.Container{once, side}
			}, want: `
			blue/a red/s1 tcp/80 allow
			blue/a red/s1 tcp/8 deny
			blue/a red/s1 tcp/9 deny
			blue/a red/s2 tcp/9 allow
			blue/a red/s2 tcp/7 deny`,
		},
	})
}

func TestLife(t *testing.T) {
	fromB := map[string]string{"red/p": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchLabels: {app: b}}}]}]}`}
	run(t, []row{
		{
			name: "28 labels count as they are now, on subject, peer and namespace", policies: fromB,
			change: func(t *testing.T, c *oracle.Cluster) {
				t.Helper()
				find(t, c, "red/a").Labels["app"] = "b"
				find(t, c, "red/s1").Labels["app"] = "a"
			}, want: `
			blue/a red/a tcp/80 allow
			red/a red/s1 tcp/80 allow
			red/s2 red/s1 tcp/80 ingress`,
		},
		{name: "29 a namespaceSelector sees namespaces and pods that came later", policies: map[string]string{
			"red/p": `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: green}}}]}]}`,
		}, change: func(t *testing.T, c *oracle.Cluster) {
			t.Helper()
			c.Namespaces = append(c.Namespaces, namespace("green", map[string]string{"team": "green"}))
			c.Pods = append(c.Pods, pod(t, "green/a n1 app=a 10.244.3.1"))
		}, want: `
			green/a red/a tcp/80 allow`},
		{
			name: "30 a reused address carries only its new owner's labels", policies: fromB,
			change: func(t *testing.T, c *oracle.Cluster) {
				t.Helper()
				find(t, c, "red/b").Status = find(t, c, "red/s1").Status
				finish(t, c, "red/b", corev1.PodFailed)
			}, want: `
			red/s1 red/a tcp/80 ingress`,
		},
		{
			name: "31 finished pods are no subjects and no peers", policies: fromB,
			change: func(t *testing.T, c *oracle.Cluster) {
				t.Helper()
				finish(t, c, "red/b", corev1.PodSucceeded)
				finish(t, c, "red/a", corev1.PodFailed)
				c.Pods = append(c.Pods, pod(t, "red/a2 n1 app=a 10.244.1.99"), pod(t, "red/new n1 app=c 10.244.1.10"))
			}, want: `
			10.244.1.20 red/a2 tcp/80 ingress
			red/b red/a2 tcp/80 ingress
			blue/a red/a tcp/80 allow
			blue/a red/new tcp/80 allow`,
		},
		{
			name: "32 a pod without an address matches nothing", policies: fromB,
			change: func(t *testing.T, c *oracle.Cluster) {
				t.Helper()
				find(t, c, "red/b").Status = corev1.PodStatus{Phase: corev1.PodPending}
			}, want: `
			10.244.1.20 red/a tcp/80 ingress`,
		},
		{
			name: "33 a pod that came back elsewhere counts by its new address", policies: fromB,
			change: func(t *testing.T, c *oracle.Cluster) {
				t.Helper()
				find(t, c, "red/b").Status.PodIPs = []corev1.PodIP{{IP: "10.244.9.9"}}
				find(t, c, "red/b").Status.PodIP = "10.244.9.9"
			}, want: `
			10.244.9.9 red/a tcp/80 allow
			10.244.1.20 red/a tcp/80 ingress`,
		},
		{name: "34 every address of a pod counts", policies: fromB, want: `
			red/b/6 red/a/6 tcp/80 allow
			blue/a/6 red/a/6 tcp/80 ingress`},
		{
			name: "35 a policy may come before its pods and namespaces", policies: fromB,
			change: func(_ *testing.T, c *oracle.Cluster) { c.Namespaces = nil }, want: `
			red/b red/a tcp/80 allow
			blue/a red/a tcp/80 ingress`,
		},
		{
			name: "36 a changed policy is judged as it is now", policies: fromB,
			change: func(_ *testing.T, c *oracle.Cluster) {
				c.Policies[0].Spec.PodSelector.MatchLabels["app"] = "s"
			}, want: `
			blue/a red/a tcp/80 allow
			blue/a red/s1 tcp/80 ingress`,
		},
		{name: "37 the twin of a deleted policy still stands", policies: map[string]string{
			"red/p": fromB["red/p"], "red/twin": fromB["red/p"],
		}, change: func(_ *testing.T, c *oracle.Cluster) { c.Policies = c.Policies[1:] }, want: `
			red/b red/a tcp/80 allow
			blue/a red/a tcp/80 ingress`},
		{name: "38 names that read alike when joined stay apart", policies: map[string]string{
			"a/p": `{podSelector: {}}`,
		}, change: func(t *testing.T, c *oracle.Cluster) {
			t.Helper()
			c.Pods = append(c.Pods, pod(t, "a/b-c n1 app=x 10.244.5.1"), pod(t, "a-b/c n1 app=x 10.244.5.2"))
		}, want: `
			red/a a/b-c tcp/80 ingress
			red/a a-b/c tcp/80 allow`},
	})
}

func TestNodesAndOutside(t *testing.T) {
	deny := map[string]string{"red/p": `{podSelector: {}, policyTypes: [Ingress, Egress]}`}
	run(t, []row{
		{name: "39 a pod's own node always reaches it, other nodes do not, and egress is not affected", policies: deny, want: `
			10.0.1.1 red/a tcp/10250 allow
			fd00:1::1 red/a/6 icmp/ allow
			10.0.1.2 red/a tcp/10250 ingress
			10.0.1.2 red/b udp/1 allow
			red/a 10.0.1.1 tcp/10250 egress`},
		{name: "40 pods on the host network are neither subject nor peer", policies: map[string]string{
			"red/p": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {}}]}], policyTypes: [Ingress, Egress]}`,
			"red/q": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}`,
			"red/r": `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [{ipBlock: {cidr: 10.0.1.1/32}}]}]}`,
		}, want: `
			blue/a red/h tcp/80 allow
			red/h blue/a tcp/80 allow
			red/h red/b tcp/80 ingress
			red/h red/a tcp/80 allow
			red/h red/s2 tcp/80 allow`},
		{name: "41, 42 policies apply to the pod behind a service and its own port", policies: map[string]string{
			"blue/p": `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}], ports: [{port: 8080}]}]}`,
		}, want: `
			blue/a 10.96.0.10 tcp/8080 egress
			blue/a red/s2 tcp/8080 allow`},
		{name: "44 a pod reaches itself by its own address", policies: deny, want: `
			red/a red/a tcp/80 allow
			red/a/6 red/a/6 tcp/80 allow`},
		{name: "46 ICMP passes only rules without ports", policies: map[string]string{
			"red/ports": `{podSelector: {matchLabels: {app: a}}, ingress: [{ports: [{}, {protocol: UDP}, {protocol: SCTP}, {protocol: ICMP}]}]}`,
			"red/peers": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {}}]}]}`,
		}, want: `
			red/b red/a icmp/ ingress
			red/a red/b icmp/ allow`},
		{name: "an address of two live pods counts for neither", policies: map[string]string{
			"red/p": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: twin}}}]}]}`,
		}, change: func(t *testing.T, c *oracle.Cluster) {
			t.Helper()
			c.Pods = append(c.Pods, pod(t, "red/twin n1 app=twin 10.244.1.10"))
		}, want: `
			red/a red/b tcp/80 ingress
			10.244.1.10 red/b tcp/80 ingress`},
		{name: "an address is not a terminating pod's once another has it", policies: map[string]string{
			"red/p": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: twin}}}]}]}`,
		}, change: func(t *testing.T, c *oracle.Cluster) {
			t.Helper()
			c.Pods = append(c.Pods, pod(t, "red/twin n1 app=twin 10.244.1.10"))
			find(t, c, "red/a").DeletionTimestamp = &metav1.Time{}
		}, want: `
			red/a red/b tcp/80 allow
			10.244.1.10 red/b tcp/80 allow`},
		{name: "an end without a pod is any pod with the address", policies: deny, want: `
			192.0.2.1 10.244.1.10 tcp/80 ingress
			10.244.1.10 192.0.2.1 tcp/80 egress`},
	})
}

func TestMappedAddressIsIPv4(t *testing.T) {
	c := base(t)
	c.Policies = append(c.Policies, policy(t, "red/p", `{podSelector: {}}`))
	v := c.Allowed(oracle.Flow{
		Src:      oracle.End{Addr: netip.MustParseAddr("192.0.2.1")},
		Dst:      oracle.End{Addr: netip.MustParseAddr("::ffff:10.244.1.10")},
		Protocol: corev1.ProtocolTCP, Port: 80,
	})
	require.False(t, v.Allowed)
	require.Equal(t, []string{"egress: not isolated", "ingress: isolated by red/p"}, v.Why)
}
