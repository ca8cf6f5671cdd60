package probe_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// probesPerCluster is how many questions are asked about each cluster.
const probesPerCluster = 300

// TestProbeMatchesOracle asks, in words, about random clusters, and compares the verdict, the policies that isolate,
// the rules that allow and the endpoints of Services with what the oracle says.
func TestProbeMatchesOracle(t *testing.T) {
	served := 0
	seeds.Each(t, "query", func(t *testing.T, seed uint64) {
		size := policygen.Size{Odd: seed%3 == 0}
		if seed%2 == 1 {
			size.Services, size.Nodes = 8, 3
		}
		if seed%4 < 3 {
			size.Cluster = 6
		}
		cluster := policygen.Generate(seed, size)
		cluster.Answers = nil // no DNS here
		inv := world.New(answerstest.StateOf(t, policygen.Objects(cluster)))
		frozen := cluster.Freeze()
		for _, asked := range policygen.Probes(cluster, policygen.NewRand(seed), probesPerCluster) {
			f, ok := known(cluster, asked)
			if !ok || f.Dst.Addr.Is4In6() || f.Src.Addr.Is4In6() {
				continue
			}
			want := frozen.Allowed(f)
			if want.Service != "" {
				served++
			}
			got, err := answerTo(inv, asked, f)
			require.NoError(t, err, "seed %d: %+v", seed, f)
			require.Equal(t, spellWanted(want), spellAnswer(got), "seed %d: %+v: %v", seed, f, want.Why)
		}
	})
	if seeds.All() {
		require.NotZero(t, served, "no flow went to a Service")
	}
}

// known is the flow as a question understands it: an address of one pod is that pod, and so is on its node; one of a node is the node itself. A
// flow from an address of several pods is skipped, since the oracle does not say where it enters.
func known(c *oracle.Cluster, f oracle.Flow) (oracle.Flow, bool) {
	if f.Src.Pod != "" {
		f.Node = ""
		return f, true
	}
	var pods []string
	for _, p := range c.Pods {
		if p.Spec.HostNetwork || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
			continue
		}
		for _, ip := range p.Status.PodIPs {
			if a, err := netip.ParseAddr(ip.IP); err == nil && a == f.Src.Addr {
				pods = append(pods, p.Namespace+"/"+p.Name)
			}
		}
	}
	if len(pods) == 1 {
		f.Src.Pod, f.Node = pods[0], ""
	}
	if len(pods) == 0 {
		for _, n := range slices.Backward(c.Nodes) {
			for _, a := range n.Status.Addresses {
				if a.Address == f.Src.Addr.String() {
					f.Node, f.OwnNode = n.Name, true
				}
			}
		}
	}
	return f, len(pods) < 2
}

// answerTo asks in words and returns what the answer says of the very addresses of f, which is the same flow with all
// that is known of it. An expectation of that answer must be met.
func answerTo(inv *world.World, asked, f oracle.Flow) (*probe.Flow, error) {
	name := func(e oracle.End) string {
		if e.Pod != "" {
			return e.Pod
		}
		return e.Addr.String()
	}
	port := strings.ToLower(string(f.Protocol))
	if f.Protocol != oracle.ICMP {
		port += fmt.Sprintf("/%d", f.Port)
	}
	q, err := question.Parse(name(asked.Src) + " -> " + name(asked.Dst) + " " + port)
	if err != nil {
		return nil, err
	}
	answers, err := probe.Of(inv, q, question.Where{Node: f.Node, Network: f.Network})
	if err != nil {
		return nil, err
	}
	met := probe.Check(inv, &probe.Expectations{List: []probe.Expectation{{
		From: probe.Words{q.From}, To: probe.Words{q.To}, Ports: probe.Words{q.Port}, Expect: answers[0].Verdict,
		Node: f.Node, Network: f.Network,
	}}})
	if met.Passed != 1 {
		return nil, fmt.Errorf("the answer is no expectation that is met: %+v", met)
	}
	for i := range answers[0].Flows {
		flow := &answers[0].Flows[i]
		if flow.Source == f.Src.Addr.String() && strings.HasPrefix(flow.Destination, f.Dst.Addr.String()+" ") {
			return flow, nil
		}
	}
	return nil, fmt.Errorf("no answer is about these addresses: %+v", answers)
}

// spellWanted formats what the oracle says of a flow.
func spellWanted(v oracle.Verdict) []string {
	out := []string{fmt.Sprintf("allowed %v refused %v service %q", v.Allowed, v.Refused, v.Service)}
	for _, b := range v.Backends {
		out = append(out, fmt.Sprintf("%s %v %v", netip.AddrPortFrom(b.Addr, uint16(b.Port)), b.EgressAllowed, b.IngressAllowed))
	}
	if v.Service != "" {
		return out
	}
	for _, why := range v.Why {
		why = strings.ReplaceAll(why, "from the pod's own node", "allowed by its own node")
		why = strings.ReplaceAll(why, "Baseline tier: ", "baseline tier: ")
		why = strings.ReplaceAll(why, "Admin tier: ", "admin tier: ")
		if side, rule, passed := strings.Cut(why, " tier: Pass by "); passed {
			direction, _, _ := strings.Cut(side, ":")
			why = direction + ": Pass by " + rule
		}
		if !slices.Contains(out, why) {
			out = append(out, why)
		}
	}
	slices.Sort(out)
	return out
}

// spellAnswer formats an answer in the oracle's words.
func spellAnswer(f *probe.Flow) []string {
	allowed, refused, service := f.Verdict == probe.Allow, f.Verdict == probe.Refuse, ""
	if f.Service != nil {
		service = strings.TrimPrefix(f.Service.Service, "Service/")
	}
	out := []string{fmt.Sprintf("allowed %v refused %v service %q", allowed, refused, service)}
	if f.Service != nil {
		for _, b := range f.Service.Choices {
			out = append(out, fmt.Sprintf("%s %v %v", b.Address, b.Egress.Verdict == probe.Allow, b.Ingress.Verdict == probe.Allow))
		}
		return out
	}
	if f.Egress.Itself {
		return append([]string{"a pod may talk to itself"}, out...)
	}
	for _, side := range []struct {
		name string
		*probe.Side
	}{{"egress", f.Egress}, {"ingress", f.Ingress}} {
		for _, r := range side.PassedBy {
			out = append(out, side.name+": Pass by "+clusterWide(r))
		}
		switch {
		case side.Tier != "" && side.Verdict == probe.Allow:
			out = append(out, side.name+": "+side.Tier+" tier: Accept by "+clusterWide(side.AllowedBy[0]))
		case side.Tier != "":
			out = append(out, side.name+": "+side.Tier+" tier: Deny by "+clusterWide(side.DeniedBy[0]))
		case len(side.IsolatedBy)+len(side.AllowedBy) == 0:
			out = append(out, side.name+": not isolated")
		case side.Verdict == probe.Allow:
			for _, r := range side.AllowedBy {
				line := side.name + ": allowed by its own node"
				if policy, ok := strings.CutPrefix(r.Policy, "NetworkPolicy/"); ok {
					line = side.name + ": allowed by " + policy + " " + r.Path
				}
				if !slices.Contains(out, line) {
					out = append(out, line)
				}
			}
		default:
			for _, p := range side.IsolatedBy {
				out = append(out, side.name+": isolated by "+strings.TrimPrefix(p, "NetworkPolicy/"))
			}
		}
	}
	slices.Sort(out)
	return out
}

// clusterWide formats a rule of a cluster-wide policy in the oracle's words.
func clusterWide(r world.Rule) string { return strings.Replace(r.Policy, "/", " ", 1) + " " + r.Path }
