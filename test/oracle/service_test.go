package oracle_test

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
)

// serviceRow is one rule about Services: what is there and which flows then go where.
type serviceRow struct {
	name     string
	services map[string]string // YAML by "namespace/name": spec, status, labels, annotations
	slices   map[string]string // YAML by "namespace/service/name": addressType, ports, endpoints
	policies map[string]string
	change   func(c *oracle.Cluster)
	want     string // flows, one a line: see serviceProbe
}

func runServices(t *testing.T, rows []serviceRow) {
	t.Helper()
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			c := base(t)
			zones := map[string]string{"n1": "east", "n2": "west"}
			for _, n := range c.Nodes {
				n.Labels = map[string]string{corev1.LabelTopologyZone: zones[n.Name]}
			}
			for id, text := range tc.services {
				c.Services = append(c.Services, service(t, id, text))
			}
			for id, text := range tc.slices {
				c.Slices = append(c.Slices, slice(t, id, text))
			}
			for id, spec := range tc.policies {
				c.Policies = append(c.Policies, policy(t, id, spec))
			}
			if tc.change != nil {
				tc.change(c)
			}
			for line := range strings.SplitSeq(strings.TrimSpace(tc.want), "\n") {
				serviceProbe(t, c, line)
			}
		})
	}
}

func service(t *testing.T, id, text string) *corev1.Service {
	t.Helper()
	s := &corev1.Service{}
	s.Namespace, s.Name, _ = strings.Cut(id, "/")
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), s))
	return s
}

func slice(t *testing.T, id, text string) *discoveryv1.EndpointSlice {
	t.Helper()
	f := strings.Split(id, "/")
	require.Len(t, f, 3)
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), s))
	s.Namespace, s.Name = f[0], f[2]
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[discoveryv1.LabelServiceName] = f[1]
	return s
}

// serviceProbe asks "source[@[own/]node][%network] address protocol/port" and expects what follows: direct when the address is
// no frontend, refuse, drop, or the backends address:port, with ! before those that the policies cut.
func serviceProbe(t *testing.T, c *oracle.Cluster, line string) {
	t.Helper()
	f := strings.Fields(line)
	require.GreaterOrEqual(t, len(f), 4, line)
	from, network, _ := strings.Cut(f[0], "%")
	from, node, _ := strings.Cut(from, "@")
	node, own := strings.CutPrefix(node, "own/")
	protocol, number, _ := strings.Cut(f[2], "/")
	port, err := strconv.ParseInt(number, 10, 32)
	require.NoError(t, err, line)
	v := c.Allowed(oracle.Flow{
		Src: end(t, c, from), Dst: oracle.End{Addr: netip.MustParseAddr(f[1])},
		Protocol: corev1.Protocol(strings.ToUpper(protocol)), Port: int32(port), Node: node, Network: network, OwnNode: own,
	})
	got := []string{}
	allowed := len(v.Backends) > 0
	for _, b := range v.Backends {
		text := netip.AddrPortFrom(b.Addr, uint16(b.Port)).String()
		if !b.Allowed {
			allowed, text = false, "!"+text
		}
		got = append(got, text)
	}
	switch {
	case v.Service == "":
		got, allowed = []string{"direct"}, v.Allowed
	case v.Refused:
		got = append(got, "refuse")
	case len(v.Backends) == 0:
		got = append(got, "drop")
	}
	require.Equal(t, f[3:], got, "%s: %v", line, v.Why)
	require.Equal(t, allowed, v.Allowed, line)
	require.NotEmpty(t, v.Why)
}

const (
	web      = `{spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}}`
	webSlice = `{ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.81], nodeName: n1}, {addresses: [10.244.1.82], nodeName: n2}]}`
)

