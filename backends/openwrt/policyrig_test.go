package openwrt

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/openwrt/internal/firewall"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// testCNF is a device between the pods of a World, which are behind the zones red and blue, and the rest, behind out. Without
// policies everything passes.
type testCNF struct {
	device *simulator.Device
	client *openwrt.Client
}

// cnfInterfaces are those of a CNF by zone. Each zone has both families, and out has the default route.
func cnfInterfaces() map[string][]simulator.Interface {
	return map[string][]simulator.Interface{
		"red":  {{Name: "net0", Address: netip.MustParsePrefix("10.244.0.254/24")}, {Name: "net1", Address: netip.MustParsePrefix("fd00:10::ffff/64")}},
		"blue": {{Name: "net2", Address: netip.MustParsePrefix("10.244.1.254/24")}, {Name: "net3", Address: netip.MustParsePrefix("fd00:10:1::ffff/64")}},
		"out":  {{Name: "net4", Address: netip.MustParsePrefix("192.0.2.2/24"), Default: true}},
	}
}

func zoneNames() []string { return []string{"red", "blue", "out"} }

func newCNF(t testing.TB) *testCNF {
	t.Helper()
	var interfaces []simulator.Interface
	for _, zone := range zoneNames() {
		interfaces = append(interfaces, cnfInterfaces()[zone]...)
	}
	d, err := simulator.New(simulator.Options{Interfaces: interfaces})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	c, err := openwrt.New(openwrt.Options{
		URL: d.URL(), Dial: d.Dial,
		Password: func(context.Context) (string, error) { return simulator.DefaultPassword, nil },
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	e := &testCNF{d, c}
	for _, zone := range zoneNames() {
		z := openwrt.Zone{Name: zone, Input: "ACCEPT", Output: "ACCEPT", Forward: "ACCEPT"}
		for _, i := range cnfInterfaces()[zone] {
			z.Network = append(z.Network, i.Name)
		}
		e.put(t, z)
		for _, to := range zoneNames() {
			if zone < to || to < zone {
				defer e.put(t, openwrt.Forwarding{Name: zone + to, Src: zone, Dest: to})
			}
		}
	}
	return e
}

func (e *testCNF) put(t testing.TB, resources ...openwrt.Resource) {
	t.Helper()
	for _, r := range resources {
		_, err := e.client.Put(t.Context(), r.Kind(), openwrt.ObjectOf(r))
		require.NoError(t, err)
	}
}

func (e *testCNF) reload(t testing.TB) {
	t.Helper()
	require.NoError(t, e.client.Act(t.Context(), "firewall", openwrt.Reload))
}

// apply makes the CNF have exactly these rules of policies, in this order.
func (e *testCNF) apply(t testing.TB, rules []firewall.Rule) {
	t.Helper()
	for _, r := range rules {
		e.put(t, r.Firewall)
	}
	e.reload(t)
}

// packet is the first packet of a flow as it comes to the CNF.
func (e *testCNF) packet(f intent.Flow) simulator.Packet {
	p := simulator.Packet{
		In: "net4", Src: f.Src.Addr, Dst: f.Dst.Addr, Proto: strings.Replace(f.Protocol.String(), "icmp6", "icmp", 1),
		SrcPort: 40000, DstPort: f.Port,
	}
	for _, zone := range zoneNames() {
		for _, i := range cnfInterfaces()[zone] {
			if i.Address.Masked().Contains(f.Src.Addr) {
				p.In = i.Name
			}
		}
	}
	return p
}

// judge compares the result for each flow with what policies say of the addresses alone, which is all that the CNF knows.
// What a skip names may be denied although it should be allowed.
func (e *testCNF) judge(t testing.TB, s *intent.Snapshot, flows []intent.Flow, skipped map[string]bool) {
	t.Helper()
	var wrong []string
	for _, f := range flows {
		f.Src.Key, f.Dst.Key, f.Node = object.Key{}, object.Key{}, ""
		want, got := s.Evaluate(f), e.device.Trace(e.packet(f))
		require.Empty(t, got.Unknown)
		require.False(t, got.Local)
		allowed := got.Verdict == simulator.Accept
		lax := slices.ContainsFunc(slices.Concat(want.Egress.By, want.Ingress.By), func(r intent.RuleRef) bool {
			return skipped[string(r.Policy)]
		})
		if allowed != want.Allowed && (allowed || !lax) && len(wrong) < 8 {
			wrong = append(wrong, fmt.Sprintf("%+v: policies say %+v, the CNF %s: %v", f, want, got.Verdict, got.Steps))
		}
	}
	require.Empty(t, wrong, "%s\n%s", strings.Join(wrong, "\n"), e.device.Export("firewall"))
}

// cnfFlows returns the probes of a state that go through the CNF.
func cnfFlows(s *backendtest.State) []intent.Flow {
	alone := *s
	alone.LoadBalancers = nil
	return backendtest.Probes(&alone)
}

// cnfState returns a state without what a CNF does not see.
func cnfState(s *backendtest.State) *backendtest.State {
	alone := *s
	alone.LoadBalancers, alone.Nodes = nil, nil
	alone.Policies = backendtest.PoliciesFor(s, intent.Scope{})
	return &alone
}

func policiesOf(s *intent.Snapshot) (list []*intent.Policy) {
	for p := range s.Policies() {
		list = append(list, p)
	}
	return list
}
