package scenario

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/memory/memorytest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// zones are a process for each node, each with a target of its own in which only the pods of that node have ports.
type zones map[string]*process

// TestGeneratedZones has made-up clusters change where each node has a target of its own. A flow passes when the rows of
// its source's node let it out and those of its destination's node let it in; that has to be what the oracle says.
func TestGeneratedZones(t *testing.T) {
	for _, b := range []Backend{
		{Name: "memory", Fresh: memorytest.New},
		{Name: "OVN 23.03", Fresh: func(t testing.TB) backendtest.Target { return ovntest.New(t, schema.NB2303()) }},
		{Name: "OVN 25.03", Fresh: func(t testing.TB) backendtest.Target { return ovntest.New(t, schema.NB2503()) }},
	} {
		t.Run(b.Name, func(t *testing.T) {
			seeds.Each(t, "nodes", func(t *testing.T, seed uint64) {
				c := policygen.Generate(seed, policygen.Size{Services: 6, Nodes: 3})
				zones{}.live(t, b, c, seed)
			})
		})
	}
}

// grow gives nodes that have come a target.
func (z zones) grow(t *testing.T, b Backend, c *oracle.Cluster) {
	t.Helper()
	for _, n := range c.Nodes {
		if z[n.Name] == nil {
			p := newProcess(t, b.Fresh(t))
			p.node = n.Name
			p.restart(t)
			z[n.Name] = p
		}
	}
}

// live follows a cluster through some changes.
func (z zones) live(t *testing.T, b Backend, c *oracle.Cluster, seed uint64) {
	t.Helper()
	rng := policygen.NewRand(seed)
	for step := range 6 {
		z.grow(t, b, c)
		objects := manifests(t, c)
		var judge *oracle.Frozen
		homes := map[netip.Addr][]intent.Endpoint{}
		for _, p := range z {
			p.write(t, objects)
			p.translate(t, false)
			p.reconcile(t)
			judge = p.cluster(t)
			for _, e := range p.endpoints() {
				for _, a := range e.Addrs {
					homes[a] = append(homes[a], e)
				}
			}
		}
		compared := 0
		for _, f := range policygen.Probes(c, rng, 150) {
			if z[f.Node] == nil || !known(c, f.Node) || f.Src.Addr == f.Dst.Addr || len(homes[f.Src.Addr]) > 1 {
				continue // the sender and its node are unknown
			}
			want := ofOracle(judge.Allowed(f))
			vague := func(c choice) bool { return len(homes[c.at.Addr()]) != 1 }
			if len(homes[f.Dst.Addr]) > 1 || slices.ContainsFunc(want.choices, vague) {
				continue
			}
			native := z.judge(t, policygen.IntentFlow(f), homes)
			if p := z[f.Node]; want.matches(native) || p.excuses(judge.Allowed(f), want, native) {
				compared++
				continue
			}
			text, err := policygen.YAML(c)
			require.NoError(t, err)
			require.Failf(t, "wrong verdict", "seed %d step %d: %+v\nthe oracle says %s %q, the rows %s; skipped %q\n%s\nrows:\n%s",
				seed, step, f, want, judge.Allowed(f).Why, native, z[f.Node].skips, text, z[f.Node].target.Dump(t))
		}
		require.Greater(t, compared, 20)
		for range 1 + rng.IntN(3) {
			policygen.Mutate(c, rng)
		}
	}
}

// judge follows a flow from the node where it enters to the node of its receiver, where the sender is only known by its
// address.
func (z zones) judge(t *testing.T, f intent.Flow, homes map[netip.Addr][]intent.Endpoint) judgement {
	t.Helper()
	elsewhere := func(to netip.AddrPort) bool { // whether to's node keeps it out
		e := homes[to.Addr()]
		if len(e) == 0 || e[0].Node == f.Node {
			return false
		}
		in := f
		in.Src, in.Node = intent.Party{Addr: f.Src.Addr}, e[0].Node
		in.Dst, in.Port = intent.Party{Key: e[0].Key, Addr: to.Addr()}, to.Port()
		return !z[e[0].Node].target.Verdict(t, in).Allowed
	}
	out := f
	if e := homes[f.Dst.Addr]; len(e) > 0 && e[0].Node != f.Node {
		out.Dst = intent.Party{Addr: f.Dst.Addr}
	}
	v := z[f.Node].target.Verdict(t, out)
	for at, allowed := range v.Backends {
		v.Backends[at] = allowed && !elsewhere(at)
	}
	if len(v.Backends) == 0 && elsewhere(netip.AddrPortFrom(f.Dst.Addr, f.Port)) {
		v.Allowed = false
	}
	return ofRows(v)
}
