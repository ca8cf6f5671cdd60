package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/httpbody"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/query"
)

// devicePlansWait is how long the plans of all CNFs may take.
const devicePlansWait = time.Minute

// TargetPlan is what would have to be written to a target now, or why that cannot be told.
type TargetPlan struct {
	Target string         `json:"target"`
	Plan   *backends.Plan `json:"plan,omitempty"`
	Error  string         `json:"error,omitempty"`
	// Coverage says which of the selected pods the target knows; nil where it cannot tell.
	Coverage *backends.Report `json:"coverage,omitempty"`
}

// Plans is what would have to be written to each target now.
type Plans struct {
	Targets []TargetPlan `json:"targets"`
}

// Empty says that every target is known to need nothing.
func (p *Plans) Empty() bool {
	for i := range p.Targets {
		if t := &p.Targets[i]; t.Plan == nil || !t.Plan.Empty() {
			return false
		}
	}
	return true
}

// Write prints p for people. With color it is for a terminal.
func (p *Plans) Write(w io.Writer, color bool) error {
	for i := range p.Targets {
		t := &p.Targets[i]
		if _, err := fmt.Fprintf(w, "%s:\n", t.Target); err != nil {
			return err
		}
		if t.Plan == nil {
			if _, err := fmt.Fprintf(w, "error: %s\n", t.Error); err != nil {
				return err
			}
			continue
		}
		if err := t.Plan.Write(w, color); err != nil {
			return err
		}
		if err := t.Coverage.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// debugPlan says what would have to be written now, by connections of its own. One request at a time: each reads
// everything. With target=NAME it asks one target only, and with output=json it answers for programs.
func (d *Daemon) debugPlan(w http.ResponseWriter, r *http.Request) {
	s := d.latest(w)
	if s == nil {
		return
	}
	if !d.planning.TryLock() {
		busy(w, errBusy)
		return
	}
	defer d.planning.Unlock() // once it has been sent: there is one plan for requests at a time
	plans, err := d.planNow(r.Context(), s, r.URL.Query().Get("target"))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(httpbody.SendTime))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	case r.URL.Query().Get("output") == "json":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(plans)
	case len(plans.Targets) == 1 && plans.Targets[0].Plan != nil:
		_ = plans.Targets[0].Plan.Write(w, false)
		_ = plans.Targets[0].Coverage.Write(w)
	default:
		_ = plans.Write(w, false)
	}
}

// errBusy is the answer to all but one of the requests that come at the same time.
var errBusy = errors.New("another request is being answered with a plan; try again when it is")

// planNow makes plans: for the target of a name, "" is all. An error of the only target that is asked is one of the whole. The
// caller holds the lock for planning.
func (d *Daemon) planNow(ctx context.Context, s *intent.Snapshot, name string) (*Plans, error) {
	out := &Plans{Targets: []TargetPlan{}}
	var last error
	add := func(target string, planned Planned, err error) {
		p := TargetPlan{Target: target, Plan: planned.Plan, Coverage: planned.Coverage}
		if last = err; err != nil {
			p.Plan, p.Error = nil, err.Error()
		}
		out.Targets = append(out.Targets, p)
	}
	for _, t := range d.targets {
		if name == "" || name == t.Name {
			planned, err := DryRun(ctx, d.opts.Target, s)
			add(t.Name, planned, err)
		}
	}
	if d.sdwan != nil {
		ctx, cancel := context.WithTimeout(ctx, devicePlansWait)
		defer cancel()
		for g := range s.CNFs() {
			if target := query.CNFTarget(g); name == "" || name == target {
				plan, err := d.sdwan.Plan(ctx, g)
				add(target, Planned{Plan: plan}, err)
			}
		}
	}
	switch {
	case len(out.Targets) == 0 && name != "":
		return nil, fmt.Errorf("there is no target %s", name)
	case len(out.Targets) == 1 && last != nil:
		return nil, last
	}
	return out, nil
}
