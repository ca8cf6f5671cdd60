package nb

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// The actions of ACLs: drop silently, allow including replies, continue with the next tier, and allow as if there were no ACL.
const (
	ActionAllow = "allow-related"
	ActionDrop  = "drop"
	ActionPass  = "pass"
	// ActionDefault allows like ActionAllow where connections are tracked, but does not cause them to be: without tracking, it lets a packet
	// on as if no ACL matched.
	ActionDefault = "allow"
)

// FirstTier is the Tier of an ACL before all tiers of policies.
const FirstTier = -1

// aclTier is the tier of ACLs if the schema has tiers, between those for administrators and for cluster-wide defaults, as
// in other OVN controllers.
const aclTier = 2

// ACL is an ACL before it has a row.
type ACL struct {
	Direction intent.Direction
	Tier      int // if the schema has tiers; 0 is that of NetworkPolicies, and FirstTier the one before all others
	Priority  int
	Action    string
	Match     string
	Severity  intent.Severity // of log lines; none is no log
	Rate      uint32          // of log lines; 0 means no meter
	Name      string
	IDs       map[string]string
	Origin    string
	BeforeLB  bool // of egress: evaluated before load balancing, when the address of a Service is still the destination
}

// UUID returns the row's UUID. An ACL is identified by what it does, and on what.
func (a *ACL) UUID(n Namer, on string) string {
	parts := []string{on, a.Direction.String(), fmt.Sprint(a.Priority), a.Action, a.Match, a.Severity.String(), fmt.Sprint(a.Rate)}
	if a.Tier != 0 {
		parts = append(parts, fmt.Sprint(a.Tier))
	}
	return n.UUID(TableACL, strings.Join(parts, "|"))
}

// Metered reports whether a meter limits the log lines.
func (a *ACL) Metered() bool { return a.Severity != intent.SeverityNone && a.Rate != 0 }

// Row returns the row of an ACL that is written together with its unit.
func (a *ACL) Row(n Namer, known ovsdb.Schema, uuid, unit string) *Row {
	ids := maps.Clone(a.IDs)
	ids[KeyOwner] = n.Owner
	ids[KeyID] = uuid
	fields := backends.Fields{
		"action": a.Action, "direction": "to-lport", "priority": a.Priority, "match": a.Match, "name": a.Name,
		"options": map[string]string{}, ColumnExternalIDs: ids,
		"log": a.Severity != intent.SeverityNone, "severity": a.Severity.String(), "meter": "", "tier": max(cmp.Or(a.Tier, aclTier), 0),
	}
	if a.Direction == intent.Egress {
		fields["direction"] = "from-lport"
		if !a.BeforeLB {
			fields["options"] = map[string]string{"apply-after-lb": "true"}
		}
	}
	if a.Metered() {
		fields["meter"] = n.Meter(a.Rate)
	}
	Restrict(known, TableACL, fields)
	return &Row{Table: TableACL, UUID: uuid, Name: a.Name, Fields: fields, Origin: a.Origin, Unit: unit}
}

// Restrict removes the columns that a schema lacks: the database may be older or newer than what is known here.
func Restrict(known ovsdb.Schema, table string, fields backends.Fields) {
	for column := range fields {
		if !known.HasColumn(table, column) {
			delete(fields, column)
		}
	}
}
