package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/httpbody"
	"github.com/netloom/netloom/pkg/serve/web/draft"
)

const (
	maxEffects   = 200 // of an edit
	maxGroupPods = 20  // of an end of an effect
)

// WhatIf is what an edit of policies would open and close. Nothing is applied.
type WhatIf struct {
	Policies []string         `json:"policies"` // that the text declares
	Removed  []string         `json:"removed"`
	Problems []object.Problem `json:"problems"` // of the text, with the line
	Pods     int              `json:"pods"`     // that were compared; 0 if nothing was
	Changes  []WhatIfEffect   `json:"changes"`
	More     int              `json:"moreChanges,omitempty"`
	Unknown  []string         `json:"unknown,omitempty"` // what is not evaluated and decides on connections too
}

// WhatIfEffect is the same difference for all connections between some ends.
type WhatIfEffect struct {
	From   WhatIfEnd `json:"from"`
	To     WhatIfEnd `json:"to"`
	Opened string    `json:"opened,omitempty"` // see query.Effect
	Closed string    `json:"closed,omitempty"`
	Family string    `json:"family,omitempty"`
}

// WhatIfEnd is pods and addresses that policies treat alike.
type WhatIfEnd struct {
	Pods    []string `json:"pods,omitempty"`
	More    int      `json:"morePods,omitempty"`
	Outside string   `json:"outside,omitempty"` // such as "0.0.0.0/0 except 10.0.0.0/8"
}

func whatIfEnd(g *reach.Group) WhatIfEnd {
	out := WhatIfEnd{Outside: intent.PrefixText(g.Outside)}
	out.Pods, out.More = cut(g.Pods, maxGroupPods)
	if text := g.SelectedText(); text != "" {
		out.Pods = []string{text}
	}
	return out
}

var (
	errMethodPost = errors.New("only POST with a text of policies")
	errMediaType  = errors.New("expected the content type application/yaml")
	errTooLong    = fmt.Errorf("the text is longer than %d bytes", draft.MaxText)
)

// whatIf compares the newest state with one that has the policies of the request's text. The parameter policy, KIND/NAMESPACE/NAME,
// is the policy that is edited: if the text is empty, it is removed.
//
// The content type keeps other pages from sending a text: a browser would have to ask first, and is not answered.
func (h *Handler) whatIf(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		fail(w, r, errMethodPost)
		return
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/yaml" {
		fail(w, r, errMediaType)
		return
	}
	state, ok := h.opts.Source.Newest()
	if !ok {
		fail(w, r, errNotSynced)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, draft.MaxText))
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		err = errTooLong
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	sum := sha256.Sum256(text)
	w.Header().Set("Content-Type", jsonContent)
	key := httpbody.Key{Name: r.URL.RequestURI() + " " + hex.EncodeToString(sum[:]), Number: state.Number}
	err = h.bodies.Serve(w, r, key, func(out io.Writer) error {
		answer, err := h.compare(h.newest.board(state), r.URL.Query().Get("policy"), text)
		if err != nil {
			return err
		}
		return encode(out, answer)
	})
	if err != nil {
		fail(w, r, err)
	}
}

func (h *Handler) compare(b *board, policy string, text []byte) (*WhatIf, error) {
	edit := draft.Parse(text)
	out := &WhatIf{Policies: []string{}, Removed: []string{}, Problems: []object.Problem{}, Changes: []WhatIfEffect{}}
	if policy != "" && strings.TrimSpace(string(text)) == "" {
		ref, ok := b.policyRef(policy)
		if !ok {
			return nil, fmt.Errorf("policy: %s: %w", policy, name.ErrNotFound)
		}
		edit.Removed, out.Removed, edit.Problems = []object.Ref{ref}, append(out.Removed, ref.Path()), nil
	}
	for _, p := range edit.Put {
		ref, _ := draft.RefOf(p)
		out.Policies = append(out.Policies, ref.Path())
	}
	out.Problems = append(out.Problems, edit.Problems...)
	if len(edit.Problems) > 0 || len(edit.Put)+len(edit.Removed) == 0 {
		return out, nil // there is nothing to compare with
	}
	if err := b.comparable(); err != nil {
		return nil, err
	}
	after, err := h.edited(b, edit)
	if err != nil {
		return nil, err
	}
	for _, p := range after.Problems {
		for _, o := range edit.Put {
			if ref, _ := draft.RefOf(o); ref == p.Ref {
				out.Problems = append(out.Problems, p)
			}
		}
	}
	impact := impact.Of(b.state.State, after)
	out.Pods, out.Unknown = impact.Pods, b.unread()
	changes, more := cut(impact.All(), maxEffects)
	out.More = more
	for i := range changes {
		e := &changes[i]
		out.Changes = append(out.Changes, WhatIfEffect{whatIfEnd(&e.From), whatIfEnd(&e.To), e.Opened, e.Closed, e.Family})
	}
	return out, nil
}

// policyRef finds a policy by KIND/NAMESPACE/NAME, or KIND/NAME if it is cluster-wide.
func (b *board) policyRef(path string) (object.Ref, bool) {
	list := b.policyList()
	for i := range list {
		if ref := list[i].ref(); ref.Path() == path {
			return ref, true
		}
	}
	return object.Ref{}, false
}

// manifest answers with a policy as it is, as YAML.
func (h *Handler) manifest(r *http.Request, b *board) (any, error) {
	ref := refOf(r)
	for _, o := range b.state.policies() {
		if is, ok := draft.RefOf(o); ok && is == ref {
			text, err := manifestOf(ref, o)
			return map[string]string{"manifest": text}, err
		}
	}
	return nil, fmt.Errorf("%s: %w", ref.Path(), name.ErrNotFound)
}

// manifestOf formats a policy without what only an API server sets.
func manifestOf(ref object.Ref, o runtime.Object) (string, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return "", fmt.Errorf("format %s: %w", ref.Path(), err)
	}
	metadata := map[string]any{"name": ref.Name}
	if ref.Namespace != "" {
		metadata["namespace"] = ref.Namespace
	}
	if all, ok := fields["metadata"].(map[string]any); ok {
		for _, key := range []string{"labels", "annotations"} {
			if all[key] != nil {
				metadata[key] = all[key]
			}
		}
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": draft.APIVersion(ref.Kind), "kind": ref.Kind, "metadata": metadata, "spec": fields["spec"],
	})
	return string(text), err
}