func TestFrontends(t *testing.T) {
	both := map[string]string{"red/web/1": webSlice}
	runServices(t, []serviceRow{
		{
			name:     "a cluster IP has every port of the Service and no other",
			services: map[string]string{"red/web": `{spec: {clusterIP: 10.96.0.1, ports: [{name: a, port: 80}, {name: b, port: 80, protocol: UDP}, {name: c, port: 9}]}}`},
			slices: map[string]string{
				"red/web/1": `{ports: [{name: a, port: 8080}, {name: b, port: 53, protocol: UDP}], endpoints: [{addresses: [10.244.1.81]}]}`,
				"red/web/2": `{ports: [{name: a, port: 9090}], endpoints: [{addresses: [10.244.1.82, 10.244.1.83]}]}`,
				"red/api/1": `{ports: [{name: a, port: 1}], endpoints: [{addresses: [10.244.1.81]}]}`,
			},
			want: `
			blue/a 10.96.0.1 tcp/80 10.244.1.81:8080 10.244.1.82:9090
			blue/a 10.96.0.1 udp/80 10.244.1.81:53
			blue/a 10.96.0.1 tcp/9 refuse
			blue/a 10.96.0.1 sctp/80 direct
			blue/a 10.96.0.1 tcp/8080 direct
			blue/a 10.96.0.2 tcp/80 direct
			192.0.2.1 10.96.0.1 tcp/80 10.244.1.81:8080 10.244.1.82:9090`,
		},
		{
			name:     "each family has its own slices",
			services: map[string]string{"red/web": `{spec: {clusterIPs: ["fd00:96::1", 10.96.0.1], ports: [{port: 80}]}}`},
			slices: map[string]string{
				"red/web/1": webSlice,
				"red/web/6": `{addressType: IPv6, ports: [{port: 8080}], endpoints: [{addresses: ["fd00:10::81"]}, {addresses: [10.244.1.81]}]}`,
				"red/web/f": `{addressType: FQDN, ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.7]}]}`,
			},
			want: `
			blue/a 10.96.0.1 tcp/80 10.244.1.81:8080 10.244.1.82:8080
			blue/a/6 fd00:96::1 tcp/80 [fd00:10::81]:8080`,
		},
		{
			name: "node ports, external and load balancer IPs, of the families that the Service has",
			services: map[string]string{"red/web": `{spec: {type: LoadBalancer, clusterIP: 10.96.0.1, externalIPs: [192.0.2.7, "2001:db8::7"], ports: [{port: 80, nodePort: 30080}]},
				status: {loadBalancer: {ingress: [{ip: 192.0.2.8}, {ip: 192.0.2.9, ipMode: Proxy}, {ip: 192.0.2.10, ipMode: VIP}, {hostname: x}]}}}`},
			slices: both,
			want: `
			blue/a 10.0.1.1 tcp/30080 10.244.1.81:8080 10.244.1.82:8080
			192.0.2.1 10.0.1.2 tcp/30080 10.244.1.81:8080 10.244.1.82:8080
			10.0.1.1 10.0.1.1 tcp/30080 10.244.1.81:8080 10.244.1.82:8080
			blue/a/6 fd00:1::1 tcp/30080 direct
			blue/a 10.0.1.1 tcp/80 direct
			blue/a 192.0.2.7 tcp/80 10.244.1.81:8080 10.244.1.82:8080
			blue/a/6 2001:db8::7 tcp/80 direct
			blue/a 192.0.2.8 tcp/80 10.244.1.81:8080 10.244.1.82:8080
			blue/a 192.0.2.9 tcp/80 direct
			blue/a 192.0.2.10 tcp/80 10.244.1.81:8080 10.244.1.82:8080`,
		},
		{
			name: "a type without node ports or load balancer does not get them from left-over fields",
			services: map[string]string{"red/web": `{spec: {type: ClusterIP, clusterIP: 10.96.0.1, ports: [{port: 80, nodePort: 30080}]},
				status: {loadBalancer: {ingress: [{ip: 192.0.2.8}]}}}`},
			slices: both,
			want: `
			blue/a 10.0.1.1 tcp/30080 direct
			blue/a 192.0.2.8 tcp/80 direct`,
		},
		{
			name: "headless, ExternalName, other proxies' and not yet assigned Services make nothing",
			services: map[string]string{
				"red/a": `{spec: {clusterIP: None, externalIPs: [192.0.2.1], ports: [{port: 80}]}}`,
				"red/b": `{spec: {type: ExternalName, externalName: x.example, externalIPs: [192.0.2.2], ports: [{port: 80}]}}`,
				"red/c": `{spec: {type: NodePort, externalIPs: [192.0.2.3], ports: [{port: 80, nodePort: 30080}]}}`,
				"red/d": `{metadata: {namespace: red, name: d, labels: {service.kubernetes.io/service-proxy-name: ""}}, spec: {clusterIP: 10.96.0.4, ports: [{port: 80}]}}`,
				"red/e": `{metadata: {namespace: red, name: e, labels: {service.kubernetes.io/headless: ""}}, spec: {clusterIP: 10.96.0.5, ports: [{port: 80}]}}`,
			},
			want: `
			blue/a 192.0.2.1 tcp/80 direct
			blue/a 192.0.2.2 tcp/80 direct
			blue/a 192.0.2.3 tcp/80 direct
			blue/a 10.0.1.1 tcp/30080 direct
			blue/a 10.96.0.4 tcp/80 direct
			blue/a 10.96.0.5 tcp/80 direct`,
		},
		{
			name: "the older of two Services wins, then the name; empty or not",
			services: map[string]string{
				"red/z":  `{spec: {clusterIP: 10.96.0.1, externalIPs: [192.0.2.1], ports: [{port: 80}]}}`,
				"red/a":  `{spec: {clusterIP: 10.96.0.2, externalIPs: [192.0.2.1, 192.0.2.2], ports: [{port: 80}, {name: x, port: 81}]}}`,
				"red/b":  `{spec: {clusterIP: 10.96.0.3, externalIPs: [192.0.2.2], ports: [{port: 80}]}}`,
				"red/0":  `{spec: {clusterIP: 10.96.0.4, externalIPs: [192.0.2.2], ports: [{port: 80}]}}`,
				"blue/c": `{metadata: {namespace: blue, name: c, annotations: {netloom.io/network: other}}, spec: {clusterIP: 10.96.0.3, externalIPs: [192.0.2.1], ports: [{port: 80}]}}`,
			},
			slices: map[string]string{
				"red/a/1":  `{ports: [{port: 1}, {name: x, port: 1}], endpoints: [{addresses: [10.244.1.81]}]}`,
				"red/b/1":  `{ports: [{port: 2}], endpoints: [{addresses: [10.244.1.81]}]}`,
				"blue/c/1": `{ports: [{port: 3}], endpoints: [{addresses: [10.244.1.81]}]}`,
			},
			change: func(c *oracle.Cluster) {
				for _, s := range c.Services {
					s.CreationTimestamp = metav1.NewTime(time.Unix(2000, 0))
					switch s.Name {
					case "z":
						s.CreationTimestamp = metav1.NewTime(time.Unix(1000, 0))
					case "0":
						s.CreationTimestamp = metav1.Time{}
					}
				}
			},
			want: `
			blue/a 192.0.2.1 tcp/80 refuse
			blue/a 192.0.2.1 tcp/81 10.244.1.81:1
			blue/a 192.0.2.2 tcp/80 10.244.1.81:1
			blue/a 10.96.0.3 tcp/80 direct
			blue/a%other 10.96.0.3 tcp/80 10.244.1.81:3
			blue/a%other 192.0.2.1 tcp/80 10.244.1.81:3
			blue/a%third 192.0.2.1 tcp/80 direct`,
		},
		{
			name: "the network has two spellings", services: map[string]string{
				"red/web": `{metadata: {namespace: red, name: web, annotations: {ovn.kubernetes.io/vpc: vpc}}, spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}}`,
				"red/two": `{metadata: {namespace: red, name: two, annotations: {ovn.kubernetes.io/vpc: vpc, netloom.io/network: ""}}, spec: {clusterIP: 10.96.0.2, ports: [{port: 80}]}}`,
			}, want: `
			blue/a%vpc 10.96.0.1 tcp/80 refuse
			blue/a 10.96.0.1 tcp/80 direct
			blue/a%vpc 10.96.0.2 tcp/80 direct
			blue/a 10.96.0.2 tcp/80 refuse`,
		},
		{
			name: "an external IP that is a load balancer's too is guarded by the source ranges",
			services: map[string]string{"red/web": `{spec: {type: LoadBalancer, clusterIP: 10.96.0.1, externalIPs: [192.0.2.8], loadBalancerSourceRanges: [10.244.2.0/28],
				ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.8}]}}}`},
			slices: map[string]string{"red/web/1": `{ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.81]}]}`},
			want: `
			blue/a 192.0.2.8 tcp/80 10.244.1.81:8080
			blue/c 192.0.2.8 tcp/80 drop`,
		},
		{
			name: "source ranges are for load balancer IPs, for any sender",
			services: map[string]string{"red/web": `{spec: {type: LoadBalancer, clusterIP: 10.96.0.1, externalIPs: [192.0.2.7], loadBalancerSourceRanges: [10.244.2.0/28, nonsense],
				ports: [{port: 80, nodePort: 30080}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.8}]}}}`},
			slices: map[string]string{"red/web/1": `{ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.81]}]}`},
			want: `
			blue/a 192.0.2.8 tcp/80 10.244.1.81:8080
			blue/c 192.0.2.8 tcp/80 drop
			192.0.2.1 192.0.2.8 tcp/80 drop
			192.0.2.1 192.0.2.7 tcp/80 10.244.1.81:8080
			192.0.2.1 10.0.1.1 tcp/30080 10.244.1.81:8080`,
		},
	})
}

