package web

import (
	"net/http"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
)

const (
	maxAnswers = 50 // to a query with patterns
	maxNames   = 20 // suggested
)

// Why is the result of a query: what netloom probe returns.
type Why struct {
	Answers []probe.Answer        `json:"answers"` // the first of them
	More    int                   `json:"moreAnswers,omitempty"`
	Counts  map[probe.Verdict]int `json:"counts"`            // of all answers, by verdict; those that are not certain are VerdictUnknown
	Unknown []string              `json:"unknown,omitempty"` // what could not be read and may affect the answers
}

func (h *Handler) why(r *http.Request, b *board) (any, error) {
	q := r.URL.Query()
	asked, err := questionOf(q)
	if err != nil {
		return nil, err
	}
	answers, err := probe.Of(b.inventory(), asked, question.Where{
		Namespace: q.Get("namespace"), Node: q.Get("node"), Network: q.Get("network"),
	})
	if err != nil {
		return nil, err
	}
	out := &Why{Counts: map[probe.Verdict]int{}, Unknown: b.inventory().Unknown()}
	for i := range answers {
		verdict := answers[i].Verdict
		if len(answers[i].Doubts) > 0 {
			verdict = probe.VerdictUnknown
		}
		out.Counts[verdict]++
	}
	out.Answers, out.More = cut(answers, maxAnswers)
	return out, nil
}

// names suggests ends of connections that contain a text: pods, services and nodes, as queries name them.
func (h *Handler) names(r *http.Request, b *board) (any, error) {
	text := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	kinds := []struct {
		kind   name.Kind
		prefix string
	}{{name.Pod, ""}, {name.Node, "node/"}}
	if r.URL.Query().Get("end") == "to" {
		kinds = append(kinds, struct {
			kind   name.Kind
			prefix string
		}{name.Service, "svc/"})
	}
	begin, hold := []string{}, []string{} // names that begin with the text are more likely
	for _, k := range kinds {
		for _, name := range b.inventory().Names(k.kind) {
			name = k.prefix + name
			switch lower := strings.ToLower(name); {
			case strings.HasPrefix(lower, text):
				begin = append(begin, name)
			case strings.Contains(lower, text):
				hold = append(hold, name)
			}
		}
	}
	names, more := cut(append(begin, hold...), maxNames)
	return map[string]any{"names": names, "moreNames": more}, nil
}
