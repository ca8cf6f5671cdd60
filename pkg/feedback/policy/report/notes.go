package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Notes lists what to report when the status of a policy changes from was to now. What stays the same is not repeated.
func (w *World) Notes(was, now *v1alpha1.PolicyStatusStatus) []state.Note {
	var out []state.Note
	out = append(out, problemNotes(was.Problems, now.Problems)...)
	for _, text := range ineffectiveIn(now) {
		if !slices.Contains(ineffectiveIn(was), text) {
			out = append(out, state.Note{Warning: true, Reason: ReasonIneffective, Message: text})
		}
	}
	if now.ObservedGeneration != was.ObservedGeneration && now.ProblemCount == 0 {
		out = append(out, state.Note{Reason: ReasonTranslated, Message: fmt.Sprintf("generation %d is translated", now.ObservedGeneration)})
	}
	for _, t := range w.Own(now) {
		var old v1alpha1.PolicyTarget
		same := func(o v1alpha1.PolicyTarget) bool { // an older netloom did not record which policy it reported on
			return o.Name == t.Name && (o.UID == t.UID || o.UID == "")
		}
		if i := slices.IndexFunc(was.Targets, same); i >= 0 {
			old = was.Targets[i]
		}
		switch {
		case t.Reason == ReasonSkipped && old.Message != t.Message:
			out = append(out, state.Note{Warning: true, Reason: ReasonSkipped, Message: t.Name + ": " + t.Message})
		case t.Reason == ReasonStaged && old.Reason != t.Reason:
			out = append(out, state.Note{Reason: t.Reason, Message: t.Name + ": " + t.Message})
		case t.Reason == ReasonPodsWithoutPort && old.Reason != t.Reason:
			out = append(out, state.Note{Warning: true, Reason: t.Reason, Message: t.Name + ": " + t.Message})
		case t.Enforced && (old.Generation != t.Generation || old.Reason == ReasonSkipped || old.Reason == ReasonPodsWithoutPort):
			out = append(out, state.Note{Reason: ReasonEnforced, Message: fmt.Sprintf("generation %d is enforced by %s", t.Generation, t.Name)})
		}
	}
	return out
}

func problemNotes(was, now []v1alpha1.PolicyProblem) []state.Note {
	var out []state.Note
	for _, p := range now {
		if !slices.Contains(was, p) {
			out = append(out, state.Note{Warning: true, Reason: ReasonProblem, Message: cut(problemText(p))})
		}
	}
	return out
}

// Service is what is reported about a Service.
type Service struct {
	Problems []v1alpha1.PolicyProblem
	Balanced []string // by target: where it is load balanced
}

// Service returns what can be reported about a Service now, given the last report. For a target that is behind, the last
// report is repeated, since its old load balancer still works; settled is false then.
func (w *World) Service(key object.Ref, was Service) (out Service, settled bool) {
	out, settled = Service{Problems: w.problems[key]}, true
	origin := intent.Origin{Cluster: w.Cluster, Kind: object.KindService, Namespace: key.Namespace, Name: key.Name}
	id := intent.LoadBalancerID(origin.String())
	balancer := w.Snapshot.LoadBalancer(id)
	if balancer == nil || len(balancer.Frontends) == 0 {
		return out, settled
	}
	for i := range w.targets {
		t := &w.targets[i]
		if _, skipped := t.lag.Refusal(string(id)); skipped {
			continue
		}
		if t.lag.All || t.lag.Behind.LoadBalancers[id] || t.Stale {
			settled = false
			out.Balanced = append(out.Balanced, slices.DeleteFunc(slices.Clone(was.Balanced), func(old string) bool {
				return !strings.HasPrefix(old, t.Name+" ")
			})...)
			continue
		}
		out.Balanced = append(out.Balanced, t.Name+" load balances "+frontends(balancer))
	}
	return out, settled
}

// shownFrontends is how many frontends a message names.
const shownFrontends = 8

// frontends lists where traffic for a load balancer goes, without the addresses of nodes.
func frontends(b *intent.LoadBalancer) string {
	var parts []string
	nodePorts := map[string]bool{}
	for i := range b.Frontends {
		f := &b.Frontends[i]
		text := f.String()
		if f.Kind == intent.NodePort {
			text = fmt.Sprintf("%s port %d of the nodes", f.Protocol, f.Port)
		}
		if nodePorts[text] {
			continue
		}
		nodePorts[text] = true
		if len(parts) == shownFrontends {
			return strings.Join(parts, ", ") + " and more"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Notes lists what to report when the report on a Service changes from was to s.
func (s Service) Notes(was Service) []state.Note {
	out := problemNotes(was.Problems, s.Problems)
	for _, text := range s.Balanced {
		if !slices.Contains(was.Balanced, text) {
			out = append(out, state.Note{Reason: ReasonLoadBalanced, Message: text})
		}
	}
	return out
}
