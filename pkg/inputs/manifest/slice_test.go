package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// slice is a document with a slice of the service web.
func slice(name, rest string) string {
	return "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" +
		"metadata: {name: " + name + ", namespace: shop, labels: {kubernetes.io/service-name: web}}\n" + rest
}

func TestSliceDefaults(t *testing.T) {
	s := only[*discoveryv1.EndpointSlice](t, slice("web-1",
		"addressType: IPv4\nports: [{port: 80}, {name: dns, port: 53, protocol: UDP, appProtocol: a/b}, {name: none}]\n"+
			"endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2], conditions: {ready: false, serving: true}}]\n"))
	require.Equal(t, map[string]string{"kubernetes.io/service-name": "web"}, s.Labels)
	require.Equal(t, []discoveryv1.EndpointPort{
		{Name: ptr(""), Protocol: ptr(corev1.ProtocolTCP), Port: ptr(int32(80))},
		{Name: ptr("dns"), Protocol: ptr(corev1.ProtocolUDP), Port: ptr(int32(53))},
		{Name: ptr("none"), Protocol: ptr(corev1.ProtocolTCP)},
	}, s.Ports)
	require.Equal(t, []discoveryv1.Endpoint{
		{Addresses: []string{"10.0.0.1"}}, // not said whether it is ready
		{Addresses: []string{"10.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr(false), Serving: ptr(true)}},
	}, s.Endpoints)
}

func TestFaultySlices(t *testing.T) {
	const at = "a.yaml: document 1: EndpointSlice/shop/web-1: "
	const address = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	for _, tc := range []struct {
		name string
		rest string
		want []string
	}{
		{"no address type", "endpoints: []\n", []string{at + "addressType: Required value"}},
		{
			"an address type that does not exist", "addressType: IP\nendpoints: []\n",
			[]string{at + `addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"`},
		},
		{
			"addresses of the other family, and none",
			"addressType: IPv4\nendpoints: [{addresses: ['fd00::1']}, {addresses: [web]}, {addresses: []}, {addresses: [127.0.0.1]}]\n",
			[]string{
				at + `endpoints[0].addresses[0]: Invalid value: "fd00::1": must be an IPv4 address`,
				at + `endpoints[1].addresses[0]: Invalid value: "web": ` + address,
				at + "endpoints[2].addresses: Required value: must contain at least 1 address",
				at + `endpoints[3].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
			},
		},
		{
			"an IPv4 address among IPv6", "addressType: IPv6\nendpoints: [{addresses: [10.0.0.1]}]\n",
			[]string{at + `endpoints[0].addresses[0]: Invalid value: "10.0.0.1": must be an IPv6 address`},
		},
		{
			"an address among names", "addressType: FQDN\nendpoints: [{addresses: [a.example, web]}]\n",
			[]string{at + `endpoints[0].addresses[1]: Invalid value: "web": should be a domain with at least two segments separated by dots`},
		},
		{
			"ports that do not exist, with one name",
			"addressType: IPv4\nendpoints: []\nports: [{port: 0}, {port: 80, protocol: ICMP}, {name: A, port: 80}]\n",
			[]string{
				at + "ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
				at + `ports[1].name: Duplicate value: ""`,
				at + `ports[1].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`,
				at + `ports[2].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric ` +
					`characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', ` +
					`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
			},
		},
		{
			"hints that name a zone or node twice, or none",
			"addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], hints: {forZones: [{name: a}, {name: a}, {name: ''}], forNodes: [{name: n1}, {name: n1}]}}]\n",
			[]string{
				at + `endpoints[0].hints.forNodes[1].name: Duplicate value: "n1"`,
				at + `endpoints[0].hints.forZones[1].name: Duplicate value: "a"`,
				at + "endpoints[0].hints.forZones[2].name: Required value",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := parseManifest("a.yaml", []byte(slice("web-1", tc.rest)), Options{})
			require.Equal(t, tc.want, problems(m))
		})
	}
}
