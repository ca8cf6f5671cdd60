package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
)

// Reasons of conditions and of notes.
const (
	ReasonUnderstood  = "Understood"
	ReasonPlainSecret = "PlainSecret" // understood, but the object contains a secret in plain text
	ReasonNotAccepted = "NotAccepted" // could not be understood

	ReasonInSync    = "InSync"
	ReasonNoPurpose = "NoPurpose" // the object is for no CNF
	ReasonNoCNF     = "NoCNF"     // there is no CNF of the purpose
	ReasonConflict  = "Conflict"  // two CNFs have the purpose
	ReasonDeleting  = "Deleting"
	ReasonWriting   = "Writing"  // a pod is about to be written to
	ReasonRefused   = "Refused"  // a pod does not accept the object
	ReasonTrouble   = "Trouble"  // a pod cannot be written to
	ReasonNotReady  = "NotReady" // a pod is not ready
	ReasonApplied   = "Applied"  // of a note: all pods have the object
)

// gravity orders the reasons why pods lack an object.
var gravity = [...]string{"", ReasonWriting, ReasonNotReady, ReasonTrouble, ReasonRefused, ReasonConflict}

// worseReason returns the worse of two reasons.
func worseReason(a, b string) string {
	if slices.Index(gravity[:], b) > slices.Index(gravity[:], a) {
		return b
	}
	return a
}

// conditions returns the conditions for an object of a generation, given its present ones.
func (w *World) conditions(had []metav1.Condition, generation int64, s *standing) []metav1.Condition {
	accepted := metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: ReasonUnderstood}
	switch {
	case len(s.faults) > 0:
		accepted.Status, accepted.Reason = metav1.ConditionFalse, ReasonNotAccepted
		accepted.Message = strings.Join(s.faults, "; ")
	case len(s.plain) > 0:
		accepted.Reason = ReasonPlainSecret
		accepted.Message = strings.Join(s.plain, " and ") +
			" can be read by everyone who may read the object; refer to a Secret instead"
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: s.reason, Message: s.message}
	if s.state == v1alpha1.InSync {
		ready.Status = metav1.ConditionTrue
	}
	return state.Dated([]metav1.Condition{accepted, ready}, had, generation, w.Now)
}

// notes lists what to report when a status changes from had to now.
func notes(had, now any, s *standing) []state.Note {
	var out []state.Note
	old, fresh := conditionsOf(had), conditionsOf(now)
	changed := func(typ string) (c *metav1.Condition, differs bool) {
		c = state.Condition(fresh, typ)
		was := state.Condition(old, typ)
		return c, was == nil || was.Reason != c.Reason || was.Message != c.Message
	}
	if c, differs := changed(v1alpha1.ConditionAccepted); differs && c.Reason != ReasonUnderstood {
		out = append(out, state.Note{Warning: true, Reason: c.Reason, Message: c.Message})
	}
	c, differs := changed(v1alpha1.ConditionReady)
	if was := state.Condition(old, v1alpha1.ConditionReady); was != nil && was.ObservedGeneration != c.ObservedGeneration {
		differs = true
	}
	if !differs {
		return out
	}
	switch c.Reason {
	case ReasonInSync:
		out = append(out, state.Note{Reason: ReasonApplied, Message: "all pods of the CNF have it: " + names(s.pods)})
	case ReasonRefused, ReasonTrouble, ReasonConflict:
		out = append(out, state.Note{Warning: true, Reason: c.Reason, Message: c.Message})
	case ReasonDeleting:
		if c.Message != "" {
			out = append(out, state.Note{Reason: ReasonDeleting, Message: c.Message})
		}
	}
	return out
}

// names lists some pods.
func names(pods []v1alpha1.PodStatus) string {
	var out []string
	for i, p := range pods {
		if i == shownPods {
			return strings.Join(out, ", ") + " and more"
		}
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}
