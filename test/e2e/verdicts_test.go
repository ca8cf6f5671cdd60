//go:build e2e

package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/oracle"
)

// TestVerdicts compares what ovn-trace says of every probe with what the oracle says, and checks that a second run finds
// nothing to do.
func TestVerdicts(t *testing.T) {
	cases, err := os.ReadDir("testdata/verdicts")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, tc := range cases {
		t.Run(tc.Name(), func(t *testing.T) {
			judge(t, gather(t, "testdata/base", filepath.Join("testdata/verdicts", tc.Name())))
		})
	}
}

// judge applies dir to a fresh OVN and probes it.
func judge(t *testing.T, dir string) {
	t.Helper()
	cluster := load(t, dir)
	lab := ovnlab.Start(t)
	lab.Install(network(t, cluster))

	empty := lab.Dump()
	code, out := apply(t, dir, lab.NBUnix(), "--dry-run")
	require.Equal(t, empty, lab.Dump(), "a dry run wrote something")
	if len(cluster.Policies) > 0 {
		require.Equal(t, differs, code, "a dry run on an empty database:\n%s", out)
	}
	mustApply(t, dir, lab.NBUnix())
	settled := lab.Dump()
	lab.Sync()
	compare(t, lab, cluster)

	code, out = apply(t, dir, lab.NBUnix(), "--dry-run")
	require.Equal(t, inSync, code, "the second plan is not empty:\n%s", out)
	mustApply(t, dir, lab.NBUnix())
	require.Equal(t, settled, lab.Dump(), "the second run wrote something")
}

// probe is a protocol and a destination port.
type probe struct {
	protocol corev1.Protocol
	port     int32
}

// probes are those that any rule of the policies could distinguish: each number that a policy or a pod names with its
// neighbours, in every protocol, and ICMP.
func probes(c *oracle.Cluster) []probe {
	numbers := []int32{22}
	note := func(n int32) {
		for _, v := range []int32{n - 1, n, n + 1} {
			if v > 0 && v < 65536 && !slices.Contains(numbers, v) {
				numbers = append(numbers, v)
			}
		}
	}
	for _, p := range live(c) {
		for _, ct := range p.Spec.Containers {
			for _, port := range ct.Ports {
				note(port.ContainerPort)
			}
		}
	}
	for _, p := range c.Policies {
		for _, port := range policyPorts(p) {
			if port.Port != nil && port.Port.IntVal > 0 {
				note(port.Port.IntVal)
			}
			if port.EndPort != nil {
				note(*port.EndPort)
			}
		}
	}
	all := []probe{{oracle.ICMP, 0}}
	for _, n := range numbers {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
			all = append(all, probe{protocol, n})
		}
	}
	return all
}

// compare asks about every pair of ends, in both families, and fails when the two differ on any flow.
func compare(t *testing.T, lab *ovnlab.Lab, cluster *oracle.Cluster) {
	t.Helper()
	all := probes(cluster)
	var flows []oracle.Flow
	for _, v6 := range []bool{false, true} {
		pods, world := ends(cluster, v6)
		for _, pair := range pairs(pods, world) {
			for _, p := range all {
				flows = append(flows, oracle.Flow{Src: pair[0], Dst: pair[1], Protocol: p.protocol, Port: p.port})
			}
		}
	}
	require.True(t, compareFlows(t, lab, cluster, flows))
}

// compareFlows asks ovn-trace and the oracle about every flow. It reports those on which they differ and says whether
// there was none.
func compareFlows(t *testing.T, lab *ovnlab.Lab, cluster *oracle.Cluster, flows []oracle.Flow) bool {
	t.Helper()
	tracer := lab.Tracer()
	defer tracer.Close()
	frozen := cluster.Freeze()
	allowed := 0
	var wrong []string
	for _, f := range flows {
		want := frozen.Allowed(f)
		flow := ovnlab.Flow{Src: f.Src.Addr, Dst: f.Dst.Addr, Protocol: strings.ToLower(string(f.Protocol)), Port: uint16(f.Port)}
		got := tracer.Verdict(flow)
		if want.Allowed {
			allowed++
		}
		if want.Allowed != (got == ovnlab.Allow) || got == ovnlab.Reject {
			wrong = append(wrong, flow.String()+" ("+f.Src.Pod+" -> "+f.Dst.Pod+"): "+got.String()+"; the oracle: "+strings.Join(want.Why, ", "))
		}
	}
	t.Logf("%d probes, %d allowed", len(flows), allowed)
	if len(wrong) > 0 {
		t.Log(lab.NBCtl("--format=table", "--columns=direction,priority,match,action,options", "list", "ACL"))
		t.Errorf("ovn-trace and the oracle differ on %d of %d probes, first:\n%s",
			len(wrong), len(flows), strings.Join(wrong[:min(len(wrong), 20)], "\n"))
	}
	complaints := lab.Complaints()
	if len(complaints) > 0 {
		t.Errorf("OVN cannot read what was written:\n%s", strings.Join(complaints, "\n"))
	}
	return len(wrong) == 0 && len(complaints) == 0
}

// pairs lists sources and destinations of which at least one is a pod.
func pairs(pods, world []oracle.End) [][2]oracle.End {
	var all [][2]oracle.End
	for _, p := range pods {
		for _, o := range pods {
			if o != p {
				all = append(all, [2]oracle.End{p, o})
			}
		}
		for _, o := range world {
			all = append(all, [2]oracle.End{p, o}, [2]oracle.End{o, p})
		}
	}
	return all
}
