package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/serve/httpbody"
)

// TargetPlan is what would be written to a target now, or why that is not known.
type TargetPlan struct {
	Target string         `json:"target"`
	Plan   *backends.Plan `json:"plan,omitempty"`
	Error  string         `json:"error,omitempty"`
	// Coverage lists which of the selected pods the target knows; nil if it cannot report that.
	Coverage *backends.Report `json:"coverage,omitempty"`
}

// Plans is what would be written to each target now.
type Plans struct {
	Targets []TargetPlan `json:"targets"`
}

// Empty reports whether every target is known to need no writes.
func (p *Plans) Empty() bool {
	for i := range p.Targets {
		if t := &p.Targets[i]; t.Plan == nil || !t.Plan.Empty() {
			return false
		}
	}
	return true
}

// Write prints p, with color for a terminal.
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

// plan responds with what would be written now, read over separate connections. One request at a time: each reads
// everything. With target=NAME it plans for one target only, and with output=json it responds for programs.
func (h *Handler) plan(w http.ResponseWriter, r *http.Request) {
	s := h.latest(w)
	if s == nil {
		return
	}
	if !h.planning.TryLock() {
		busy(w, errBusy)
		return
	}
	defer h.planning.Unlock() // once it has been sent: only one plan exists at a time
	plans, err := h.state.Plan(r.Context(), s, r.URL.Query().Get("target"))
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

// errBusy is the answer to all but one of several simultaneous requests.
var errBusy = errors.New("a plan is being made for another request; try again when that is done")
