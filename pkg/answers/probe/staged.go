package probe

import (
	"slices"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// Staged is what would be different if the staged policies were in force.
type Staged struct {
	Verdict Verdict  `json:"verdict"`
	By      []string `json:"by,omitempty"` // the staged policies that would decide
}

// note describes s as a note of an answer.
func (s *Staged) note() string {
	would := map[Verdict]string{Allow: "allowed", Deny: "denied", Refuse: "refused", Mixed: "allowed in part", VerdictUnknown: "unknown"}[s.Verdict]
	if len(s.By) == 0 {
		return "would be " + would + " if the staged policies were enforced"
	}
	return "would be " + would + " by staged " + name.And(s.By)
}

// addStaged adds to answers what would be different with the staged policies. Verdicts stay as they are.
func addStaged(w *world.World, answers []Answer, q question.Question, at question.Where) error {
	would := w.WouldBe()
	if would == nil {
		return nil
	}
	pairs, err := question.PairsOf(would, q, at, false)
	if err != nil {
		return err
	}
	staged, now := stagedNames(&w.State), map[string]*Answer{}
	for i := range answers {
		now[answers[i].Question] = &answers[i]
	}
	for i := range pairs {
		other, err := answer(&pairs[i], at, nil)
		if err != nil {
			return err
		}
		if a := now[other.Question]; a != nil && a.Verdict != other.Verdict {
			a.Staged = &Staged{Verdict: other.Verdict, By: other.decidedBy(staged)}
			a.Notes = append(a.Notes, a.Staged.note())
		}
	}
	return nil
}

// stagedNames are the staged policies of a state and of other clusters, as answers name policies.
func stagedNames(s *world.State) map[string]bool {
	out := map[string]bool{}
	for _, p := range s.Staged {
		out[clustered(s.Cluster, p.Policy)] = true
	}
	for i := range s.Others {
		for _, p := range s.Others[i].Staged {
			out[clustered(s.Others[i].Cluster, p.Policy)] = true
		}
	}
	return out
}

func clustered(cluster string, ref object.Ref) string {
	if cluster == "" {
		return ref.Path()
	}
	return cluster + "/" + ref.Path()
}

// decidedBy lists those of some policies by which the verdict of an answer came about, each once.
func (a *Answer) decidedBy(among map[string]bool) []string {
	var out []string
	add := func(policy string) {
		if among[policy] && !slices.Contains(out, policy) {
			out = append(out, policy)
		}
	}
	for _, s := range a.Sides() {
		if a.Verdict == Deny && s.Verdict != Deny {
			continue
		}
		rules := slices.Concat(s.AllowedBy, s.DeniedBy)
		for _, r := range rules {
			add(r.Policy)
		}
		if len(rules) == 0 {
			for _, p := range s.IsolatedBy {
				add(p)
			}
		}
	}
	return out
}
