package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// endpoints is a document with the Endpoints of a service.
func endpoints(name, rest string) string {
	return "---\napiVersion: v1\nkind: Endpoints\nmetadata: {name: " + name + ", namespace: shop}\n" + rest
}

var webService = object.Ref{Kind: object.KindService, Namespace: "shop", Name: "web"}

func TestEndpointsAsSlices(t *testing.T) {
	e := only[*source.Endpoints](t, "apiVersion: v1\nkind: Endpoints\n"+
		"metadata: {name: web, namespace: shop, uid: u, labels: {a: b, service.kubernetes.io/headless: ''},\n"+
		"  annotations: {netloom.io/network: net, endpoints.kubernetes.io/last-change-trigger-time: now}}\n"+
		"subsets:\n"+
		"- addresses: [{ip: 10.0.0.1, nodeName: n1, hostname: h, targetRef: {kind: Pod, namespace: shop, name: a, uid: v}}, {ip: 'fd00::1'}]\n"+
		"  notReadyAddresses: [{ip: 10.0.0.2}]\n"+
		"  ports: [{name: a, port: 80, appProtocol: http}, {name: b, port: 53, protocol: UDP}]\n"+
		"- notReadyAddresses: [{ip: 10.0.0.3}]\n"+
		"  ports: [{port: 80}]\n")
	require.Empty(t, e.Subsets[0].Addresses[0].Hostname, "unused fields are dropped")
	require.Nil(t, e.Subsets[0].Ports[0].AppProtocol)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: "u", Annotations: map[string]string{"netloom.io/network": "net"},
			Labels: map[string]string{
				"a": "b", "service.kubernetes.io/headless": "", "kubernetes.io/service-name": "web",
				"endpointslice.kubernetes.io/managed-by": "endpoints.netloom.io",
			},
		}
	}
	is := func(ready bool) discoveryv1.EndpointConditions {
		return discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready, Terminating: ptr(false)}
	}
	two := []discoveryv1.EndpointPort{
		{Name: ptr("a"), Protocol: ptr(corev1.ProtocolTCP), Port: ptr(int32(80))},
		{Name: ptr("b"), Protocol: ptr(corev1.ProtocolUDP), Port: ptr(int32(53))},
	}
	require.Equal(t, []*discoveryv1.EndpointSlice{
		{
			ObjectMeta: meta("endpoints/web/0-ipv4"), AddressType: discoveryv1.AddressTypeIPv4, Ports: two,
			Endpoints: []discoveryv1.Endpoint{
				{
					Addresses: []string{"10.0.0.1"}, Conditions: is(true), NodeName: ptr("n1"),
					TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "a"},
				},
				{Addresses: []string{"10.0.0.2"}, Conditions: is(false)},
			},
		},
		{
			ObjectMeta: meta("endpoints/web/0-ipv6"), AddressType: discoveryv1.AddressTypeIPv6, Ports: two,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"fd00::1"}, Conditions: is(true)}},
		},
		{
			ObjectMeta: meta("endpoints/web/1-ipv4"), AddressType: discoveryv1.AddressTypeIPv4,
			Ports:     []discoveryv1.EndpointPort{{Name: ptr(""), Protocol: ptr(corev1.ProtocolTCP), Port: ptr(int32(80))}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.3"}, Conditions: is(false)}},
		},
	}, source.SlicesOf(e))
	require.NotContains(t, e.Labels, "kubernetes.io/service-name", "the object is shared")

	require.Empty(t, source.SlicesOf(&source.Endpoints{}))
	nowhere := []corev1.EndpointAddress{{IP: "nowhere"}}
	require.Empty(t, source.SlicesOf(&source.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: nowhere}}})) //nolint:staticcheck // clusters still have them
}

