package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func ptr[T any](v T) *T { return &v }

// service wraps a spec, indented by two, into a document.
func service(name, spec string) string {
	return "---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n" + spec
}

func TestServiceDefaults(t *testing.T) {
	single, dual := corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyRequireDualStack
	cluster := corev1.ServiceInternalTrafficPolicyCluster
	for _, tc := range []struct {
		name string
		spec string
		want corev1.ServiceSpec
	}{
		{
			"a port alone", "  ports: [{port: 80}]\n",
			corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
				InternalTrafficPolicy: &cluster,
				Ports:                 []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}},
			},
		},
		{
			"a protocol, a named target and one that is empty",
			"  ports: [{name: a, port: 53, protocol: UDP, targetPort: dns}, {name: b, port: 54, targetPort: ''}]\n",
			corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
				InternalTrafficPolicy: &cluster,
				Ports: []corev1.ServicePort{
					{Name: "a", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromString("dns")},
					{Name: "b", Port: 54, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(54)},
				},
			},
		},
		{
			"affinity without a timeout and one cluster IP",
			"  clusterIP: 10.96.0.1\n  sessionAffinity: ClientIP\n  ports: [{port: 80, targetPort: 8080}]\n",
			corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityClientIP,
				SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr(int32(10800))}},
				InternalTrafficPolicy: &cluster,
				ClusterIP:             "10.96.0.1", ClusterIPs: []string{"10.96.0.1"},
				IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: &single,
				Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}},
			},
		},
		{
			"a node port and two cluster IPs",
			"  type: NodePort\n  clusterIPs: ['fd00::1', 10.96.0.1]\n  ports: [{port: 80, nodePort: 30080}]\n",
			corev1.ServiceSpec{
				Type: corev1.ServiceTypeNodePort, SessionAffinity: corev1.ServiceAffinityNone,
				InternalTrafficPolicy: &cluster, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
				ClusterIP: "fd00::1", ClusterIPs: []string{"fd00::1", "10.96.0.1"},
				IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, IPFamilyPolicy: &dual,
				Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}},
			},
		},
		{
			"external IPs", "  externalIPs: [192.0.2.1]\n  ports: [{port: 80}]\n",
			corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
				InternalTrafficPolicy: &cluster, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
				ExternalIPs: []string{"192.0.2.1"},
				Ports:       []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}},
			},
		},
		{
			"no address by intention", "  clusterIP: None\n",
			corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
				InternalTrafficPolicy: &cluster, ClusterIP: "None", ClusterIPs: []string{"None"},
			},
		},
		{
			"another name", "  type: ExternalName\n  externalName: example.com\n",
			corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, SessionAffinity: corev1.ServiceAffinityNone},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, only[*corev1.Service](t, service("web", tc.spec)).Spec)
		})
	}

	s := only[*corev1.Service](t, service("web", "  type: LoadBalancer\n  ports: [{port: 80}]\n")+
		"status: {loadBalancer: {ingress: [{ip: 192.0.2.1}, {ip: 192.0.2.2, ipMode: Proxy}, {hostname: a.example}]}}\n")
	require.Equal(t, []corev1.LoadBalancerIngress{
		{IP: "192.0.2.1", IPMode: ptr(corev1.LoadBalancerIPModeVIP)},
		{IP: "192.0.2.2", IPMode: ptr(corev1.LoadBalancerIPModeProxy)},
		{Hostname: "a.example"},
	}, s.Status.LoadBalancer.Ingress)
}

