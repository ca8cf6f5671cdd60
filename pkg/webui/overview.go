package webui

import (
	"net/http"
	"time"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/query"
)

// maxProblems is how many problems are listed.
const maxProblems = 100

// Overview is a state at a glance.
type Overview struct {
	Cluster       string           `json:"cluster,omitempty"`
	Revision      intent.Revision  `json:"revision"`
	Number        uint64           `json:"number"`
	At            time.Time        `json:"at"` // when the snapshot was made
	Pods          int              `json:"pods"`
	Policies      int              `json:"policies"`
	Sets          int              `json:"sets"`
	Services      int              `json:"services"`
	Problems      []object.Problem `json:"problems"`
	MoreProblems  int              `json:"moreProblems,omitempty"`
	CNFs          int              `json:"cnfs,omitempty"`
	DeviceIntents int              `json:"deviceIntents,omitempty"`
	// Unknown lists what is not known because it cannot be read.
	Unknown []string `json:"unknown,omitempty"`
}

func (h *Handler) overview(_ *http.Request, b *board) (any, error) {
	s := &b.state
	out := &Overview{
		Cluster: s.Cluster, Revision: s.Snapshot.Revision(), Number: s.Number, At: s.At, Pods: s.View.EndpointCount(),
		Policies: len(b.policyList()), Sets: s.Snapshot.SetCount(), Services: len(s.Objects.Services),
		Problems: []object.Problem{}, Unknown: query.Unknown(s.Snapshot),
	}
	for range s.Snapshot.CNFs() {
		out.CNFs++
	}
	for range s.Snapshot.DeviceIntents() {
		out.DeviceIntents++
	}
	shown, more := cut(s.Problems, maxProblems)
	out.Problems, out.MoreProblems = append(out.Problems, shown...), more
	return out, nil
}