func TestEndpoints(t *testing.T) {
	services := map[string]string{"red/web": web}
	runServices(t, []serviceRow{
		{
			name: "no word on a condition is its default", services: services,
			slices: map[string]string{"red/web/1": `{ports: [{name: "", port: 1}], endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2], conditions: {ready: true, serving: false}},
				{addresses: [10.0.0.3], conditions: {ready: false}}, {addresses: [10.0.0.4], conditions: {ready: false, terminating: true}}]}`},
			want: `blue/a 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.2:1`,
		},
		{
			name: "endpoints that drain serve where no other does", services: services,
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.3], conditions: {ready: false}},
				{addresses: [10.0.0.4], conditions: {ready: false, terminating: true}}, {addresses: [10.0.0.5], conditions: {ready: false, serving: false, terminating: true}}]}`},
			want: `blue/a 10.96.0.1 tcp/80 10.0.0.4:1`,
		},
		{
			name:     "readiness is ignored where not ready addresses are published",
			services: map[string]string{"red/web": `{spec: {clusterIP: 10.96.0.1, publishNotReadyAddresses: true, ports: [{port: 80}]}}`},
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.3], conditions: {ready: false, serving: false}},
				{addresses: [10.0.0.4], conditions: {ready: false, terminating: true}}]}`},
			want: `blue/a 10.96.0.1 tcp/80 10.0.0.3:1 10.0.0.4:1`,
		},
		{
			name: "neither ready nor draining is not an endpoint", services: services,
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.3], conditions: {ready: false}}]}`},
			want:   `blue/a 10.96.0.1 tcp/80 refuse`,
		},
		{
			name: "one endpoint in two slices is one, and ready when either says so", services: services,
			slices: map[string]string{
				"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1], conditions: {ready: false, terminating: true}}, {addresses: [10.0.0.2]}]}`,
				"red/web/2": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]}`,
				"red/web/3": `{ports: [{port: 2}], endpoints: [{addresses: [10.0.0.1]}]}`,
			},
			want: `blue/a 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.1:2 10.0.0.2:1`,
		},
		{
			name: "ports without a number, of another name or protocol do not count; headless slices neither", services: services,
			slices: map[string]string{
				"red/web/1": `{ports: [{}, {name: x, port: 1}, {port: 2, protocol: UDP}], endpoints: [{addresses: [10.0.0.1]}]}`,
				"red/web/2": `{metadata: {labels: {service.kubernetes.io/headless: ""}}, ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1]}]}`,
			},
			want: `blue/a 10.96.0.1 tcp/80 refuse`,
		},
		{
			name: "Endpoints count where there is no slice", services: map[string]string{
				"red/web": web, "red/pub": `{spec: {clusterIP: 10.96.0.2, publishNotReadyAddresses: true, ports: [{port: 80}]}}`,
				"red/old": `{spec: {clusterIP: 10.96.0.3, ports: [{port: 80}]}}`,
			},
			slices: map[string]string{"red/old/1": `{ports: [{port: 2}], endpoints: [{addresses: [10.0.0.2]}]}`},
			change: func(c *oracle.Cluster) {
				subset := corev1.EndpointSubset{ //nolint:staticcheck // SA1019: clusters still have them.
					Addresses:         []corev1.EndpointAddress{{IP: "10.0.0.1"}},
					NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.0.0.2"}},
					Ports:             []corev1.EndpointPort{{Port: 1}},
				}
				for _, name := range []string{"web", "pub", "old"} {
					e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: name}} //nolint:staticcheck // SA1019: the same.
					e.Subsets = append(e.Subsets, subset)
					c.Endpoints = append(c.Endpoints, e)
				}
			}, want: `
			blue/a 10.96.0.1 tcp/80 10.0.0.1:1
			blue/a 10.96.0.2 tcp/80 10.0.0.1:1 10.0.0.2:1
			blue/a 10.96.0.3 tcp/80 10.0.0.2:2`,
		},
	})
}

func TestTrafficPolicies(t *testing.T) {
	both := map[string]string{"red/web/1": webSlice}
	one := map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1], nodeName: n1}, {addresses: [10.0.0.9]}]}`}
	local := `{spec: {type: LoadBalancer, clusterIP: 10.96.0.1, externalTrafficPolicy: Local, externalIPs: [192.0.2.7], ports: [{port: 80, nodePort: 30080}]},
		status: {loadBalancer: {ingress: [{ip: 192.0.2.8}]}}}`
	runServices(t, []serviceRow{
		{
			name: "internalTrafficPolicy Local keeps to the node of the sender", slices: both,
			services: map[string]string{"red/web": `{spec: {clusterIP: 10.96.0.1, externalIPs: [192.0.2.7], internalTrafficPolicy: Local, ports: [{port: 80}]}}`},
			want: `
			blue/a 10.96.0.1 tcp/80 10.244.1.81:8080
			blue/c 10.96.0.1 tcp/80 10.244.1.82:8080
			blue/c@n1 10.96.0.1 tcp/80 10.244.1.81:8080
			192.0.2.1@n2 10.96.0.1 tcp/80 10.244.1.82:8080
			192.0.2.1 10.96.0.1 tcp/80 drop
			blue/a@n3 10.96.0.1 tcp/80 drop
			blue/a@n3 192.0.2.7 tcp/80 10.244.1.81:8080 10.244.1.82:8080`,
		},
		{
			name: "nothing on the node is dropped, nothing anywhere is refused", slices: one,
			services: map[string]string{
				"red/web": `{spec: {clusterIP: 10.96.0.1, internalTrafficPolicy: Local, ports: [{port: 80}]}}`,
				"red/non": `{spec: {clusterIP: 10.96.0.2, internalTrafficPolicy: Local, ports: [{port: 80}]}}`,
			}, want: `
			blue/a 10.96.0.1 tcp/80 10.0.0.1:1
			blue/c 10.96.0.1 tcp/80 drop
			192.0.2.1 10.96.0.1 tcp/80 drop
			blue/c 10.96.0.2 tcp/80 refuse`,
		},
		{
			name: "externalTrafficPolicy Local is the node's for node ports, and for senders from outside", slices: both,
			services: map[string]string{"red/web": local}, want: `
			blue/a 10.0.1.2 tcp/30080 10.244.1.82:8080
			192.0.2.1@n1 10.0.1.2 tcp/30080 10.244.1.82:8080
			blue/a 192.0.2.7 tcp/80 10.244.1.81:8080 10.244.1.82:8080
			10.244.2.10@n1 192.0.2.8 tcp/80 10.244.1.81:8080 10.244.1.82:8080
			192.0.2.1@n1 192.0.2.7 tcp/80 10.244.1.81:8080
			192.0.2.1@n2 192.0.2.8 tcp/80 10.244.1.82:8080
			192.0.2.1@n3 192.0.2.8 tcp/80 drop
			10.0.1.1@n1 192.0.2.7 tcp/80 10.244.1.81:8080
			10.0.1.1@own/n1 192.0.2.7 tcp/80 10.244.1.81:8080 10.244.1.82:8080
			10.0.1.1@own/n1 10.0.1.2 tcp/30080 10.244.1.82:8080
			blue/a 10.96.0.1 tcp/80 10.244.1.81:8080 10.244.1.82:8080`,
		},
		{
			name: "an empty node drops at its node port", slices: one,
			services: map[string]string{"red/web": local}, want: `
			blue/a 10.0.1.1 tcp/30080 10.0.0.1:1
			blue/a 10.0.1.2 tcp/30080 drop`,
		},
		{
			name:     "draining counts for each node by itself",
			services: map[string]string{"red/web": local},
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1], nodeName: n1},
				{addresses: [10.0.0.2], nodeName: n2, conditions: {ready: false, terminating: true}}, {addresses: [10.0.0.3], nodeName: n1, conditions: {ready: false, terminating: true}}]}`},
			want: `
			blue/a 10.0.1.1 tcp/30080 10.0.0.1:1
			blue/a 10.0.1.2 tcp/30080 10.0.0.2:1
			blue/a 10.96.0.1 tcp/80 10.0.0.1:1`,
		},
	})
}

func TestHints(t *testing.T) {
	services := map[string]string{"red/web": `{spec: {type: NodePort, clusterIP: 10.96.0.1, ports: [{port: 80, nodePort: 30080}]}}`}
	runServices(t, []serviceRow{
		{
			name: "hints for zones count when all ready endpoints have them and one is for the zone", services: services,
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1], hints: {forZones: [{name: east}]}},
				{addresses: [10.0.0.2], hints: {forZones: [{name: north}, {name: east}]}}, {addresses: [10.0.0.3], conditions: {ready: false, terminating: true}},
				{addresses: [10.0.0.4], hints: {forZones: [{name: north}]}}]}`},
			want: `
			blue/a 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.2:1
			192.0.2.1@n1 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.2:1
			blue/c 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.2:1 10.0.0.4:1
			192.0.2.1 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.2:1 10.0.0.4:1
			blue/a 10.0.1.2 tcp/30080 10.0.0.1:1 10.0.0.2:1`,
		},
		{
			name: "one endpoint without a hint and they are ignored", services: services,
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1], hints: {forZones: [{name: east}]}}, {addresses: [10.0.0.2]}]}`},
			want:   `blue/a 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.2:1`,
		},
		{
			name: "hints for nodes come first", services: services,
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1], hints: {forNodes: [{name: n1}], forZones: [{name: west}]}},
				{addresses: [10.0.0.2], hints: {forNodes: [{name: n3}], forZones: [{name: west}, {name: east}]}}]}`},
			want: `
			blue/a 10.96.0.1 tcp/80 10.0.0.1:1
			blue/c 10.96.0.1 tcp/80 10.0.0.1:1 10.0.0.2:1
			blue/a@n3 10.96.0.1 tcp/80 10.0.0.2:1`,
		},
		{
			name:     "a policy Local ignores hints",
			services: map[string]string{"red/web": `{spec: {clusterIP: 10.96.0.1, internalTrafficPolicy: Local, ports: [{port: 80}]}}`},
			slices: map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [10.0.0.1], nodeName: n1, hints: {forNodes: [{name: n2}]}},
				{addresses: [10.0.0.2], nodeName: n2, hints: {forNodes: [{name: n1}]}}]}`},
			want: `blue/a 10.96.0.1 tcp/80 10.0.0.1:1`,
		},
	})
}

func TestServicesAndPolicies(t *testing.T) {
	runServices(t, []serviceRow{
		{
			name: "policies see backends and their ports, on both ends", services: map[string]string{"red/web": web},
			slices: map[string]string{"red/web/1": webSlice},
			policies: map[string]string{
				"blue/out": `{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.96.0.1/32}}]}, {to: [{ipBlock: {cidr: 10.244.1.81/32}}], ports: [{port: 8080}]}]}`,
				"red/in":   `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}]}]}`,
			}, want: `
			blue/a 10.96.0.1 tcp/80 10.244.1.81:8080 !10.244.1.82:8080
			blue/c 10.96.0.1 tcp/80 10.244.1.81:8080 10.244.1.82:8080
			red/a 10.96.0.1 tcp/80 !10.244.1.81:8080 !10.244.1.82:8080
			blue/a 10.96.0.1 tcp/81 direct`,
		},
		{
			name: "a pod reaches itself through its Service", services: map[string]string{"red/web": web},
			slices:   map[string]string{"red/web/1": webSlice},
			policies: map[string]string{"red/p": `{podSelector: {}, policyTypes: [Ingress, Egress]}`},
			want:     `red/s1 10.96.0.1 tcp/80 10.244.1.81:8080 !10.244.1.82:8080`,
		},
		{
			name: "an endpoint without a pod is an address outside", services: map[string]string{"red/web": web},
			slices:   map[string]string{"red/web/1": `{ports: [{port: 1}], endpoints: [{addresses: [198.51.100.1]}, {addresses: [10.0.1.1]}]}`},
			policies: map[string]string{"blue/p": `{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 198.51.100.0/24}}]}]}`},
			want: `
			blue/a 10.96.0.1 tcp/80 !10.0.1.1:1 198.51.100.1:1
			blue/c 10.96.0.1 tcp/80 10.0.1.1:1 198.51.100.1:1`,
		},
		{
			name: "an empty Service refuses, whatever the policies say", services: map[string]string{"red/web": web},
			policies: map[string]string{"blue/p": `{podSelector: {}, policyTypes: [Egress]}`},
			want:     `blue/a 10.96.0.1 tcp/80 refuse`,
		},
	})
}

func TestVerdictNamesServiceAndPods(t *testing.T) {
	c := base(t)
	c.Services = append(c.Services, service(t, "red/web", web))
	c.Slices = append(c.Slices, slice(t, "red/web/1", `{ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.81]}, {addresses: [192.0.2.1]}]}`))
	v := c.Allowed(oracle.Flow{Src: end(t, c, "blue/a"), Dst: end(t, c, "10.96.0.1"), Protocol: corev1.ProtocolTCP, Port: 80})
	require.Equal(t, "red/web", v.Service)
	require.Equal(t, []string{"red/s1", ""}, slices.Collect(func(yield func(string) bool) {
		for _, b := range v.Backends {
			if !yield(b.Pod) {
				return
			}
		}
	}))
	require.True(t, v.EgressAllowed && v.IngressAllowed)
}
