package ovn_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestGoldenServices brings testdata/services/<case>/in.yaml to a database with a few switches and routers, of a schema
// with and of one without groups and template variables, and compares what is written.
func TestGoldenServices(t *testing.T) {
	cases, err := filepath.Glob("testdata/services/*/in.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, in := range cases {
		dir := filepath.Dir(in)
		for file, nb := range map[string][]byte{"want.rows": schema.NB2303(), "want.older.rows": withoutGroups(t)} {
			t.Run(filepath.Base(dir)+"/"+file, func(t *testing.T) {
				r := newRigOn(t, nb, "ovn-kubernetes", ovn.LoadBalancing{
					Switches: "*,!join,!blue*", Routers: "GR_*", Group: "services", Networks: ovn.AllNetworks,
				})
				r.addRouter(t, "GR_n1")
				r.addRouter(t, "GR_n2")
				r.addRouter(t, "blue")
				r.addSwitch(t, "join", "GR_n1", "GR_n2")
				r.addSwitch(t, "n1")
				r.addSwitch(t, "n2")
				r.addSwitch(t, "blue1", "blue")
				snap := translated(t, in)
				p := r.plan(t, snap)
				got := loadBalancersText(p)
				want := filepath.Join(dir, file)
				if *update {
					require.NoError(t, os.WriteFile(want, []byte(got), 0o600))
				}
				text, err := os.ReadFile(want)
				require.NoError(t, err)
				require.Equal(t, string(text), got, "rewrite with -update")
				r.reconcile(t, snap)
				requireNothing(t, r, snap)
			})
		}
	}
}

// loadBalancersText formats the ops of a plan for load balancers, and what it skips.
func loadBalancersText(p *backends.Plan) string {
	var lines []string
	for i := range p.Ops {
		op := &p.Ops[i]
		text := fmt.Sprintf("%s %s %q\n", op.Verb, op.Kind, op.Name)
		switch op.Kind {
		case "Port_Group":
			continue
		case "ACL":
			text += fmt.Sprintf("    %v %v %v %v\n    %v\n", op.After["direction"], op.After["priority"], op.After["action"], op.After["options"], op.After["match"])
		default:
			for _, column := range slices.Sorted(maps.Keys(op.After)) {
				if column != "name" {
					text += columnText(column, op.After[column])
				}
			}
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	for _, s := range p.Skips {
		lines = append(lines, fmt.Sprintf("skip %s: %s\n", s.Intent, s.Reason))
	}
	return strings.Join(lines, "")
}

func columnText(column string, value any) string {
	switch v := value.(type) {
	case map[string]string:
		text := ""
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != ovn.KeyOwner && key != ovn.KeyID {
				text += fmt.Sprintf("    %s %s = %q\n", column, key, v[key])
			}
		}
		return text
	case []string:
		text := ""
		for _, e := range v {
			text += fmt.Sprintf("    %s %s\n", column, e)
		}
		return text
	default:
		return fmt.Sprintf("    %s %v\n", column, v)
	}
}
