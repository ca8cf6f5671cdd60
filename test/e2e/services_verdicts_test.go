//go:build e2e

package e2e_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// With these a packet from a pod is load-balanced on its switch and one from the world on the router, which is a gateway.
var gatewayFlags = []string{"--ovn-lb-switches", "!" + ovnlab.WorldSwitch, "--ovn-lb-routers", "lr"}

// TestServiceVerdicts compares what ovn-trace says of packets to Services with what the oracle says.
func TestServiceVerdicts(t *testing.T) {
	dir := gather(t, "testdata/services")
	cluster := load(t, dir)
	lab := ovnlab.Start(t)
	lab.Install(network(t, cluster, vips(cluster)...))
	lab.NBCtl("set", "Logical_Router", "lr", "options:chassis=n1")
	mustApply(t, dir, lab.NBUnix(), gatewayFlags...)
	settled := lab.Dump()
	lab.Sync()
	require.True(t, compareServices(t, lab, cluster, serviceFlows(cluster)))

	code, out := apply(t, dir, lab.NBUnix(), append([]string{"--dry-run"}, gatewayFlags...)...)
	require.Equal(t, inSync, code, "the second plan is not empty:\n%s", out)
	mustApply(t, dir, lab.NBUnix(), gatewayFlags...)
	require.Equal(t, settled, lab.Dump(), "the second run wrote something")
}

