//go:build e2e

package upgrade_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/netloom/netloom/test/upgrade"
)

// TestUpAndDownOnACNF goes from each version to the current one and back. A device has no transactions: each single write is judged.
func TestUpAndDownOnACNF(t *testing.T) {
	current := upgrade.Current(t)
	for _, v := range upgrade.Versions() {
		old := v.Program(t)
		for _, seed := range worlds() {
			t.Run(fmt.Sprintf("%s world %d", v.Name(), seed), func(t *testing.T) {
				t.Parallel()
				upAndDownOnACNF(t, old, current, seed)
			})
		}
	}
}

// atOnce matches the paths of objects that take effect at once, one by one.
var atOnce = regexp.MustCompile(`/sdewan/(application|nat|networkfirewall|route|rule)/`)

func upAndDownOnACNF(t *testing.T, old, current *upgrade.Program, seed uint64) {
	t.Helper()
	addresses, packets := upgrade.OwnNetwork(t), upgrade.Packets(seed, 400)
	c := upgrade.NewCNF(t, addresses[0], packets)
	b := upgrade.NewBranch(seed, 30)
	c.Apply(t, old, b.Text(t, c.Address))
	for i, to := range []*upgrade.Program{current, old, current, old} {
		switch {
		case i > 1 && to == current:
			b.MutateTogether()
		case i > 1:
			b.Mutate()
		}
		before := len(c.Requests())
		states := c.Apply(t, to, b.Text(t, c.Address))
		what := fmt.Sprintf("step %d, to %s", i, to.Name)
		faults := upgrade.Windows(packets, states)
		t.Logf("%s: %d writes", what, len(states)-1)
		assert.Empty(t, faults[:min(len(faults), 8)], "%s: %d faults", what, len(faults))
		for _, q := range c.Requests()[before:] {
			assert.False(t, i < 2 && q.Method != http.MethodGet && atOnce.MatchString(q.Path), "%s, with the same objects: %s %s", what, q.Method, q.Path)
		}
		fresh := upgrade.NewCNF(t, addresses[1], packets)
		fresh.Apply(t, to, b.Text(t, fresh.Address))
		fresh.Stop()
		assert.Equal(t, fresh.Configuration(), c.Configuration(), what)
		if to == current { // the others leave rules that overlap in the order in which they came
			assert.Equal(t, fresh.Way(), c.Way(), what)
		}
	}
}
