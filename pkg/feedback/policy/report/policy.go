package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Reasons of conditions, of targets and of notes.
const (
	ReasonUnderstood = "Understood"
	ReasonProblem    = "Problem" // something could not be understood

	ReasonEnforced = "Enforced"
	ReasonWriting  = "Writing" // it is about to be written
	ReasonTrouble  = "Trouble" // it cannot be written
	ReasonSkipped  = "Skipped" // the target cannot express it
	// ReasonChangedByOthers: someone else changed it in the target, and this is not repaired yet.
	ReasonChangedByOthers = "ChangedByOthers"
	// ReasonPodsWithoutPort: the target does not know some of the selected pods, for example because they have no logical
	// port.
	ReasonPodsWithoutPort = "PodsWithoutPort"
	ReasonUnreachable     = "Unreachable" // what the target has is not known
	ReasonNoTarget        = "NoTarget"
	ReasonStaged          = "Staged" // it is not to be enforced, and nothing of it is

	ReasonWouldDiffer  = "WouldDiffer"  // of a note: a staged policy would decide a connection differently
	ReasonTranslated   = "Translated"   // of a note
	ReasonLoadBalanced = "LoadBalanced" // of a note
	ReasonIneffective  = "Ineffective"  // of a note: something valid allows nothing
)

// How much of a policy is shown.
const (
	shownProblems = 32
	shownPeers    = 64
	shownText     = 1024 // bytes of a message
)

// Policy is a policy as last translated.
type Policy struct {
	Kind            string // "" is NetworkPolicy
	Namespace, Name string
	Generation      int64
	UID             types.UID
}

// Key returns the reference of p.
func (p Policy) Key() object.Ref {
	return object.Ref{Kind: cmp.Or(p.Kind, object.KindNetworkPolicy), Namespace: p.Namespace, Name: p.Name}
}

// Status returns the new status of p, given its present one: the targets of w are worked out again, those of others are
// copied. The summary covers the targets of w and those of other nodes that exist.
func (w *World) Status(p Policy, had *v1alpha1.PolicyStatusStatus) v1alpha1.PolicyStatusStatus {
	var out v1alpha1.PolicyStatusStatus
	intents := w.intentsOf(p)
	out.ObservedGeneration = p.Generation
	problems := w.problems[p.Key()]
	out.ProblemCount = count(len(problems))
	out.Problems = slices.Clone(problems[:min(len(problems), shownProblems)])
	out.Peers = w.peers(intents)
	for i := range w.targets {
		out.Targets = append(out.Targets, w.target(&w.targets[i], p, intents, had))
	}
	for _, other := range had.Targets {
		if !w.owns(other.Name) {
			out.Targets = append(out.Targets, other)
		}
	}
	slices.SortFunc(out.Targets, func(a, b v1alpha1.PolicyTarget) int { return strings.Compare(a.Name, b.Name) })
	w.summarize(p, &out, had)
	return out
}

// Own lists the targets of s that w reports on.
func (w *World) Own(s *v1alpha1.PolicyStatusStatus) []v1alpha1.PolicyTarget {
	var own []v1alpha1.PolicyTarget
	for i := range s.Targets {
		if w.owns(s.Targets[i].Name) {
			own = append(own, s.Targets[i])
		}
	}
	return own
}

// owns reports whether w reports on a target of that name.
func (w *World) owns(name string) bool {
	return slices.ContainsFunc(w.targets, func(t target) bool { return t.Name == name })
}

// intentsOf lists the intents of a policy, ingress first.
func (w *World) intentsOf(p Policy) []*intent.Policy {
	var out []*intent.Policy
	for _, id := range w.ids(p) {
		if found := w.Snapshot.Policy(id); found != nil {
			out = append(out, found)
		}
	}
	return out
}

// ids returns the IDs that the intents of a policy have or had.
func (w *World) ids(p Policy) [2]intent.PolicyID {
	origin := intent.Origin{Cluster: w.Cluster, Kind: p.Key().Kind, Namespace: p.Namespace, Name: p.Name}
	var out [2]intent.PolicyID
	for i, d := range intent.Directions() {
		out[i] = intent.NewPolicyID(origin, d)
	}
	return out
}

