package policygen_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

// serviceFeatures is what of the API a Service uses.
func serviceFeatures(s *corev1.Service, found map[string]bool) {
	note := func(name string, is bool) { found[name] = found[name] || is }
	note("type "+string(s.Spec.Type), true)
	note("headless", s.Spec.ClusterIP == corev1.ClusterIPNone)
	note("no address yet", s.Spec.ClusterIP == "")
	note("dual stack", len(s.Spec.ClusterIPs) == 2)
	note("another proxy's", s.Labels["service.kubernetes.io/service-proxy-name"] != "")
	note("network", s.Annotations["netloom.io/network"] != "")
	note("network's alias", s.Annotations["ovn.kubernetes.io/vpc"] != "")
	note("several ports", len(s.Spec.Ports) > 1)
	note("external IPs", len(s.Spec.ExternalIPs) > 1)
	note("external policy Local", s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal)
	policy := s.Spec.InternalTrafficPolicy
	note("internal policy Local", policy != nil && *policy == corev1.ServiceInternalTrafficPolicyLocal)
	note("source ranges", len(s.Spec.LoadBalancerSourceRanges) > 0)
	note("health check", s.Spec.HealthCheckNodePort != 0)
	note("affinity", s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP)
	note("not ready published", s.Spec.PublishNotReadyAddresses)
	for _, in := range s.Status.LoadBalancer.Ingress {
		note("host name", in.Hostname != "")
		note("proxied", in.IPMode != nil && *in.IPMode == corev1.LoadBalancerIPModeProxy)
	}
	for _, p := range s.Spec.Ports {
		note("protocol "+string(p.Protocol), true)
		note("node port", p.NodePort != 0)
		note("port without a name", p.Name == "")
	}
}

func sliceFeatures(e *discoveryv1.EndpointSlice, found map[string]bool) {
	note := func(name string, is bool) { found[name] = found[name] || is }
	note("slice "+string(e.AddressType), true)
	_, headless := e.Labels[corev1.IsHeadlessService]
	note("headless slice", headless)
	note("slice without endpoints", len(e.Endpoints) == 0)
	for i := range e.Endpoints {
		c := &e.Endpoints[i].Conditions
		note("no word of ready", c.Ready == nil)
		note("not ready", c.Ready != nil && !*c.Ready)
		note("draining", c.Ready != nil && !*c.Ready && c.Terminating != nil && *c.Terminating && (c.Serving == nil || *c.Serving))
		note("no pod", e.Endpoints[i].TargetRef == nil)
		note("no node", e.Endpoints[i].NodeName == nil)
		if h := e.Endpoints[i].Hints; h != nil {
			note("hints for zones", len(h.ForZones) > 0)
			note("hints for nodes", len(h.ForNodes) > 0)
		}
	}
}

func TestServicesUseEveryFeature(t *testing.T) {
	found := map[string]bool{}
	for seed := range uint64(200) {
		c := policygen.Generate(seed, policygen.Size{Services: 4})
		without := policygen.Generate(seed, policygen.Size{})
		require.Equal(t, without.Policies, c.Policies, "Services change nothing else")
		require.Equal(t, without.Pods, c.Pods)
		require.Empty(t, without.Services)
		claims, addrs := map[string]bool{}, map[string]int{}
		names := map[string]bool{}
		for _, s := range c.Services {
			serviceFeatures(s, found)
			names[s.Namespace+"/"+s.Name] = true
			for _, ip := range slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs) {
				found["conflict"] = found["conflict"] || claims[ip] && ip != corev1.ClusterIPNone
				claims[ip] = true
			}
		}
		for _, e := range c.Slices {
			sliceFeatures(e, found)
			found["slices first"] = found["slices first"] || !names[e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName]]
			for i := range e.Endpoints {
				addrs[e.Labels[discoveryv1.LabelServiceName]+" "+e.Endpoints[i].Addresses[0]]++
			}
		}
		for _, n := range addrs {
			found["endpoint twice"] = found["endpoint twice"] || n > 1
		}
		for _, n := range c.Nodes {
			found["zone"] = found["zone"] || n.Labels[corev1.LabelTopologyZone] != ""
			found["no zone"] = found["no zone"] || n.Labels[corev1.LabelTopologyZone] == ""
		}
	}
	for _, name := range []string{
		"type ClusterIP", "type NodePort", "type LoadBalancer", "type ExternalName", "headless", "no address yet", "dual stack",
		"another proxy's", "network", "network's alias", "several ports", "external IPs", "external policy Local",
		"internal policy Local", "source ranges", "health check", "affinity", "not ready published", "host name", "proxied",
		"protocol TCP", "protocol UDP", "protocol SCTP", "node port", "port without a name", "conflict", "slices first",
		"slice IPv4", "slice IPv6", "slice FQDN", "headless slice", "slice without endpoints", "no word of ready", "not ready",
		"draining", "no pod", "no node", "hints for zones", "hints for nodes", "endpoint twice", "zone", "no zone",
	} {
		require.True(t, found[name], name)
	}
}