func TestFaultyServices(t *testing.T) {
	const at = "a.yaml: document 1: Service/shop/web: "
	const address = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	const ports = "  ports: [{port: 80}]\n"
	for _, tc := range []struct {
		name string
		spec string
		want []string
	}{
		{"no ports", "  clusterIP: 10.96.0.1\n", []string{at + "spec.ports: Required value"}},
		{
			"a type that does not exist", "  type: Cluster\n" + ports,
			[]string{at + `spec.type: Unsupported value: "Cluster": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"`},
		},
		{
			"ports out of range",
			"  type: NodePort\n  ports: [{name: a, port: 0, targetPort: 1}, {name: b, port: 65536, targetPort: 70000, nodePort: 65536}]\n",
			[]string{
				at + "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
				at + "spec.ports[1].nodePort: Invalid value: 65536: must be between 1 and 65535, inclusive",
				at + "spec.ports[1].port: Invalid value: 65536: must be between 1 and 65535, inclusive",
				at + "spec.ports[1].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
			},
		},
		{
			"a protocol and a target that do not exist", "  ports: [{port: 80, protocol: tcp, targetPort: '80'}]\n",
			[]string{
				at + `spec.ports[0].protocol: Unsupported value: "tcp": supported values: "TCP", "UDP", "SCTP"`,
				at + `spec.ports[0].targetPort: Invalid value: "80": must contain at least one letter (a-z)`,
			},
		},
		{
			"ports without a name, with the same and with the same number",
			"  ports: [{port: 80}, {name: a, port: 81}, {name: a, port: 82}, {name: b, port: 81}, {name: c, port: 81, protocol: UDP}]\n",
			[]string{
				at + "spec.ports[0].name: Required value",
				at + `spec.ports[2].name: Duplicate value: "a"`,
				at + `spec.ports[3]: Duplicate value: {"protocol":"TCP","port":81,"targetPort":0}`,
			},
		},
		{
			"node ports given twice", "  type: NodePort\n  ports: [{name: a, port: 80, nodePort: 30000}, {name: b, port: 81, nodePort: 30000}]\n",
			[]string{at + "spec.ports[1].nodePort: Duplicate value: 30000"},
		},
		{
			"a node port of a type without any", "  ports: [{port: 80, nodePort: 30000}]\n",
			[]string{at + "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		},
		{
			"an affinity that does not exist", "  sessionAffinity: Cookie\n" + ports,
			[]string{at + `spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"`},
		},
		{
			"affinity for longer than a day", "  sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 86401}}\n" + ports,
			[]string{at + "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400"},
		},
		{
			"affinity for no time", "  sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}\n" + ports,
			[]string{at + "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400"},
		},
		{
			"three cluster IPs", "  clusterIPs: [10.96.0.1, 'fd00::1', 10.96.0.2]\n  ipFamilies: [IPv4, IPv6]\n" + ports,
			[]string{at + `spec.clusterIPs: Invalid value: ["10.96.0.1","fd00::1","10.96.0.2"]: may only hold up to 2 values`},
		},
		{
			"two cluster IPs of one family", "  clusterIPs: [10.96.0.1, 10.96.0.2]\n  ipFamilies: [IPv4]\n" + ports,
			[]string{at + `spec.clusterIPs: Invalid value: ["10.96.0.1","10.96.0.2"]: may specify no more than one IP for each IP family`},
		},
		{
			"cluster IPs that contradict each other", "  clusterIP: 10.96.0.1\n  clusterIPs: [10.96.0.2]\n" + ports,
			[]string{at + "spec.clusterIPs: Invalid value: [\"10.96.0.2\"]: first value must match `clusterIP`"},
		},
		{
			"an invalid cluster IP", "  clusterIP: web\n" + ports,
			[]string{at + `spec.clusterIPs[0]: Invalid value: "web": ` + address},
		},
		{
			"no address and one", "  clusterIPs: [None, 10.96.0.1]\n" + ports,
			[]string{at + `spec.clusterIPs: Invalid value: ["None","10.96.0.1"]: 'None' must be the first and only value`},
		},
		{
			"no address and node ports", "  type: NodePort\n  clusterIP: None\n" + ports,
			[]string{at + `spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`},
		},
		{
			"an address of another family than said", "  clusterIP: 10.96.0.1\n  ipFamilies: [IPv6]\n" + ports,
			[]string{at + "spec.clusterIPs[0]: Invalid value: \"10.96.0.1\": expected an IPv6 value as indicated by `ipFamilies`"},
		},
		{
			"families that do not exist, or twice", "  ipFamilies: [IPv5, IPv5]\n  ipFamilyPolicy: Both\n" + ports,
			[]string{
				at + `spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"`,
				at + `spec.ipFamilies[1]: Duplicate value: "IPv5"`,
				at + `spec.ipFamilies[1]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"`,
				at + `spec.ipFamilyPolicy: Unsupported value: "Both": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"`,
			},
		},
		{
			"two families of a single stack", "  ipFamilies: [IPv4, IPv6]\n  ipFamilyPolicy: SingleStack\n" + ports,
			[]string{at + `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple ip families or cluster ips are specified`},
		},
		{
			"external IPs that cannot be reached", "  externalIPs: [web, 127.0.0.1, 0.0.0.0, 'fe80::1', 224.0.0.1, 192.0.2.1]\n" + ports,
			[]string{
				at + `spec.externalIPs[0]: Invalid value: "web": ` + address,
				at + `spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
				at + `spec.externalIPs[2]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0 or ::)`,
				at + `spec.externalIPs[3]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`,
				at + `spec.externalIPs[4]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)`,
			},
		},
		{
			"invalid ranges, in a type without ranges", "  loadBalancerSourceRanges: [10.0.0.0, ' 10.0.0.0/8 ']\n" + ports,
			[]string{
				at + "spec.loadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
				at + `spec.loadBalancerSourceRanges[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
			},
		},
		{
			"policies for traffic that does not come", "  externalTrafficPolicy: Local\n  healthCheckNodePort: 30000\n" + ports,
			[]string{
				at + `spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services`,
				at + "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
			},
		},
		{
			"policies that do not exist",
			"  type: NodePort\n  externalTrafficPolicy: Global\n  internalTrafficPolicy: Global\n  trafficDistribution: Far\n" + ports,
			[]string{
				at + `spec.externalTrafficPolicy: Unsupported value: "Global": supported values: "Cluster", "Local"`,
				at + `spec.internalTrafficPolicy: Unsupported value: "Global": supported values: "Cluster", "Local"`,
				at + `spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameNode", "PreferSameZone"`,
			},
		},
		{
			"a health check out of range", "  type: LoadBalancer\n  externalTrafficPolicy: Local\n  healthCheckNodePort: 70000\n" + ports,
			[]string{at + "spec.healthCheckNodePort: Invalid value: 70000: must be between 1 and 65535, inclusive"},
		},
		{
			"another name with addresses", "  type: ExternalName\n  externalName: a.example\n  clusterIP: 10.96.0.1\n  ipFamilies: [IPv4]\n  ipFamilyPolicy: SingleStack\n",
			[]string{
				at + "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
				at + "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
				at + "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
			},
		},
		{
			"a load balancer's addresses, in a type without", ports + "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}\n",
			[]string{at + "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is LoadBalancer"},
		},
		{
			"invalid addresses of a load balancer",
			"  type: LoadBalancer\n" + ports + "status: {loadBalancer: {ingress: [{ip: web}, {hostname: a.example, ipMode: VIP}, {ip: 192.0.2.1, ipMode: None}]}}\n",
			[]string{
				at + `status.loadBalancer.ingress[0].ip: Invalid value: "web": ` + address,
				at + "status.loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set",
				at + `status.loadBalancer.ingress[2].ipMode: Unsupported value: "None": supported values: "Proxy", "VIP"`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := parseManifest("a.yaml", []byte(service("web", tc.spec)), Options{})
			require.Equal(t, tc.want, problems(m))
			require.Len(t, m.entries, 1)
			require.Nil(t, m.entries[0].object)
			require.Nil(t, m.entries[0].standIn, "no service opens nothing")
		})
	}
}

func TestNodesKeepWhereTheyAre(t *testing.T) {
	n := only[*corev1.Node](t, "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {topology.kubernetes.io/zone: a},\n"+
		"  annotations: {k8s.ovn.org/node-chassis-id: b, ovn.kubernetes.io/chassis: c, netloom.io/chassis: d, x: z}}\n")
	require.Equal(t, map[string]string{"topology.kubernetes.io/zone": "a"}, n.Labels)
	require.Equal(t, map[string]string{
		"k8s.ovn.org/node-chassis-id": "b", "ovn.kubernetes.io/chassis": "c", "netloom.io/chassis": "d",
	}, n.Annotations)
}

func TestReadinessOfPodsInManifests(t *testing.T) {
	const cnf = "apiVersion: v1\nkind: Pod\nmetadata: {name: cnf, namespace: shop, labels: {sdewanPurpose: cnf1}}\n"
	for _, tc := range []struct {
		name, status string
		want         []corev1.PodCondition
	}{
		{"an address alone", "{podIP: 10.0.0.1}", []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		{"nothing", "{}", nil},
		{
			"an address and that it runs", "{podIP: 10.0.0.1, phase: Running}",
			[]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
		{"an address and that it failed", "{podIP: 10.0.0.1, phase: Failed}", nil},
		{
			"an address and that it is not ready", "{podIP: 10.0.0.1, conditions: [{type: Ready, status: 'False'}]}",
			[]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := only[*corev1.Pod](t, cnf+"status: "+tc.status+"\n")
			require.Equal(t, tc.want, p.Status.Conditions)
		})
	}
}