// target returns the state of a policy on one target.
func (w *World) target(t *target, p Policy, intents []*intent.Policy, had *v1alpha1.PolicyStatusStatus) v1alpha1.PolicyTarget {
	out := v1alpha1.PolicyTarget{Name: t.Name, UID: p.UID}
	same := func(o v1alpha1.PolicyTarget) bool { return o.Name == t.Name && o.UID == p.UID }
	if i := slices.IndexFunc(had.Targets, same); i >= 0 {
		out = had.Targets[i]
	}
	missing, selected := w.missing(t, intents)
	out.Reason, out.Message = t.judge(w.Snapshot, w.ids(p), intents)
	if (out.Reason == ReasonEnforced || out.Reason == ReasonSkipped) && missing.Len() > 0 { // a skipped part is denied, these pods are open
		out.Reason, out.Message = ReasonPodsWithoutPort, cut(uncovered(missing, selected))
	}
	if out.Reason == ReasonEnforced && w.isStaged(p) {
		out.Reason, out.Message = ReasonStaged, "it is staged: it neither denies nor allows anything"
		if tried := w.Tried[p.Key()]; tried != "" {
			out.Message = cut(out.Message + "; " + tried)
		}
		out.Generation, out.Since, out.Revision, out.Rows = 0, nil, 0, 0
	}
	out.MissingSubjects = count(missing.Len())
	out.Enforced = out.Reason == ReasonEnforced
	if (out.Enforced || out.Reason == ReasonSkipped) && (out.Generation != p.Generation || out.Since == nil) {
		now := w.Now
		out.Generation, out.Since, out.Revision = p.Generation, &now, int64(t.Revision) //nolint:gosec // not in a lifetime
	}
	out.Subjects = 0
	for _, i := range intents {
		out.Subjects = max(out.Subjects, count(w.Snapshot.Set(i.Subject).Len()))
	}
	if t.Rows != nil && len(intents) > 0 {
		out.Rows = count(t.Rows(w.Snapshot, intents[0].Origin))
	}
	return out
}

// judge reports whether a target enforces the intents of a policy, which have or had these IDs, and if not, why. The message for one that is
// enforced is what there is to remark; "" for nothing.
func (t *target) judge(s *intent.Snapshot, ids [2]intent.PolicyID, intents []*intent.Policy) (reason, message string) {
	lacks := t.lag.All || t.lag.Behind.Policies[ids[0]] || t.lag.Behind.Policies[ids[1]] || t.Trouble != "" && t.lacksMembers(s, intents)
	skipped, remark := "", ""
	for _, i := range intents {
		if why, ok := t.lag.Refusal(string(i.ID)); ok && skipped == "" {
			skipped = cut("it cannot express this and denies it: " + why)
		}
		if why, ok := t.lag.Remark(string(i.ID)); ok && remark == "" {
			remark = cut(why)
		}
	}
	switch {
	case t.Stale:
		return ReasonUnreachable, cut("its state is unknown: " + t.Trouble)
	case lacks && t.Trouble != "":
		return ReasonTrouble, cut(t.Trouble)
	case len(intents) > 0 && t.Disturbed.Affects(intents[0].Origin.String()):
		return ReasonChangedByOthers, cut(t.Disturbance)
	case lacks:
		return ReasonWriting, "not written yet"
	case skipped != "":
		return ReasonSkipped, skipped
	default:
		return ReasonEnforced, remark
	}
}

// missing returns the pods that a policy selects and a target does not know, and how many it selects in all. If the
// directions select different pods, the direction that misses more counts.
func (w *World) missing(t *target, intents []*intent.Policy) (missing backends.Gaps, selected int) {
	for _, i := range intents {
		set := w.Snapshot.Set(i.Subject)
		if in := t.Missing.In(set); in.Len() > missing.Len() {
			missing, selected = in, set.Len()
		}
	}
	return missing, selected
}

