package ovn

import (
	"cmp"
	"context"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// priorityObserving is below that of every other ACL of a tier: what decides always comes first.
const priorityObserving = 0

// stagedLogRate is how many lines per second the ACLs that log for staged policies write, in each direction, if the settings have no limit.
const stagedLogRate = 100

// gathered lists the sets that have the subjects of many policies, and ACLs of their own.
func gathered() []intent.SetID {
	var out []intent.SetID
	for _, d := range intent.Directions() {
		out = append(out, intent.IsolatedSet(d), intent.StagedSet(d))
	}
	return out
}

// logStaged logs the new connections of a direction that staged policies are about, and decides nothing (ADR 37). With tiers, the ACL passes
// in the tier before those of all policies, after every other ACL there. Without tiers, it is evaluated after all other ACLs, and does what OVN does where
// none matches; where the database drops that, there is none.
//
// ct.new keeps replies and packets of established connections out of the log. It matches nothing on a switch that does not track
// connections.
func (r *renderer) logStaged(to *draft, d intent.Direction) {
	action := nb.ActionPass
	if !hasTiers(r.schema) {
		if r.dropsByDefault {
			r.skips = append(r.skips, backends.Skip{Intent: string(to.subject), InEffect: true, Reason: "without ACL tiers, and with " +
				optionDropsByDefault + " in NB_Global, an ACL that logs would decide: these connections are not observed"})
			return
		}
		action = nb.ActionDefault
	}
	origin := nb.OriginStaged + d.String()
	r.add(to, nb.ACL{
		Direction: d, Tier: nb.FirstTier, Priority: priorityObserving, Action: action,
		Match:    subjectMatch(d, r.names.PortGroup(to.subject)) + " && ip && ct.new",
		Severity: intent.SeverityInfo, Rate: cmp.Or(r.rate, stagedLogRate),
		Name: StagedLogName(d), IDs: map[string]string{nb.KeyDirection: d.String(), nb.KeyTitle: origin}, Origin: origin,
	})
}

// StagedLogName is the name of the ACL that logs the connections of a direction that staged policies are about.
func StagedLogName(d intent.Direction) string { return "netloom staged " + d.String() }

// optionDropsByDefault is the option of NB_Global with which OVN drops what no ACL matches (ovn-nb(5)).
const optionDropsByDefault = "default_acl_drop"

const columnOptions = "options"

// changesDefault reports whether a change of NB_Global may have changed what OVN does where no ACL matches. If it now drops, the ACL that
// observes has to be removed at once: it would allow what OVN drops.
func changesDefault(change *ovsdb.RowChange) bool {
	_, ok := ovsdb.StringMap(change.Columns[columnOptions])[optionDropsByDefault]
	return ok
}

// dropsByDefault reports whether the database drops what no ACL matches. A value that ovn-northd does not understand is false there.
func (d *database) dropsByDefault(ctx context.Context) (bool, error) {
	if !d.schema.HasColumn(tableGlobal, columnOptions) {
		return false, nil
	}
	rows, err := d.client.Select(ctx, tableGlobal, nil, columnOptions)
	if err != nil {
		return false, fmt.Errorf("read the options of the database: %w", err)
	}
	for _, row := range rows {
		if ovsdb.StringMap(row[columnOptions])[optionDropsByDefault] == "true" {
			return true, nil
		}
	}
	return false, nil
}
