package network_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/seeds"
)

// separated is a random cluster with networks: of ovn-kubernetes, or of kube-ovn. The namespace of each pod decides which it is on.
type separated struct {
	manifests string
	pods      []string
	network   map[string]int  // by namespace; 0 is the default one
	private   map[string]bool // by namespace: only its own pods, and those of admitted, reach its pods
	admitted  map[string]string
	closed    map[string]bool // by namespace: a policy that only admits pods "a" of all namespaces
}

func separate(rng *rand.Rand) *separated {
	out := &separated{network: map[string]int{}, private: map[string]bool{}, admitted: map[string]string{}, closed: map[string]bool{}}
	var b strings.Builder
	users := rng.IntN(2) == 0
	namespaces := 2 + rng.IntN(6)
	for i := range namespaces {
		name := fmt.Sprintf("ns%d", i)
		labelled := users && rng.IntN(3) > 0
		if labelled {
			b.WriteString("labelled " + name + "\n")
			out.network[name] = i + 1
			switch rng.IntN(2) {
			case 0:
				b.WriteString(of(name))
			default: // one network for this namespace and each other that was drawn so
				out.network[name] = -1
			}
		}
		for _, pod := range []string{"a", "b"} {
			out.pods = append(out.pods, name+"/"+pod)
			fmt.Fprintf(&b, "pod %s/%s\n", name, pod)
		}
		if out.closed[name] = rng.IntN(4) == 0; out.closed[name] {
			fmt.Fprintf(&b, "---\n{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p, namespace: %s}, "+
				"spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: a}}}]}]}}\n---\n", name)
		}
	}
	if !users {
		out.subnets(rng, &b, namespaces)
	}
	var tenants []string
	for name, n := range out.network {
		if n == -1 {
			tenants = append(tenants, name)
		}
	}
	if len(tenants) > 0 {
		fmt.Fprintf(&b, "---\n{apiVersion: k8s.ovn.org/v1, kind: ClusterUserDefinedNetwork, metadata: {name: tenant}, spec: {namespaceSelector: "+
			"{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [%s]}]}, network: {topology: Layer2, layer2: {role: Primary, subnets: [10.9.0.0/16]}}}}\n---\n",
			strings.Join(tenants, ", "))
	}
	out.manifests = b.String()
	return out
}

// subnets gives some namespaces a Subnet of kube-ovn.
func (s *separated) subnets(rng *rand.Rand, b *strings.Builder, namespaces int) {
	for i := range namespaces {
		name := fmt.Sprintf("ns%d", i)
		spec := ""
		switch rng.IntN(4) {
		case 0:
			s.network[name] = i + 1
			spec = "vpc: v" + name
			fmt.Fprintf(b, "---\n{apiVersion: kubeovn.io/v1, kind: Vpc, metadata: {name: v%s}, spec: {}}\n---\n", name)
		case 1:
			s.private[name], spec = true, "private: true"
			if rng.IntN(2) == 0 {
				other := rng.IntN(namespaces)
				s.admitted[name] = fmt.Sprintf("ns%d", other)
				spec += fmt.Sprintf(", allowSubnets: [10.20.%d.0/24]", other)
			}
		case 2:
			spec = "gatewayType: distributed"
		case 3: // its pods are in the default Subnet, or in one with others
			spec = "private: false"
		}
		fmt.Fprintf(b, "---\n{apiVersion: kubeovn.io/v1, kind: Subnet, metadata: {name: s%d}, spec: {cidrBlock: 10.20.%d.0/24, namespaces: [%s], %s}}\n---\n", i, i, name, spec)
	}
}

// allows is the documentation in code.
func (s *separated) allows(from, to string) bool {
	sender, name, _ := strings.Cut(from, "/")
	receiver, _, _ := strings.Cut(to, "/")
	switch {
	case s.network[sender] != s.network[receiver]:
		return false
	case s.closed[receiver]:
		return name == "a"
	case s.private[receiver]:
		return sender == receiver || s.admitted[receiver] == sender
	}
	return true
}

// TestAnswersAgreeOnNetworks compares probe and the list of connections with the documentation, in random clusters with networks.
func TestAnswersAgreeOnNetworks(t *testing.T) {
	verdicts := map[bool]int{}
	seeds.Each(t, "networks", func(t *testing.T, seed uint64) {
		s := separate(rand.New(rand.NewPCG(seed, 0)))
		w := load(t, s.manifests)
		report := connections.Of(w, connections.Filter{})
		listed := pairsOf(&report)
		for _, from := range s.pods {
			for _, to := range s.pods {
				if from == to {
					continue
				}
				answers, err := probe.Of(w, question.Question{From: from, To: to, Port: "80"}, question.Where{})
				require.NoError(t, err)
				require.Empty(t, answers[0].Doubts, "seed %d: %s -> %s", seed, from, to)
				want := s.allows(from, to)
				verdicts[want]++
				require.Equal(t, want, answers[0].Verdict == probe.Allow, "seed %d: %s -> %s\n%s", seed, from, to, s.manifests)
				require.Equal(t, want, listed[[2]string{from, to}], "seed %d: the list has %s -> %s\n%s", seed, from, to, s.manifests)
			}
		}
		requireAgreement(t, w)
	})
	if seeds.All() {
		require.Greater(t, verdicts[true], 300)
		require.Greater(t, verdicts[false], 300)
	}
}

// pairsOf lists the pairs of pods between which anything passes.
func pairsOf(r *connections.Report) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, c := range r.Connections {
		for _, from := range r.Groups[c.From-1].Ends {
			for _, to := range r.Groups[c.To-1].Ends {
				out[[2]string{from.Name, to.Name}] = true
			}
		}
	}
	return out
}

// requireAgreement compares what the classes of pods and places outside let pass with the evaluation of single connections.
func requireAgreement(t *testing.T, w *world.World) {
	t.Helper()
	var pods []intent.Endpoint
	for _, e := range w.Endpoints() {
		pods = append(pods, intent.Endpoint{Key: e.Key, Addrs: e.AllAddrs()})
	}
	held := func(a netip.Addr) bool { return len(w.PodsAt(a)) > 0 }
	places := append(reach.PlacesOf(pods), reach.Outside(held, w.Snapshot())...)
	classes := reach.Classify(places, w.Snapshot())
	for _, from := range classes {
		for _, to := range classes {
			a, b := from.Places[0], to.Places[0]
			if from == to || a.Standing.IsValid() && b.Standing.IsValid() || a.Party.Addr.Is4() != b.Party.Addr.Is4() {
				continue
			}
			v := w.Snapshot().Evaluate(intent.Flow{Src: a.Party, Dst: b.Party, Protocol: intent.TCP, Port: 80})
			require.Equal(t, v.Allowed, from.Traffic(0, to).Has(intent.TCP, 80), "%v -> %v", a, b)
		}
	}
	require.True(t, slices.ContainsFunc(classes, func(c *reach.Class) bool { return c.Places[0].Standing.IsValid() }))
}