func TestFaultyEndpoints(t *testing.T) {
	const at = "a.yaml: document 1: Endpoints/shop/web: "
	for _, tc := range []struct {
		name string
		rest string
		want []string
	}{
		{
			"no addresses", "subsets: [{ports: [{port: 80}]}]\n",
			[]string{at + "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"},
		},
		{
			"addresses that cannot be reached", "subsets: [{addresses: [{ip: web}], notReadyAddresses: [{ip: '::1', nodeName: N1}]}]\n",
			[]string{
				at + `subsets[0].addresses[0].ip: Invalid value: "web": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
				at + `subsets[0].notReadyAddresses[0].ip: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
				at + `subsets[0].notReadyAddresses[0].nodeName: Invalid value: "N1": a lowercase RFC 1123 subdomain must consist of ` +
					`lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character ` +
					`(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			},
		},
		{
			"ports without a name and out of range", "subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}, {name: a, port: 0, protocol: IP}]}]\n",
			[]string{
				at + "subsets[0].ports[0].name: Required value",
				at + "subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
				at + `subsets[0].ports[1].protocol: Unsupported value: "IP": supported values: "TCP", "UDP", "SCTP"`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, problems(parseManifest("a.yaml", []byte(endpoints("web", tc.rest)), Options{})))
		})
	}
}

// balanced lists the services in force and the addresses of the slices in force, with the names of both.
func balanced(d *Directory) []string {
	var list []string
	for _, ref := range d.Refs() {
		o, ok := d.Get(ref)
		if !ok {
			continue
		}
		switch o := o.(type) {
		case *corev1.Service:
			list = append(list, o.Name+" "+o.Spec.ClusterIP)
		case *discoveryv1.EndpointSlice:
			var ips []string
			for _, e := range o.Endpoints {
				ips = append(ips, e.Addresses...)
			}
			list = append(list, ref.Name+" "+strings.Join(ips, "+"))
		case *source.Endpoints:
			list = append(list, "never as Endpoints")
		}
	}
	return list
}

func TestServicesOfADirectory(t *testing.T) {
	const (
		web    = "  clusterIP: 10.96.0.1\n  ports: [{port: 80}]\n"
		moved  = "  clusterIP: 10.96.0.2\n  ports: [{port: 80}]\n"
		faulty = "  clusterIP: 10.96.0.3\n  ports: [{port: 0, targetPort: 80}]\n"
		one    = "addressType: IPv4\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1]}]\n"
		two    = "addressType: IPv4\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]\n"
		wrong  = "addressType: IPv6\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1]}]\n"
		old    = "subsets: [{addresses: [{ip: 10.0.0.8}, {ip: 'fd00::8'}], ports: [{port: 80}]}]\n"
		older  = "subsets: [{addresses: [{ip: 10.0.0.9}, {ip: 'fd00::8'}], ports: [{port: 80}]}]\n"
		broken = "subsets: [{addresses: [{ip: nowhere}]}]\n"
	)
	type step struct {
		files    string // the content of a.yaml
		want     []string
		dirty    []string // names, those of namespaces left out
		problems int
	}
	for _, tc := range []struct {
		name  string
		opts  Options
		steps []step
	}{
		{"a service and its slices are edited and removed", Options{}, []step{
			{
				files: service("web", web) + slice("web-1", one) + slice("web-2", two),
				want:  []string{"web-1 10.0.0.1", "web-2 10.0.0.1+10.0.0.2", "web 10.96.0.1"}, dirty: []string{"web-1", "web-2", "web"},
			},
			{files: service("web", moved) + slice("web-1", two), want: []string{"web-1 10.0.0.1+10.0.0.2", "web 10.96.0.2"}, dirty: []string{"web-1", "web-2", "web"}},
			{files: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n", dirty: []string{"web-1", "web"}},
		}},
		{"a faulty version keeps the one before", Options{}, []step{
			{files: service("web", web) + slice("web-1", one), want: []string{"web-1 10.0.0.1", "web 10.96.0.1"}, dirty: []string{"web-1", "web"}},
			{files: service("web", faulty) + slice("web-1", wrong), want: []string{"web-1 10.0.0.1", "web 10.96.0.1"}, problems: 2},
			{files: service("web", moved) + slice("web-1", two), want: []string{"web-1 10.0.0.1+10.0.0.2", "web 10.96.0.2"}, dirty: []string{"web-1", "web"}},
		}},
		{"a faulty service that was never good is left out", Options{}, []step{
			{files: service("web", faulty), problems: 1},
			{files: service("web", web), want: []string{"web 10.96.0.1"}, dirty: []string{"web"}},
		}},
		{"Endpoints are slices, of which only those that change are dirty", Options{}, []step{
			{
				files: endpoints("web", old), want: []string{"endpoints/web/0-ipv4 10.0.0.8", "endpoints/web/0-ipv6 fd00::8"},
				dirty: []string{"endpoints/web/0-ipv4", "endpoints/web/0-ipv6"},
			},
			{
				files: endpoints("web", older), want: []string{"endpoints/web/0-ipv4 10.0.0.9", "endpoints/web/0-ipv6 fd00::8"},
				dirty: []string{"endpoints/web/0-ipv4"},
			},
			{files: endpoints("web", broken), want: []string{"endpoints/web/0-ipv4 10.0.0.9", "endpoints/web/0-ipv6 fd00::8"}, problems: 1},
			{files: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n", dirty: []string{"endpoints/web/0-ipv4", "endpoints/web/0-ipv6"}},
		}},
		{"Endpoints do not count beside a slice of that service", Options{Options: source.Options{Endpoints: source.EndpointsAuto}}, []step{
			{
				files: endpoints("web", old) + endpoints("db", old),
				want:  []string{"endpoints/db/0-ipv4 10.0.0.8", "endpoints/db/0-ipv6 fd00::8", "endpoints/web/0-ipv4 10.0.0.8", "endpoints/web/0-ipv6 fd00::8"},
				dirty: []string{"endpoints/db/0-ipv4", "endpoints/db/0-ipv6", "endpoints/web/0-ipv4", "endpoints/web/0-ipv6"},
			},
			{
				files: endpoints("web", old) + endpoints("db", old) + slice("web-1", one),
				want:  []string{"endpoints/db/0-ipv4 10.0.0.8", "endpoints/db/0-ipv6 fd00::8", "web-1 10.0.0.1"},
				dirty: []string{"endpoints/web/0-ipv4", "endpoints/web/0-ipv6", "web-1"},
			},
			{
				files: endpoints("web", old),
				want:  []string{"endpoints/web/0-ipv4 10.0.0.8", "endpoints/web/0-ipv6 fd00::8"},
				dirty: []string{"endpoints/db/0-ipv4", "endpoints/db/0-ipv6", "endpoints/web/0-ipv4", "endpoints/web/0-ipv6", "web-1"},
			},
		}},
		{"only slices", Options{Options: source.Options{Endpoints: source.EndpointsSlices}}, []step{
			{files: service("web", web) + endpoints("web", broken) + slice("web-1", one), want: []string{"web-1 10.0.0.1", "web 10.96.0.1"}, dirty: []string{"web-1", "web"}},
		}},
		{"only Endpoints", Options{Options: source.Options{Endpoints: source.EndpointsClassic}}, []step{
			{
				files: service("web", web) + endpoints("web", old) + slice("web-1", wrong),
				want:  []string{"endpoints/web/0-ipv4 10.0.0.8", "endpoints/web/0-ipv6 fd00::8", "web 10.96.0.1"},
				dirty: []string{"endpoints/web/0-ipv4", "endpoints/web/0-ipv6", "web"},
			},
		}},
		{"no services", Options{Options: source.Options{NoServices: true}}, []step{
			{files: service("web", faulty) + endpoints("web", broken) + slice("web-1", wrong) + "---\napiVersion: v1\nkind: ServiceList\nitems: 17\n"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			d := NewDirectory(dir, tc.opts, quiet())
			for i, s := range tc.steps {
				write(t, dir, "a.yaml", s.files)
				require.NoError(t, d.ReadOnce())
				require.Equal(t, s.want, balanced(d), "step %d", i)
				require.Len(t, d.Problems(), s.problems, "step %d: %v", i, d.Problems())
				var dirty []string
				for _, ref := range d.Drain() {
					require.NotEqual(t, object.KindEndpoints, ref.Kind)
					if ref.Kind != object.KindNamespace {
						dirty = append(dirty, ref.Name)
					}
				}
				require.Equal(t, s.dirty, dirty, "step %d", i)
			}
		})
	}
}
