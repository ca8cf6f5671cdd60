package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Verdict is what to write to an object.
type Verdict struct {
	Status     any          // a pointer to the status of the object's kind
	Finalizers []string     // in the object's order
	Notes      []state.Note // what to report once it is written
	// Settled is set if the CNFs have the object: the verdict stays the same until one of them changes state.
	Settled bool
}

// ScopeOf returns the scope of an object; false if it names none.
func ScopeOf(o Object, clusterWide bool) (intent.Scope, bool) {
	purpose := o.GetLabels()[v1alpha1.LabelPurpose]
	if purpose == "" {
		return intent.Scope{}, false
	}
	if clusterWide {
		return intent.Scope{Purpose: purpose}, true
	}
	return intent.Scope{Namespace: o.GetNamespace(), Purpose: purpose}, true
}

// Differs reports whether an object's status or finalizers have to be written to match v.
func (v *Verdict) Differs(o Object) (status, finalizers bool) {
	_, has, _ := v1alpha1.ResourceOf(o)
	return !equality.Semantic.DeepEqual(has, v.Status), !slices.Equal(o.GetFinalizers(), v.Finalizers)
}

// Of judges an object. It is false if the snapshot does not have the object as it is now, and for kinds that no CNF stores:
// there is nothing to report on them.
func (w *World) Of(o Object) (Verdict, bool) {
	resource, had, _ := v1alpha1.ResourceOf(o)
	kind := resource.Kind
	finalizer := Finalizer(kind)
	if finalizer == "" {
		return Verdict{}, false
	}
	s := w.standing(o, kind)
	if s == nil {
		return Verdict{}, false
	}
	v := Verdict{Finalizers: o.GetFinalizers(), Settled: s.state == v1alpha1.InSync}
	has := slices.Contains(v.Finalizers, finalizer)
	switch leaving := o.GetDeletionTimestamp() != nil; {
	case leaving && has && s.released:
		v.Finalizers = slices.DeleteFunc(slices.Clone(v.Finalizers), func(f string) bool { return f == finalizer })
	case !leaving && !has && len(s.cnfs) > 0:
		v.Finalizers = append(slices.Clone(v.Finalizers), finalizer)
	}
	v.Status = w.inTerms(o, had, s)
	v.Notes = notes(had, v.Status, s)
	return v, true
}

// standing is the state of an object, before it is put into the terms of its kind.
type standing struct {
	scope    intent.Scope
	intents  []*intent.DeviceIntent
	cnfs     []*cnf   // those that are not being deleted
	faults   []string // why it could not be understood
	plain    []string // its fields that hold a plain-text secret
	released bool     // it is being deleted, and no CNF has it

	state           v1alpha1.State
	reason, message string // of the condition Ready
	pods            []v1alpha1.PodStatus
}

// standing judges an object of a kind; nil if the snapshot does not have it as it is now.
func (w *World) standing(o Object, kind string) *standing {
	s := &standing{plain: plainSecrets(o)}
	key := object.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
	s.faults = w.problems[key]
	scope, ok := w.scope(o)
	leaving := o.GetDeletionTimestamp() != nil
	if !ok {
		s.reason, s.message, s.released = ReasonNoPurpose, "the label "+v1alpha1.LabelPurpose+" is missing", leaving
		return s.deleting(leaving)
	}
	s.scope, s.intents = scope, w.intentsOf(scope, key)
	for _, e := range s.intents {
		if e.Gone != leaving || e.Generation != 0 && e.Generation != o.GetGeneration() {
			return nil
		}
	}
	for _, g := range w.cnfs[scope] {
		if !g.Leaving {
			s.cnfs = append(s.cnfs, g)
		}
	}
	if len(s.cnfs) == 0 {
		s.reason, s.message, s.released = ReasonNoCNF, "no CNF has the purpose "+scope.Purpose+where(scope), leaving
		return s.deleting(leaving)
	}
	origin := intent.Origin{Kind: kind, Namespace: key.Namespace, Name: key.Name}
	w.judge(o, s, intent.NewDeviceIntentID(scope, origin, ""), leaving)
	return s
}

// deleting sets the state of an object that is being deleted.
func (s *standing) deleting(leaving bool) *standing {
	if leaving {
		s.state, s.reason = v1alpha1.Deleting, ReasonDeleting
	}
	return s
}

func where(s intent.Scope) string {
	if s.Namespace == "" {
		return ""
	}
	return " in namespace " + s.Namespace
}

