package web

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/serve/web/draft"
)

// Source is what the page shows. Its methods are called from the goroutine of each request.
type Source interface {
	// Newest returns the newest state; false until there is one.
	Newest() (State, bool)
	// Targets lists the state of each target, always in the same order.
	Targets() []Target
	// Views lists what netloom sees, and how current that is known to be, always in the same order.
	Views() []View
	// Rows reads from every target the rows of an object: kind such as NetworkPolicy, namespace and name. Faults are
	// reported in the result.
	Rows(ctx context.Context, kind, namespace, name string) []TargetRows
	// Coverage reports for each target that looks pods up whether it finds one.
	Coverage(namespace, name string) []PodCoverage
	// Flows returns what ACL logs say about connections; without Logs if none is followed.
	Flows() FlowLog
}

// State is a state with its number. Two states of equal numbers are the same.
type State struct {
	world.State
	Number uint64
	At     time.Time // when it was made
	// Further are namespaces and cluster-wide policies, in any order.
	Further []runtime.Object
}

// world lists what policies select.
func (s *State) world() []runtime.Object {
	var out []runtime.Object
	for _, p := range s.Objects.Pods {
		out = append(out, p)
	}
	for _, n := range s.Objects.Nodes {
		out = append(out, n)
	}
	for _, o := range s.Further {
		if _, policy := draft.RefOf(o); !policy {
			out = append(out, o)
		}
	}
	return out
}

// policies lists all policies.
func (s *State) policies() []runtime.Object {
	var out []runtime.Object
	for _, p := range s.Objects.Policies {
		out = append(out, p)
	}
	for _, o := range s.Further {
		if _, policy := draft.RefOf(o); policy {
			out = append(out, o)
		}
	}
	return out
}

// View is something that netloom sees: the objects of a kind, those of another cluster, a directory or a target.
type View struct {
	Name      string    `json:"name"`
	Confirmed time.Time `json:"confirmed,omitzero"` // when it was last found to be current; zero is not since the start
	Late      bool      `json:"late,omitempty"`     // it is not known to be current
	Fault     string    `json:"fault,omitempty"`    // why it could not be confirmed the last time
}

// Target is the state of a target.
type Target struct {
	Name     string          `json:"name"`
	Health   Health          `json:"health"`
	Up       *bool           `json:"up,omitempty"` // whether it can be reached now; nil if that is not known
	Revision intent.Revision `json:"revision"`     // that the target was last in sync with; 0 before the first
	Wanted   intent.Revision `json:"wanted"`       // the newest that was planned
	Owned    int             `json:"ownedRows"`

	LastConverged time.Time    `json:"lastConverged,omitzero"`
	NextRetry     time.Time    `json:"nextRetry,omitzero"`
	Error         string       `json:"error,omitempty"` // why it is out of sync
	LastError     *TargetError `json:"lastError,omitempty"`
	LastPlan      *Plan        `json:"lastPlan,omitempty"`  // the last that was made, empty or not
	LastWrite     *Plan        `json:"lastWrite,omitempty"` // the last that had something to write, and was written
	// Latency is how long the target last took from the first change of a state until it was in sync with it; 0 is not
	// known.
	Latency Millis `json:"latencyMs,omitempty"`

	Writes   uint64 `json:"writes"` // plans that were written
	Failures uint64 `json:"failures"`
	Drifts   uint64 `json:"drifts"`

	CNF *CNF `json:"cnf,omitempty"` // if the target is one

	// Coverage is how many of the pods that policies select the target protects; nil if that is not known.
	Coverage *Coverage `json:"coverage,omitempty"`

	Skips     []Skip `json:"skips,omitempty"` // what the target cannot express, the first maxSkips
	MoreSkips int    `json:"moreSkips,omitempty"`
}

// Coverage is how many of the pods that policies select a target protects.
type Coverage struct {
	Selected int `json:"selected"` // with an address
	Enforced int `json:"enforced"` // of these, the ones that the target protects
	// Kept counts the pods and ports that are protected only because earlier ports are kept in place.
	Kept int `json:"kept,omitempty"`
	// Faults describes which pods are not protected, and what to try. It is empty if all are.
	Faults []string `json:"faults,omitempty"`
}

// CNF describes a target that is a CNF, a pod that runs OpenWRT.
type CNF struct {
	Scope   string `json:"scope"` // NAMESPACE/PURPOSE
	Group   string `json:"group,omitempty"`
	Node    string `json:"node,omitempty"`
	Address string `json:"address,omitempty"`
}

// Health is the state of a target, in a word.
type Health string

// The values of Health. Waiting is before the first plan. NotReady is a CNF that may not be written to now.
const (
	InSync    Health = "in sync"
	OutOfSync Health = "out of sync"
	Waiting   Health = "waiting"
	NotReady  Health = "not ready"
)

// Millis is a duration in milliseconds.
type Millis float64

// MillisOf converts a duration to milliseconds, to the microsecond.
func MillisOf(d time.Duration) Millis { return Millis(float64(d.Microseconds()) / 1000) }

// TargetError is an error of a target.
type TargetError struct {
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// Plan is the summary of a plan.
type Plan struct {
	At       time.Time       `json:"at"`
	Revision intent.Revision `json:"revision"`
	Full     bool            `json:"full"` // made from read-back of everything
	Summary  string          `json:"summary"`
	Planned  Millis          `json:"planMs"`
	Applied  Millis          `json:"applyMs,omitempty"` // 0 if nothing was written
	Ops      []Op            `json:"ops,omitempty"`     // the first of them
	MoreOps  int             `json:"moreOps,omitempty"`
}

// Op is one write to a target.
type Op struct {
	Verb   string `json:"verb"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Origin string `json:"origin,omitempty"` // the objects that caused it
}

// Skip is an intent that a target cannot express.
type Skip struct {
	Intent string `json:"intent"` // ID of a policy, a set or a device intent
	Reason string `json:"reason"`
}

// maxSkips is how many skips of a target are listed.
const maxSkips = 50

// TargetRows is the rows of an object in a target.
type TargetRows struct {
	Target string         `json:"target"`
	Error  string         `json:"error,omitempty"`  // why the rows are not known
	Counts map[string]int `json:"counts,omitempty"` // by table
	Rows   []Row          `json:"rows,omitempty"`   // the first of them
	More   int            `json:"moreRows,omitempty"`
}

// Row is a row of a target.
type Row struct {
	Table  string `json:"table"`
	Name   string `json:"name,omitempty"`
	UUID   string `json:"uuid,omitempty"`
	Rule   string `json:"rule,omitempty"` // the place in the object that it came from, such as ingress[0]
	Also   string `json:"also,omitempty"` // what else it came from
	Text   string `json:"text,omitempty"` // its content, such as a match
	Action string `json:"action,omitempty"`
}
