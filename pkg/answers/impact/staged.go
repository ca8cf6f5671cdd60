package impact

import (
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// stage lists the policies that are staged, and those that are so in one state only.
func (r *Report) stage(before, after *world.State) {
	if len(before.Staged) > 0 {
		enforced := enforcedIn(after)
		for _, s := range before.Staged {
			if enforced[s.Policy] {
				r.Promoted = append(r.Promoted, s.Policy)
			}
		}
	}
	if len(after.Staged) > 0 {
		enforced := enforcedIn(before)
		for _, s := range after.Staged {
			r.Staged = append(r.Staged, s.Policy)
			if enforced[s.Policy] {
				r.Demoted = append(r.Demoted, s.Policy)
			}
		}
	}
}

// enforcedIn are the policies of a state that are not staged.
func enforcedIn(s *world.State) map[object.Ref]bool {
	out := map[object.Ref]bool{}
	for _, ref := range s.Objects.Cluster {
		out[ref] = true
	}
	for _, p := range s.Objects.Policies {
		out[object.Ref{Kind: object.KindNetworkPolicy, Namespace: p.Namespace, Name: p.Name}] = true
	}
	for _, staged := range s.Staged {
		delete(out, staged.Policy)
	}
	return out
}
