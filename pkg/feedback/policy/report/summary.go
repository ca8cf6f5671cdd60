package report

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
)

// summarize combines the targets of s, those of w and those of other existing nodes, into conditions, given the status
// before.
func (w *World) summarize(p Policy, s, had *v1alpha1.PolicyStatusStatus) {
	counted := w.counted(p, s)
	enforced := 0
	s.Subjects, s.EnforcedGeneration = 0, 0
	for i, t := range counted {
		if current(t, s) {
			enforced++
		}
		if i == 0 || t.Generation < s.EnforcedGeneration {
			s.EnforcedGeneration = t.Generation
		}
		s.Subjects += t.Subjects
	}
	s.EnforcedTargets = fmt.Sprintf("%d/%d", enforced, len(counted))
	s.Conditions = state.Dated([]metav1.Condition{w.translated(p, s), enforcing(s, counted, enforced)}, had.Conditions, s.ObservedGeneration, w.Now)
}

// counted lists the targets that count in the summary: those for p in s that belong to w or to an existing node, plus a
// nameless one that enforces nothing for each node that has not reported on p, even if it has reported on another policy of
// that name.
func (w *World) counted(p Policy, s *v1alpha1.PolicyStatusStatus) []*v1alpha1.PolicyTarget {
	var out []*v1alpha1.PolicyTarget
	reported := map[string]bool{}
	for i := range s.Targets {
		t := &s.Targets[i]
		node := nodeOf(t.Name)
		if t.UID != p.UID || !w.owns(t.Name) && (node == "" || !slices.Contains(w.Nodes, node)) {
			continue
		}
		reported[node] = true
		out = append(out, t)
	}
	for _, node := range w.Nodes {
		if !reported[node] {
			out = append(out, &v1alpha1.PolicyTarget{Reason: ReasonWriting, Message: "node " + node + " has not reported yet"})
		}
	}
	return out
}

// nodeOf returns the node at the end of a target's name, or "" if it names none.
func nodeOf(target string) string {
	_, node, _ := strings.Cut(target, "/")
	return node
}

// Adopt replaces what s reports on the policy itself with had, which another netloom wrote, and keeps the targets of s: two
// versions that understand a policy differently, such as during an upgrade, must not overwrite each other forever. Problems
// that only this one found are added: if either of them has a problem, the status shows one.
func (w *World) Adopt(p Policy, s, had *v1alpha1.PolicyStatusStatus) {
	all := slices.Clone(had.Problems)
	for _, p := range s.Problems {
		if !slices.ContainsFunc(all, func(o v1alpha1.PolicyProblem) bool { return o.Field == p.Field }) {
			all = append(all, p)
		}
	}
	s.ProblemCount = max(s.ProblemCount, had.ProblemCount, count(len(all)))
	s.Problems = all[:min(len(all), shownProblems)]
	s.ObservedGeneration, s.Peers = had.ObservedGeneration, had.Peers
	w.summarize(p, s, had)
}

// SameView reports whether two statuses are equal apart from their targets.
func SameView(a, b *v1alpha1.PolicyStatusStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration && a.ProblemCount == b.ProblemCount &&
		slices.Equal(a.Problems, b.Problems) && slices.Equal(a.Peers, b.Peers)
}

// current reports whether a target enforces the generation of s.
func current(t *v1alpha1.PolicyTarget, s *v1alpha1.PolicyStatusStatus) bool {
	return t.Enforced && t.Generation >= s.ObservedGeneration
}

// translated returns the condition of that name. If everything was understood, its message is what allows nothing all the same.
func (w *World) translated(p Policy, s *v1alpha1.PolicyStatusStatus) metav1.Condition {
	if s.ProblemCount == 0 {
		return metav1.Condition{
			Type: v1alpha1.ConditionTranslated, Status: metav1.ConditionTrue, Reason: ReasonUnderstood,
			Message: strings.Join(w.ineffective(p), separator),
		}
	}
	var parts []string
	for _, p := range s.Problems {
		parts = append(parts, problemText(p))
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionTranslated, Status: metav1.ConditionFalse, Reason: ReasonProblem,
		Message: cut(strings.Join(parts, "; ")),
	}
}

// problemText formats a problem on one line.
func problemText(p v1alpha1.PolicyProblem) string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

// shownTargets is how many targets a message names.
const shownTargets = 3

// enforcing returns the condition Enforced. A policy that could not be understood in full is not enforced as written, so
// the condition is false then, though each target has what was understood.
func enforcing(s *v1alpha1.PolicyStatusStatus, counted []*v1alpha1.PolicyTarget, enforced int) metav1.Condition {
	out := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionFalse}
	worst := worstOf(s, counted)
	switch {
	case len(counted) == 0:
		out.Reason, out.Message = ReasonNoTarget, "there is no target"
	case enforced < len(counted):
		out.Reason, out.Message = worst, behind(s, counted)
		if worst == ReasonUnreachable {
			out.Status = metav1.ConditionUnknown
		}
	case s.ProblemCount > 0:
		out.Reason, out.Message = ReasonProblem, "enforced, except for parts that could not be understood, which allow nothing"
	default:
		out.Status, out.Reason = metav1.ConditionTrue, ReasonEnforced
		out.Message = fmt.Sprintf("generation %d is enforced", s.EnforcedGeneration)
	}
	return out
}

// gravity orders the reasons why targets do not enforce a policy. Unknown comes first: any other reason is known for
// certain.
var gravity = [...]string{ReasonEnforced, ReasonStaged, ReasonUnreachable, ReasonWriting, ReasonTrouble, ReasonSkipped, ReasonPodsWithoutPort}

// worstOf returns the gravest reason of all targets.
func worstOf(s *v1alpha1.PolicyStatusStatus, counted []*v1alpha1.PolicyTarget) string {
	worst := ReasonEnforced
	for _, t := range counted {
		reason := t.Reason
		if reason == ReasonEnforced && !current(t, s) {
			reason = ReasonWriting // its netloom has not seen this generation yet
		}
		if slices.Index(gravity[:], reason) > slices.Index(gravity[:], worst) {
			worst = reason
		}
	}
	return worst
}

// behind describes which targets do not enforce a policy, and why.
func behind(s *v1alpha1.PolicyStatusStatus, counted []*v1alpha1.PolicyTarget) string {
	var parts []string
	for _, t := range counted {
		if current(t, s) {
			continue
		}
		if len(parts) == shownTargets {
			parts = append(parts, "…")
			break
		}
		text := t.Message
		if text == "" {
			text = fmt.Sprintf("enforces generation %d", t.Generation)
		}
		if t.Name != "" {
			text = t.Name + ": " + text
		}
		parts = append(parts, text)
	}
	return cut(strings.Join(parts, "; "))
}
