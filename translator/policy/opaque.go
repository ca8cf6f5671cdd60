package policy

import (
	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// opaqueRef is the reference of the policy that isolates opaque pods. No object has it.
func opaqueRef() object.Ref { return object.Ref{Kind: "Budget", Name: "opaque-pods"} }

// isolateOpaque isolates opaque pods in both directions, because any policy might select them.
func (t *translator) isolateOpaque() *result {
	of := intent.Origin{Cluster: t.source.Cluster, Kind: opaqueRef().Kind, Name: opaqueRef().Name}
	term := labelcache.NewTerm(labelcache.Selection{Cluster: t.source.Cluster, Opaque: true})
	out := &result{subject: term}
	for _, d := range intent.Directions() {
		p := &intent.Policy{ID: intent.NewPolicyID(of, d), Origin: of, Direction: d, Isolates: true}
		p.Subject = t.sets.Retain(&out.refs, t.sets.Subjects([]labelcache.Term{term}))
		t.sets.Gate(&out.refs, p.Subject)
		t.sets.Isolate(&out.refs, d, term)
		out.policies = append(out.policies, p)
	}
	return out
}
