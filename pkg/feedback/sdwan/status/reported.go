package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
)

// A process that starts knows the current statuses, but not yet the configuration of CNFs. Reporting objects as out of sync for that
// reason would usually be wrong: so for a CNF that has not been read yet, the present status is kept.

// unseen reports whether nothing is known about a CNF yet.
func (g *cnf) unseen() bool {
	return g.unread && !g.unavailable && g.Writable() && g.loop.Revision == 0 && g.loop.Trouble == "" && !g.loop.Stale
}

// present returns the present status of an object for a pod that has not been read yet, and why the pod lacks the object. It
// is false if there is none that can be kept: the object has changed since, or the pod is another one.
func (g *cnf) present(o Object, pod *v1alpha1.PodStatus) (v1alpha1.PodStatus, string, bool) {
	none := v1alpha1.PodStatus{}
	if !g.unseen() || observed(o) != o.GetGeneration() {
		return none, "", false
	}
	_, had, _ := v1alpha1.ResourceOf(o)
	ready := state.Condition(conditionsOf(had), v1alpha1.ConditionReady)
	if _, lists := had.(*v1alpha1.SdewanStatus); !lists { // all pods have it, or it is not known which
		p := *pod
		p.State = v1alpha1.InSync
		return p, "", ready.Status == metav1.ConditionTrue
	}
	pods := podsOf(o)
	i := slices.IndexFunc(pods, func(p v1alpha1.PodStatus) bool { return p.Name == pod.Name && p.IP == pod.IP })
	switch {
	case i < 0:
		return none, "", false
	case pods[i].State == v1alpha1.InSync:
		return pods[i], "", true
	case pods[i].State == v1alpha1.Applying && (ready.Reason == ReasonRefused || ready.Reason == ReasonTrouble):
		return pods[i], ready.Reason, true
	default:
		return none, "", false
	}
}

// StateOf returns the state and message in an object's status; "" if it has none.
func StateOf(o Object) (state, message string) {
	_, had, _ := v1alpha1.ResourceOf(o)
	switch s := had.(type) {
	case *v1alpha1.SdewanStatus:
		return string(s.State), s.Message
	case *v1alpha1.CNFServiceStatus:
		return string(s.State), s.Message
	case *v1alpha1.CNFLocalServiceStatus:
		return string(s.State), s.Message
	case *v1alpha1.CNFHubSiteStatus:
		return string(s.State), s.Message
	default:
		return "", ""
	}
}
