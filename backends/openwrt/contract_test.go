package openwrt

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

func TestContract(t *testing.T) {
	backendtest.Run(t, func(t testing.TB) backendtest.Target {
		e := newCNF(t)
		e.reload(t)
		return &contractTarget{testCNF: e, cnf: &intent.CNF{
			ID: "shop/cnf-0", Scope: intent.Scope{Namespace: "shop", Purpose: "cnf"}, Ready: true,
			Addr: netip.MustParseAddr("10.244.0.254"),
		}}
	})
}

// contractTarget is a CNF as a target under test.
type contractTarget struct {
	*testCNF
	cnf     *intent.CNF
	foreign []string
}

var (
	_ backendtest.CNF     = (*contractTarget)(nil)
	_ backendtest.Loser   = (*contractTarget)(nil)
	_ backendtest.Refuser = (*contractTarget)(nil)
)

func (c *contractTarget) CNF() *intent.CNF { return c.cnf }

func (c *contractTarget) Families() intent.Families { return intent.IPv4 }

func (c *contractTarget) Open(t testing.TB, owner string) backends.Backend {
	b, err := New(c.client, Options{Owner: owner, CNF: c.cnf.ID})
	require.NoError(t, err)
	return b
}

// lines formats the objects whose names match.
func (c *contractTarget) lines(t testing.TB, counts func(openwrt.Kind, string) bool) []string {
	t.Helper()
	var out []string
	for _, kind := range openwrt.Kinds() {
		all, err := c.client.List(t.Context(), kind)
		require.NoError(t, err)
		for _, o := range all {
			if counts(kind, o.Name()) {
				shown := section.Fields(o)
				line := fmt.Sprintf("%s %s", kind, o.Name())
				for _, f := range slices.Sorted(maps.Keys(shown)) {
					line += fmt.Sprintf(" %s=%v", f, shown[f])
				}
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (c *contractTarget) Dump(t testing.TB) string {
	return strings.Join(c.lines(t, func(openwrt.Kind, string) bool { return true }), "\n") + "\n" + c.device.Kernel()
}

func (c *contractTarget) DumpOwner(t testing.TB, owner string) string {
	names := section.NewNamer(owner)
	return strings.Join(c.lines(t, func(k openwrt.Kind, name string) bool { return names.Mine(k, name) || names.Note(name) }), "\n")
}

func (c *contractTarget) Verdict(_ testing.TB, f intent.Flow) backendtest.Verdict {
	return backendtest.Verdict{Allowed: c.device.Trace(c.packet(f)).Verdict == simulator.Accept}
}

// Prepare does nothing: a device sees packets whichever endpoint has an address.
func (c *contractTarget) Prepare(testing.TB, []intent.Endpoint, []*intent.Node) {}

func (c *contractTarget) AddForeign(t testing.TB) {
	c.put(
		t,
		openwrt.FirewallRule{Name: "by.hand", Src: "red", Proto: "tcp", DestPort: "7", Target: "ACCEPT"},
		openwrt.Proposal{Name: "n13a6_by_hand", Hash: "sha256"},
		openwrt.Route{Name: "n13a6", Dst: "192.0.2.128/25", Dev: "net4"},
	)
	c.foreign = c.lines(t, c.isForeign)
}

func (c *contractTarget) isForeign(k openwrt.Kind, name string) bool {
	return !slices.ContainsFunc([]string{"a", "b"}, func(owner string) bool {
		names := section.NewNamer(owner)
		return names.Mine(k, name) || names.Note(name)
	})
}

func (c *contractTarget) ForeignIntact(t testing.TB) bool {
	return slices.Equal(c.foreign, c.lines(t, c.isForeign))
}

func (c *contractTarget) FailAt(k int) { c.device.FailAt(k, simulator.BeforeWrite) }

func (c *contractTarget) LoseAt(k int) { c.device.FailAt(k, simulator.AfterWrite) }

func (c *contractTarget) RefuseObject(_ testing.TB, op *backends.Op) bool {
	if op == nil {
		c.device.Refuse(nil)
		return true
	}
	step := taskOf(op)
	if op.Verb == backends.Delete || op.Verb == backends.Reload || step == nil {
		return false
	}
	c.device.Refuse(func(kind, name string) bool { return kind == step.Key.Kind.String() && name == step.Key.Name })
	return true
}

func (c *contractTarget) Dangling(t testing.TB) []string {
	zones, err := c.client.List(t.Context(), openwrt.Zones)
	require.NoError(t, err)
	rules, err := c.client.List(t.Context(), openwrt.FirewallRules)
	require.NoError(t, err)
	var out []string
	for _, r := range rules {
		for _, end := range []string{"src", "dest"} {
			zone, _ := r[end].(string)
			if zone != "" && !slices.ContainsFunc(zones, func(z openwrt.Object) bool { return z.Name() == zone }) {
				out = append(out, r.Name()+" names "+zone)
			}
		}
	}
	return out
}

func (c *contractTarget) Writes(testing.TB) int {
	n := 0
	for _, q := range c.device.Requests() {
		if q.Method != http.MethodGet && !q.Login {
			n++
		}
	}
	return n
}

// harm is one kind of damage to an object.
type harm struct {
	what string
	kind openwrt.Kind
	do   func(t testing.TB, c *contractTarget, o openwrt.Object)
}

// spoil writes an object with a field changed; nil takes the field away.
func spoil(field string, v any) func(testing.TB, *contractTarget, openwrt.Object) {
	return func(t testing.TB, c *contractTarget, o openwrt.Object) {
		o = maps.Clone(o)
		o[field] = v
		if v == nil {
			delete(o, field)
		}
		_, err := c.client.Put(t.Context(), openwrt.FirewallRules, o)
		require.NoError(t, err)
	}
}

func harms() []harm {
	return []harm{
		{"a rule is deleted", openwrt.FirewallRules, func(t testing.TB, c *contractTarget, o openwrt.Object) {
			require.NoError(t, c.client.Delete(t.Context(), openwrt.FirewallRules, o.Name()))
		}},
		{"a rule is there twice", openwrt.FirewallRules, func(t testing.TB, c *contractTarget, o openwrt.Object) {
			_, err := c.client.Create(t.Context(), openwrt.FirewallRules, o)
			require.NoError(t, err)
		}},
		{"a rule accepts", openwrt.FirewallRules, spoil("target", "ACCEPT")},
		{"a rule is for another port", openwrt.FirewallRules, spoil("dest_port", "7")},
		{"a rule is for another address", openwrt.FirewallRules, spoil("src_ip", "192.0.2.66")},
		{"a rule loses its zone", openwrt.FirewallRules, spoil("dest", nil)},
		{"a rule asks for a mark", openwrt.FirewallRules, spoil("mark", "0x77")},
		{"the zone of policies goes", openwrt.Zones, func(t testing.TB, c *contractTarget, o openwrt.Object) {
			require.Equal(t, 1, c.device.RemoveSection("firewall", "zone", o.Name()))
		}},
		{"the zone of policies opens", openwrt.Zones, func(t testing.TB, c *contractTarget, o openwrt.Object) {
			o = maps.Clone(o)
			o["network"], o["input"] = []string{"net0"}, "ACCEPT"
			_, err := c.client.Put(t.Context(), openwrt.Zones, o)
			require.NoError(t, err)
		}},
	}
}

func (c *contractTarget) Damage(t testing.TB, owner string, n int) (backendtest.Damage, bool) {
	if n >= len(harms()) {
		return backendtest.Damage{}, false
	}
	h, names := harms()[n], section.NewNamer(owner)
	d := backendtest.Damage{What: h.what}
	all, err := c.client.List(t.Context(), h.kind)
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(o openwrt.Object) bool { return names.Mine(h.kind, o.Name()) })
	if i >= 0 {
		h.do(t, c, all[i])
		d.Names = []string{all[i].Name(), "firewall"}
	}
	return d, true
}
