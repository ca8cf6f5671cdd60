package ovn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestLogNamesLeadBack plans a policy that logs, and looks up the name of every ACL that has a severity.
func TestLogNamesLeadBack(t *testing.T) {
	want := translated(t, "testdata/logging/in.yaml")
	target := ovntest.New(t, schema.NB2303())
	for set := range want.Sets() {
		if set.Members != nil {
			target.Prepare(t, slices.SortedFunc(set.Members.All(), byKey), nil)
		}
	}
	plan, err := target.Open(t, "netloom").Plan(t.Context(), want, 0)
	require.NoError(t, err)
	names := ovn.LogNames(want)
	logged := 0
	for i := range plan.Ops {
		row := plan.Ops[i].After
		if plan.Ops[i].Kind != "ACL" || fmt.Sprint(row["severity"]) == "" || row["severity"] == nil {
			continue
		}
		name := fmt.Sprint(row["name"])
		logged++
		ids := row["external_ids"].(map[string]string)
		found := slices.ContainsFunc(names[name], func(r intent.RuleRef) bool {
			p := want.Policy(r.Policy)
			rule := "isolation"
			if r.Rule >= 0 {
				rule = p.Rules[r.Rule].Path
			}
			return p.Origin.Name == ids["netloom.io/name"] && rule == ids["netloom.io/rule"] && p.Direction.String() == ids["netloom.io/direction"]
		})
		require.True(t, found, "%q: %v", name, ids)
	}
	require.Positive(t, logged)
}