// uncovered describes the pods on which a policy is not enforced.
func uncovered(missing backends.Gaps, selected int) string {
	return fmt.Sprintf("%d of %d selected pods are enforced; not enforced: %s", selected-missing.Len(), selected, missing.Text())
}

// lacksMembers reports whether the target may lack members of the sets of intents.
func (t *target) lacksMembers(s *intent.Snapshot, intents []*intent.Policy) bool {
	lacks := func(id intent.SetID) bool { return t.lag.Behind.Sets[id] }
	for _, i := range intents {
		if lacks(i.Subject) {
			return true
		}
		for j := range i.Rules {
			if r := &i.Rules[j]; lacks(r.Subject) || slices.ContainsFunc(s.Sources(r.Peer.Set), lacks) {
				return true
			}
		}
	}
	return false
}

// peers lists the peers that the rules of intents select.
func (w *World) peers(intents []*intent.Policy) []v1alpha1.PolicyPeer {
	type place struct {
		rule string
		set  intent.SetID
	}
	var out []v1alpha1.PolicyPeer
	seen := map[place]bool{}
	for _, i := range intents {
		for j := range i.Rules {
			r := &i.Rules[j]
			set := w.Snapshot.Set(r.Peer.Set)
			at := place{r.Path, r.Peer.Set}
			if r.Peer.Kind != intent.PeerSet || set == nil || seen[at] || len(out) == shownPeers {
				continue
			}
			seen[at] = true
			out = append(out, v1alpha1.PolicyPeer{
				Rule: r.Path, Selects: cut(set.Title), Pods: w.size(set).pods, Addresses: w.size(set).addresses,
				Blocks: count(len(set.Prefixes)),
			})
		}
	}
	return out
}

// Sets lists the sets whose changes change the sizes in a status of p.
func (w *World) Sets(p Policy) []intent.SetID {
	var out []intent.SetID
	for _, i := range w.intentsOf(p) {
		out = append(out, i.Subject)
		for j := range i.Rules {
			if i.Rules[j].Peer.Kind == intent.PeerSet {
				out = append(append(out, i.Rules[j].Peer.Set), w.Snapshot.Sources(i.Rules[j].Peer.Set)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Settled reports whether s stays the same while only sizes and gaps in coverage change and no target of w changes state.
func (w *World) Settled(s *v1alpha1.PolicyStatusStatus) bool {
	return !slices.ContainsFunc(w.Own(s), func(t v1alpha1.PolicyTarget) bool {
		return !t.Enforced && t.Reason != ReasonSkipped && t.Reason != ReasonPodsWithoutPort && t.Reason != ReasonStaged
	})
}

// Difference is how much two statuses differ.
type Difference uint8

// Same: not at all. Sizes: only in counts. Meaning: in anything else.
const (
	Same Difference = iota
	Sizes
	Meaning
)

// Compare returns how much two statuses differ.
func Compare(a, b *v1alpha1.PolicyStatusStatus) Difference {
	if equality.Semantic.DeepEqual(a, b) {
		return Same
	}
	if equality.Semantic.DeepEqual(unsized(a), unsized(b)) {
		return Sizes
	}
	return Meaning
}

// unsized returns a status without what changes as pods come and go.
func unsized(s *v1alpha1.PolicyStatusStatus) *v1alpha1.PolicyStatusStatus {
	out := s.DeepCopy()
	out.Subjects = 0
	for i := range out.Peers {
		out.Peers[i].Pods, out.Peers[i].Addresses = 0, 0
	}
	for i := range out.Targets {
		t := &out.Targets[i]
		t.Rows, t.Subjects, t.MissingSubjects = 0, 0, 0
		if t.Reason == ReasonPodsWithoutPort {
			t.Message = ""
		}
	}
	for i := range out.Conditions {
		if c := &out.Conditions[i]; c.Reason == ReasonPodsWithoutPort {
			c.Message = ""
		}
	}
	return out
}

// cut truncates a text that is too long.
func cut(text string) string {
	if len(text) <= shownText {
		return text
	}
	return strings.ToValidUTF8(text[:shownText], "") + "…"
}