// judge looks at every CNF.
func (w *World) judge(o Object, s *standing, base intent.DeviceIntentID, leaving bool) {
	had, origin := podsOf(o), ""
	if len(s.intents) > 0 {
		origin = s.intents[0].Origin.String()
	}
	var behind []v1alpha1.PodStatus
	conflict, reason := "", ""
	for _, g := range s.cnfs {
		p, why := w.pod(o, g, s, base, leaving)
		if p.State == v1alpha1.InSync {
			p.AppliedTime = w.since(had, p.Name, o, g.loop.Wrote[origin])
		} else {
			behind = append(behind, p)
			reason = worseReason(reason, why)
		}
		if g.Conflict != "" {
			conflict = g.Conflict
		}
		s.pods = append(s.pods, p)
	}
	slices.SortFunc(s.pods, func(a, b v1alpha1.PodStatus) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(behind, func(a, b v1alpha1.PodStatus) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case leaving && len(behind) == 0:
		s.state, s.reason, s.released = v1alpha1.Deleting, ReasonDeleting, true
	case leaving:
		s.state, s.reason, s.message = v1alpha1.Deleting, ReasonDeleting, "waiting for "+summary(behind)
	case conflict != "":
		s.state, s.reason, s.message = v1alpha1.Unknown, ReasonConflict, conflict
	case len(s.faults) > 0:
		s.state, s.reason, s.message = v1alpha1.Applying, ReasonNotAccepted, strings.Join(s.faults, "; ")
	case len(behind) > 0:
		s.state, s.reason, s.message = v1alpha1.Applying, reason, summary(behind)
	default:
		s.state, s.reason = v1alpha1.InSync, ReasonInSync
	}
}

// pod returns the state of an object on one CNF, and why the CNF lacks it. A deleted object is in sync where it is gone.
func (w *World) pod(o Object, g *cnf, s *standing, base intent.DeviceIntentID, leaving bool) (p v1alpha1.PodStatus, why string) {
	p = v1alpha1.PodStatus{Name: g.Origin.Name}
	if g.Origin.Namespace != o.GetNamespace() {
		p.Name = g.Origin.Namespace + "/" + g.Origin.Name
	}
	if g.Addr.IsValid() {
		p.IP = g.Addr.String()
	}
	p.State = v1alpha1.Applying
	if leaving {
		p.State = v1alpha1.Deleting
	}
	if before, lacks, ok := g.present(o, &p); ok && !leaving && len(s.faults) == 0 {
		return before, lacks
	}
	refused := g.refused(s.intents)
	switch {
	case g.Conflict != "":
		p.State, p.Message, why = v1alpha1.Unknown, g.Conflict, ReasonConflict
	case !g.Ready:
		p.Message, why = "the pod is not ready", ReasonNotReady
	case !g.Addr.IsValid():
		p.Message, why = "the pod has no address", ReasonNotReady
	case refused != "" && !g.unavailable:
		p.Message, why = refused, ReasonRefused
	case g.lacking(base, s.intents), g.loop.Stale && !leaving:
		p.Message, why = g.loop.Trouble, ReasonTrouble
		switch {
		case g.unavailable:
			p.Message, why = "nothing is written while kinds that SD-WAN needs cannot be read", ReasonWriting
		case p.Message == "":
			p.Message, why = "not written yet", ReasonWriting
		}
	case !leaving && len(s.intents) == 0:
		p.Message, why = "the state of the object is not known yet", ReasonWriting
	default:
		p.State, p.Message = v1alpha1.InSync, g.remark(s.intents)
	}
	return p, why
}

// since returns when a pod got an object: the time in its present status, or now. A pod that lost it got it when it was written again.
func (w *World) since(had []v1alpha1.PodStatus, name string, o Object, wrote metav1.Time) *metav1.Time {
	i := slices.IndexFunc(had, func(p v1alpha1.PodStatus) bool { return p.Name == name })
	if i >= 0 && had[i].State == v1alpha1.InSync && had[i].AppliedTime != nil && observed(o) == o.GetGeneration() {
		if had[i].AppliedTime.Before(&wrote) {
			return &wrote
		}
		return had[i].AppliedTime
	}
	now := w.Now
	return &now
}

// shownPods is how many pods a message names.
const shownPods = 3

// summary describes what is wrong with pods.
func summary(pods []v1alpha1.PodStatus) string {
	var parts []string
	for i, p := range pods {
		if i == shownPods {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, "pod "+p.Name+": "+p.Message)
	}
	return strings.Join(parts, "; ")
}
