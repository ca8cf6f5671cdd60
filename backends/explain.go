package backends

import (
	"context"
	"errors"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// RowTracer is a backend whose target records the source objects of what it holds, such as the rows of a database.
type RowTracer interface {
	// Trails finds rows that netloom wrote, by a name, an ID or the first characters of an ID, for any owner. It
	// queries the target. The error is ErrNoRow if there is nothing, and ErrUnreachable while there is no connection.
	Trails(ctx context.Context, what string) ([]Trail, error)
}

// ErrNoRow is wrapped in the error of RowTracer.Trails if netloom has written no row with that name or ID.
var ErrNoRow = errors.New("no row of netloom's")

// Trail leads from a row of a target back to the source objects.
type Trail struct {
	Table string `json:"table"`
	UUID  string `json:"uuid"`
	Name  string `json:"name,omitempty"`
	Owner string `json:"owner,omitempty"` // "" if the row does not name it
	Title string `json:"title,omitempty"` // what the row represents
	// Origins are the source objects that need the row, with the rule where one is known, sorted.
	Origins []string       `json:"origins"`
	Row     map[string]any `json:"row"` // its columns
}

// RowReader is a backend that can read back what its target holds for an object.
type RowReader interface {
	// ReadRows reads the rows that came from an object or that it shares with others, and the groups and sets that they name,
	// sorted. It queries the target.
	ReadRows(ctx context.Context, of object.Ref) ([]Row, error)
}

// Row is a row that a target holds for an object.
type Row struct {
	Table  string
	Name   string // "" if the table has no names
	UUID   string
	Rule   string // such as ingress[0]
	Also   string // further objects and rules that share it
	Text   string // its match, or what it represents
	Action string // its direction, priority and action
}

// RowCounter is a backend that can count the rows of a policy.
type RowCounter interface {
	// CountRows counts the rows of the policies of an origin in the target as it is, without those that all policies share. It does not
	// query the target, and any goroutine may call it.
	CountRows(want *intent.Snapshot, of intent.Origin) int
}

// PortFinder is a backend that depends on ports that something else creates in its target.
type PortFinder interface {
	// HasPort reports whether a port of that name has been seen. Any goroutine may call it.
	HasPort(name string) bool
}

// Explainer explains what policies become in a target, without querying one.
type Explainer interface {
	// Terms returns the common names of the target and of a row of a policy, such as OVN and ACL.
	Terms() (target, row string)
	// PolicyRows lists the rows that the policies of an origin become, by rule, without those that all policies share.
	PolicyRows(want *intent.Snapshot, of intent.Origin) []PolicyRow
	// DecidingRows lists the rows that carry out a decision on a flow in one direction: those of the rules that allow it or,
	// if none does, those that drop it. By lists the rules that decided.
	DecidingRows(want *intent.Snapshot, f *intent.Flow, d intent.Direction, by []intent.RuleRef) []DecidingRow
	// Skips lists what no target of the kind can express, whatever else it has: see Plan.Skips.
	Skips(want *intent.Snapshot) []Skip
	// Estimate estimates what all policies cost a data plane.
	Estimate(want *intent.Snapshot) Estimate
}

// PolicyRow is a row that a policy needs, alone or with others.
type PolicyRow struct {
	Rule     string `json:"rule"` // such as spec.ingress[0]
	Name     string `json:"name"`
	Priority int    `json:"priority"`
	Action   string `json:"action"`
	Match    string `json:"match"`
	// Flows is roughly how many OpenFlow flows it costs each node, by its name; endpoints of an unknown node are under "". Nil means
	// that they are not counted.
	Flows map[string]int `json:"flows,omitempty"`
}

// DecidingRow is a row that decides on a flow.
type DecidingRow struct {
	Table string
	Name  string
	UUID  string // the same in every target
	For   string // the rule or isolation that it implements
}

// Estimate is what the policies of a snapshot cost a data plane. Load balancers are not counted.
type Estimate struct {
	ACLs int
	// Flows is roughly how many OpenFlow flows the ACLs cost each node, by its name; endpoints of an unknown node are under "".
	Flows map[string]int
}
