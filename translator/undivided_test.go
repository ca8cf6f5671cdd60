package translator_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// TestUndividedRulesMeanTheSame compares the snapshots of translators with and without parts, for policies that have much in common: all but the
// parts is the same, and so are the addresses of every set that a rule names.
func TestUndividedRulesMeanTheSame(t *testing.T) {
	divided := 0
	seeds.Each(t, "undivided", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{Namespaces: 3, Pods: 20, Policies: 10, Cluster: int(seed % 3)})
		c.Policies = append(c.Policies, policygen.Alike(c, policygen.NewRand(seed), 20)...)
		with, without := translator.New(translator.Options{}), translator.New(translator.Options{Undivided: true})
		for _, o := range policygen.Objects(c) {
			put(t, with, o)
			put(t, without, o)
		}
		for range 2 {
			whole, parts := without.Snapshot(), with.Snapshot()
			var want, got []intent.Policy
			for p := range parts.Policies() {
				plain := *p
				plain.Rules = slices.Clone(p.Rules)
				for i := range plain.Rules {
					divided += len(plain.Rules[i].Parts)
					plain.Rules[i].Parts = nil
				}
				want = append(want, plain)
			}
			for p := range whole.Policies() {
				got = append(got, *p)
				for i := range p.Rules {
					for _, id := range []intent.SetID{p.Subject, p.Rules[i].Peer.Set} {
						require.Equal(t, parts.Set(id).Addrs(), whole.Set(id).Addrs(), "seed %d: %s of %s", seed, id, p.ID)
					}
				}
			}
			require.Equal(t, want, got, "seed %d", seed)
			for i, p := range c.Policies {
				if i%2 == 0 {
					with.Remove("NetworkPolicy", p.Namespace, p.Name)
					without.Remove("NetworkPolicy", p.Namespace, p.Name)
				}
			}
		}
	})
	if seeds.All() {
		require.NotZero(t, divided)
	}
}
