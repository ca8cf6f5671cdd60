package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// ofRevision are the labels that differ from one pod of a workload, or one revision of it, to the next.
var ofRevision = map[string]bool{
	"pod-template-hash": true, "controller-revision-hash": true, "pod-template-generation": true, "rollouts-pod-template-hash": true,
	"statefulset.kubernetes.io/pod-name": true, "apps.kubernetes.io/pod-index": true,
	"controller-uid": true, "job-name": true, "batch.kubernetes.io/controller-uid": true, "batch.kubernetes.io/job-name": true,
	"batch.kubernetes.io/job-completion-index": true,
}

// Kinship is the same for pods of one namespace with the same labels, but for those of a revision; "" for a pod without labels.
func Kinship(e *labelcache.Endpoint) string {
	words := []string{e.Key.Cluster, e.Key.Namespace}
	for _, k := range slices.Sorted(maps.Keys(e.Labels)) {
		if !ofRevision[k] {
			words = append(words, k+"="+e.Labels[k])
		}
	}
	if len(words) == 2 || e.Opaque {
		return ""
	}
	return strings.Join(words, " ")
}

// maxKin is how many pods of a policy are looked at to tell whether they are alike.
const maxKin = 1000

// SelectsOnly reports whether a policy selects an endpoint and otherwise only pods of its kinship or workload, so that a rule for it would
// apply to nothing else. It is false for a policy that selects very many pods.
func (w *World) SelectsOnly(p *intent.Policy, party intent.Party) bool {
	set := w.State.Snapshot.Set(p.Subject)
	if party.Key == (object.Key{}) && len(w.byAddr[party.Addr]) == 1 {
		party.Key = w.byAddr[party.Addr][0].Key
	}
	own, ok := w.State.View.Endpoint(party.Key)
	if !ok || set.Len() == 0 || set.Len() > maxKin {
		return false
	}
	kin := Kinship(own)
	for e := range set.Members.All() {
		if e.Key.Subject() == own.Key.Subject() {
			continue
		}
		if other, known := w.State.View.Endpoint(e.Key); !known || kin == "" || Kinship(other) != kin {
			return false
		}
	}
	return true
}
