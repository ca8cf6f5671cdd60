package scenario

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/memory/memorytest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// TestGeneratedClusters has made-up clusters with Services change on every backend, and compares the rows with the
// oracle. Scripts show one thing each; here everything meets.
func TestGeneratedClusters(t *testing.T) {
	ovn := func(nb []byte) backendtest.Factory {
		return func(t testing.TB) backendtest.Target { return ovntest.New(t, nb) }
	}
	for _, b := range []Backend{
		{Name: "memory", Fresh: memorytest.New},
		{Name: "OVN 23.03", Fresh: ovn(schema.NB2303())},
		{Name: "OVN 25.03", Fresh: ovn(schema.NB2503())},
		{Name: "Tungsten Fabric", Fresh: tungstentest.New, Partial: true},
	} {
		t.Run(b.Name, func(t *testing.T) {
			seeds.Each(t, "clusters", func(t *testing.T, seed uint64) {
				generated(t, newProcess(t, b.Fresh(t)), seed, b.Partial)
			})
		})
	}
}

func generated(t *testing.T, p *process, seed uint64, partial bool) {
	t.Helper()
	size := policygen.Size{Services: 6, Nodes: 3, Cluster: 6 * int(seed%3)}
	c := policygen.Generate(seed, size)
	rng := policygen.NewRand(seed)
	ever := map[netip.Addr]bool{}
	for step := range 6 {
		p.write(t, manifests(t, c))
		p.answers = c.Answers
		p.translate(t, false)
		p.reconcile(t)
		for _, problem := range p.source.Problems() {
			require.NotContains(t, problem.Error(), "NetworkPolicy", "seed %d step %d", seed, step)
		}
		judge, owners := p.cluster(t), map[netip.Addr]int{}
		for _, e := range p.endpoints() {
			for _, a := range e.Addrs {
				owners[a]++
				ever[a] = true
			}
		}
		for _, f := range policygen.Probes(c, rng, 150) {
			if !known(c, f.Node) || f.Src.Addr == f.Dst.Addr || partial && judge.Allowed(f).Service == "" && serves(c, f.Dst.Addr) {
				// Flows with an unknown way in, those that never reach the network, and those that reach nothing: see backendtest.Stepwise.
				continue
			}
			want, native := ofOracle(judge.Allowed(f)), ofRows(p.target.Verdict(t, policygen.IntentFlow(f)))
			// A target remembers which endpoint had an address, and only one of them.
			vague := func(c choice) bool { return owners[c.at.Addr()] != 1 && ever[c.at.Addr()] }
			if slices.ContainsFunc(want.choices, vague) {
				continue
			}
			if want.matches(native) || p.excuses(judge.Allowed(f), want, native) || partial && p.lacksPorts(policygen.IntentFlow(f), native) {
				continue
			}
			text, err := policygen.YAML(c)
			require.NoError(t, err)
			require.Failf(t, "wrong verdict", "seed %d step %d: %+v\nthe oracle says %s %q, the rows %s; skipped %q\n%s\nrows:\n%s",
				seed, step, f, want, judge.Allowed(f).Why, native, p.skips, text, p.target.Dump(t))
		}
		for range 1 + rng.IntN(3) {
			policygen.Mutate(c, rng)
		}
	}
}

// serves reports whether an address is one of a Service.
func serves(c *oracle.Cluster, a netip.Addr) bool {
	return slices.ContainsFunc(c.Services, func(s *corev1.Service) bool { return slices.Contains(s.Spec.ClusterIPs, a.String()) })
}

// known reports whether a node is in the cluster. Rows decide nothing about flows that enter at an unknown node.
func known(c *oracle.Cluster, node string) bool {
	return slices.ContainsFunc(c.Nodes, func(n *corev1.Node) bool { return n.Name == node })
}

// manifests is a cluster as the files of a directory.
func manifests(t *testing.T, c *oracle.Cluster) map[object.Ref][]byte {
	t.Helper()
	text, err := policygen.YAML(c)
	require.NoError(t, err)
	objects := map[object.Ref][]byte{}
	for doc := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "---\n") {
		var is struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &is))
		objects[object.Ref{Kind: is.Kind, Namespace: is.Metadata.Namespace, Name: is.Metadata.Name}] = []byte(doc)
	}
	return objects
}