// vips are the addresses of every Service.
func vips(c *oracle.Cluster) []netip.Addr {
	var all []netip.Addr
	for _, s := range c.Services {
		texts := slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs)
		for _, in := range s.Status.LoadBalancer.Ingress {
			texts = append(texts, in.IP)
		}
		for _, text := range texts {
			if a, err := netip.ParseAddr(text); err == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// serviceFlows go from every end to every port of every Service.
func serviceFlows(c *oracle.Cluster) []oracle.Flow {
	var flows []oracle.Flow
	asked := map[oracle.Flow]bool{}
	for _, v6 := range []bool{false, true} {
		pods, world := ends(c, v6)
		for _, src := range slices.Concat(pods, world) {
			for _, s := range c.Services {
				for _, p := range s.Spec.Ports {
					for _, a := range slices.Concat(vips(&oracle.Cluster{Services: []*corev1.Service{s}}), nodeAddrs(c)) {
						if a.Is6() != v6 {
							continue
						}
						number := p.Port
						if slices.Contains(nodeAddrs(c), a) {
							number = p.NodePort
						}
						f := oracle.Flow{Src: src, Dst: oracle.End{Addr: a}, Protocol: p.Protocol, Port: number, Node: entry(c, src)}
						if number > 0 && !asked[f] {
							asked[f] = true
							flows = append(flows, f)
						}
					}
				}
			}
		}
	}
	return flows
}

// entry is the node where packets of an end come in: that of the pod, or the one with the gateway.
func entry(c *oracle.Cluster, e oracle.End) string {
	for _, p := range live(c) {
		if p.Namespace+"/"+p.Name == e.Pod {
			return p.Spec.NodeName
		}
	}
	return "n1"
}

// judge of services: what the database and ovn-trace say of flows to Services.
type serviceJudge struct {
	lab       *ovnlab.Lab
	net       *ovnlab.Network
	tracer    *ovnlab.Tracer
	direct    map[ovnlab.Flow]ovnlab.Verdict // of flows to backends
	templates *templates
	nowhere   []netip.AddrPort // stand for backends that there are not
}

// compareServices asks about every flow, reports those on which ovn-trace and the oracle differ and says whether there was
// none. Flows that are to no Service are for compareFlows.
func compareServices(t *testing.T, lab *ovnlab.Lab, cluster *oracle.Cluster, flows []oracle.Flow) bool {
	t.Helper()
	j := &serviceJudge{lab: lab, net: lab.Network(), tracer: lab.Tracer(), direct: map[ovnlab.Flow]ovnlab.Verdict{}, templates: readTemplates(t, lab), nowhere: []netip.AddrPort{
		netip.MustParseAddrPort("127.0.0.9:9"), netip.MustParseAddrPort("[fe80::9]:9"),
	}}
	defer j.tracer.Close()
	frozen := cluster.Freeze()
	counts := map[string]int{}
	var wrong []string
	var others []oracle.Flow
	for _, f := range flows {
		want := frozen.Allowed(f)
		if j.net.Reserved(f.Src.Addr) {
			continue
		}
		if want.Service == "" {
			others = append(others, f)
			continue
		}
		what, fault := j.judge(t, f, want)
		counts[what]++
		if fault != "" {
			wrong = append(wrong, fmt.Sprintf("%s (%s on %s, service %s): %s; the oracle: %s", asked(f), f.Src.Pod, f.Node, want.Service, fault, strings.Join(want.Why, ", ")))
		}
	}
	t.Logf("to services: %v", counts)
	if len(wrong) > 0 {
		t.Errorf("ovn-trace and the oracle differ on %d of %d flows to services, first:\n%s",
			len(wrong), len(flows)-len(others), strings.Join(wrong[:min(len(wrong), 20)], "\n"))
	}
	return compareFlows(t, lab, cluster, slices.DeleteFunc(others, func(f oracle.Flow) bool { return j.net.Unroutable(asked(f)) })) && len(wrong) == 0
}

func asked(f oracle.Flow) ovnlab.Flow {
	return ovnlab.Flow{Src: f.Src.Addr, Dst: f.Dst.Addr, Protocol: strings.ToLower(string(f.Protocol)), Port: uint16(f.Port)}
}

// judge compares one flow: which backends may be chosen, and what happens to the packet at each of them.
func (j *serviceJudge) judge(t *testing.T, f oracle.Flow, want oracle.Verdict) (what, fault string) {
	t.Helper()
	flow := asked(f)
	host := j.net.SwitchOf(flow.Src)
	if host == ovnlab.WorldSwitch {
		host = "lr"
	}
	got := j.tracer.Balance(flow)
	pool, varies := j.templates.backends(t, host, f.Node, flow)
	if !varies {
		pool = got.Backends
	}
	nowhere := len(pool) == 1 && slices.Contains(j.nowhere, pool[0])
	if nowhere {
		pool = nil
	}
	var wanted []netip.AddrPort
	all, none, self := true, true, false
	for _, b := range want.Backends {
		at := netip.AddrPortFrom(b.Addr, uint16(b.Port))
		wanted = append(wanted, at)
		all, none, self = all && b.Allowed, none && !b.Allowed, self || b.Addr == flow.Src
		direct := ovnlab.Flow{Src: flow.Src, Dst: b.Addr, Protocol: flow.Protocol, Port: at.Port()}
		if _, frontend := j.templates.backends(t, host, f.Node, direct); !frontend && !j.matches(direct, b.Allowed) {
			return "faulty", fmt.Sprintf("policies at %s contradict the oracle", at)
		}
	}
	switch {
	case want.Refused:
		if !got.Refused && !varies || len(pool) > 0 {
			return "faulty", fmt.Sprintf("not refused: %+v %v", got, pool)
		}
		return "refused", ""
	case got.Refused:
		return "faulty", "refused"
	case varies && len(wanted) == 0 && got.Delivered == "":
		return "dropped", "" // before it was balanced
	case !slices.Equal(pool, wanted):
		return "faulty", fmt.Sprintf("chosen from %v, want %v", pool, wanted)
	case len(wanted) == 0:
		switch {
		case varies, got.Delivered == "":
			return "dropped", ""
		case nowhere && got.Delivered == ovnlab.World:
			return "dropped outside", "" // a gateway router sends what is for nowhere to its default route
		default:
			return "faulty", "delivered to " + got.Delivered
		}
	case varies:
		return "by chassis", ""
	case got.Learned:
		return "with affinity", ""
	case self: // ovn-trace does not know the source of a packet that comes back
		return "to oneself too", ""
	case all && got.Delivered == "":
		return "faulty", "dropped"
	case none && got.Delivered != "":
		return "faulty", "delivered to " + got.Delivered
	case all:
		return "allowed", ""
	case none:
		return "denied", ""
	default:
		return "allowed or denied", ""
	}
}

// matches asks what becomes of a flow straight to a backend, unless the network cannot say.
func (j *serviceJudge) matches(f ovnlab.Flow, allowed bool) bool {
	if j.net.Unroutable(f) {
		return true
	}
	v, known := j.direct[f]
	if !known {
		v = j.tracer.Verdict(f)
		j.direct[f] = v
	}
	if (v == ovnlab.Allow) == allowed {
		return true
	}
	// A backend that is a frontend too: what is sent straight to it is balanced, what was balanced before is not again.
	again := j.tracer.Balance(f)
	return again.Refused || again.Learned || len(again.Backends) > 0
}

// TestGeneratedServices judges generated clusters with Services.
func TestGeneratedServices(t *testing.T) {
	seeds.Each(t, "generatedservices", func(t *testing.T, seed uint64) {
		cluster := policygen.Generate(seed, policygen.Size{Services: 12})
		dropTwins(cluster)
		cluster.Services = slices.DeleteFunc(cluster.Services, sharesNodePort)
		text, err := policygen.YAML(cluster)
		require.NoError(t, err)
		dir := t.TempDir()
		put(t, dir, "cluster.yaml", string(text))
		flows := slices.DeleteFunc(policygen.Probes(cluster, policygen.NewRand(seed), probesEach/2), func(f oracle.Flow) bool {
			// Networks other than the default one have no switches here.
			return f.Network != "" || f.Node == ""
		})
		lab := ovnlab.Start(t)
		lab.Install(generatedNetwork(t, cluster, slices.Concat(flows, toEndpoints(cluster))))
		lab.NBCtl("set", "Logical_Router", "lr", "options:chassis=gateway")
		for range 2 {
			code, out := apply(t, dir, lab.NBUnix(), gatewayFlags...)
			// Services may want what others have, and networks that are not there.
			require.Contains(t, []int{inSync, problems}, code, out)
		}
		lab.Sync()
		if !compareServices(t, lab, cluster, flows) {
			t.Fatalf("repeat with -run TestGeneratedServices -seed %d -seeds 3:\n%s", seed, text)
		}
	})
}

// sharesNodePort says that two ports of s have one node port, which no API server and no source takes.
func sharesNodePort(s *corev1.Service) bool {
	seen := map[corev1.ServicePort]bool{}
	for _, p := range s.Spec.Ports {
		key := corev1.ServicePort{Protocol: p.Protocol, NodePort: p.NodePort}
		if p.NodePort != 0 && seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// toEndpoints are flows to every endpoint of a slice, whichever pod has its address: some are of no pod, and have to be
// reached too.
func toEndpoints(c *oracle.Cluster) []oracle.Flow {
	used := map[netip.Addr]bool{}
	for _, p := range live(c) {
		for _, ip := range p.Status.PodIPs {
			used[netip.MustParseAddr(ip.IP)] = true
		}
	}
	var flows []oracle.Flow
	for _, s := range c.Slices {
		for i := range s.Endpoints {
			for _, text := range s.Endpoints[i].Addresses {
				if a, err := netip.ParseAddr(text); err == nil && !used[a] {
					flows = append(flows, oracle.Flow{Src: oracle.End{Addr: a}, Dst: oracle.End{Addr: a}})
				}
			}
		}
	}
	return flows
}