func TestServicesChange(t *testing.T) {
	run := func() (kinds map[string]int, last string) {
		c := policygen.Generate(5, policygen.Size{Services: 3})
		rng := policygen.NewRand(5)
		kinds = map[string]int{}
		for range 600 {
			before := *c
			was := dump(t, &before)
			before.Pods, before.Namespaces = slices.Clone(c.Pods), slices.Clone(c.Namespaces)
			before.Nodes, before.Policies = slices.Clone(c.Nodes), slices.Clone(c.Policies)
			before.Services, before.Slices = slices.Clone(c.Services), slices.Clone(c.Slices)
			change := policygen.Mutate(c, rng)
			require.True(t, was == dump(t, &before), "an old object was written to: %s", change) //nolint:testifylint // Equal would print the whole cluster twice.
			kinds[change.Kind+" "+string(change.Verb)+" "+change.What]++
			names := map[string]bool{}
			for _, e := range c.Slices {
				require.False(t, names[e.Namespace+"/"+e.Name], "two slices of one name after %s", change)
				names[e.Namespace+"/"+e.Name] = true
			}
		}
		return kinds, text(t, c)
	}
	kinds, last := run()
	again, lastAgain := run()
	require.Equal(t, kinds, again)
	require.True(t, last == lastAgain) //nolint:testifylint // Equal would print the whole cluster twice.
	for _, want := range []string{
		"EndpointSlice changed flap", "EndpointSlice changed one more", "EndpointSlice changed one less",
		"EndpointSlice changed rewrite", "EndpointSlice added new", "EndpointSlice deleted gone", "Service added new",
		"Service deleted gone", "Service changed edit", "Service changed recreate", "Node changed zone", "Node added new",
		"Node deleted gone", "Pod changed relabel", "NetworkPolicy added new",
	} {
		require.NotZero(t, kinds[want], "%s of %v", want, kinds)
	}
}

func TestProbesAimAtServices(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(150) {
		c := policygen.Generate(seed, policygen.Size{Services: 5})
		judge := c.Freeze()
		for _, f := range policygen.Probes(c, policygen.NewRand(seed), 100) {
			require.Equal(t, f.Src.Addr.Is4(), f.Dst.Addr.Is4())
			v := judge.Allowed(f)
			switch {
			case v.Service == "":
				outcomes["direct"]++
			case v.Refused:
				outcomes["refused"]++
			case len(v.Backends) == 0:
				outcomes["dropped"]++
			case v.Allowed:
				outcomes["allowed"]++
			default:
				outcomes["denied"]++
			}
			if len(v.Backends) > 1 {
				outcomes["several backends"]++
			}
			if f.Network != "" {
				outcomes["elsewhere"]++
			}
		}
	}
	t.Log(outcomes)
	for _, want := range []string{"direct", "refused", "dropped", "allowed", "denied", "several backends", "elsewhere"} {
		require.Greater(t, outcomes[want], 200, want)
	}
}

func TestServicesReadBack(t *testing.T) {
	c := policygen.Generate(7, policygen.Size{Services: 1})
	require.NotEmpty(t, c.Slices)
	b, err := policygen.YAML(&oracle.Cluster{Services: c.Services, Slices: c.Slices[:1]})
	require.NoError(t, err)
	var kinds []string
	for _, doc := range strings.Split(string(b), "---\n")[1:] {
		var is struct {
			Kind string `json:"kind"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &is))
		kinds = append(kinds, is.Kind)
	}
	require.Equal(t, []string{"Service", "EndpointSlice"}, kinds)
}

func TestServicesWorkload(t *testing.T) {
	c := policygen.Services(300)
	require.Len(t, c.Services, 300)
	require.Len(t, c.Slices, 300)
	require.Len(t, c.Nodes, policygen.ServiceNodes)
	require.Equal(t, text(t, c), text(t, policygen.Services(300)))
	judge := c.Freeze()
	addrs := map[netip.Addr]bool{}
	for _, s := range c.Services {
		v := judge.Allowed(oracle.Flow{
			Src: oracle.End{Addr: netip.MustParseAddr("192.0.2.1")}, Dst: oracle.End{Addr: netip.MustParseAddr(s.Spec.ClusterIP)},
			Protocol: corev1.ProtocolTCP, Port: 80,
		})
		require.True(t, v.Allowed)
		require.Equal(t, s.Namespace+"/"+s.Name, v.Service)
		require.Len(t, v.Backends, policygen.EndpointsPerService)
		for _, b := range v.Backends {
			require.False(t, addrs[b.Addr])
			addrs[b.Addr] = true
		}
	}
}
