package web

import (
	"fmt"
	"net/http"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/suggest"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/serve/web/draft"
)

// maxWanted is for how many connections policies are suggested at once.
const maxWanted = 100

// Suggestion is the least policies that allow a connection.
type Suggestion struct {
	Question string `json:"question"`
	Manifest string `json:"manifest"` // "" if nothing is missing, or if no NetworkPolicy can allow it
	Already  int    `json:"alreadyAllowed"`
	// Refused are the connections that no NetworkPolicy can allow.
	Refused []suggest.Refusal `json:"refused,omitempty"`
	// Beyond is what the policies would change besides what was asked.
	Beyond []suggest.Effect `json:"beyond,omitempty"`
	More   int              `json:"moreBeyond,omitempty"`
	// Unknown is what is not evaluated and decides on connections too.
	Unknown []string `json:"unknown,omitempty"`
}

// suggestion writes what netloom suggest would.
func (h *Handler) suggestion(r *http.Request, b *board) (any, error) {
	asked, err := questionOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	if err := b.comparable(); err != nil {
		return nil, err
	}
	wanted, err := question.Connections(b.inventory(), asked, question.Where{})
	if err != nil {
		return nil, err
	}
	if len(wanted) > maxWanted {
		return nil, fmt.Errorf("%d connections are more than the limit of %d: use a narrower pattern", len(wanted), maxWanted)
	}
	s, err := suggest.For(b.state.State, wanted, func(policies []*networkingv1.NetworkPolicy) (world.State, error) {
		var edit draft.Edit
		for _, p := range policies {
			edit.Put = append(edit.Put, p)
		}
		return h.edited(b, edit)
	})
	if err != nil {
		return nil, err
	}
	out := &Suggestion{Question: asked.String(), Already: s.Already, Refused: s.Refused, Beyond: s.Beyond, More: s.More, Unknown: b.unread()}
	if len(s.Policies) > 0 {
		out.Manifest, err = suggest.Manifest(s.Policies)
	}
	return out, err
}

// States are compared on request for at most this many pods, in at most this many classes: draft's BenchmarkEdit takes five
// seconds for as many pods, and the pairs of classes that an edit concerns are compared one by one.
const (
	maxCompared        = 50_000
	maxComparedClasses = 10_000
)

// comparable fails if the state is too large to be compared with another while a client waits.
func (b *board) comparable() error {
	const limit = "%d %s are more than the limit of %d for a comparison here: use netloom impact or netloom suggest"
	if n := b.state.View.EndpointCount(); n > maxCompared {
		return fmt.Errorf(limit, n, "pods", maxCompared)
	}
	if n := len(b.ground().classes); n > maxComparedClasses {
		return fmt.Errorf(limit, n, "classes of pods that policies treat alike", maxComparedClasses)
	}
	return nil
}

// edited is the state of a board with edited policies.
func (h *Handler) edited(b *board, edit draft.Edit) (world.State, error) {
	return draft.Make(b.state.State, b.state.world(), edit, h.opts.Translation)
}
