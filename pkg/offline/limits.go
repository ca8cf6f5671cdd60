package offline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// explainerFor explains the backend whose limits are wanted; nil for none. They depend on no further setting.
func explainerFor(o *Manifests) (backends.Explainer, error) {
	if o.Live && o.Backend == "" {
		return nil, nil
	}
	return builtin.NewExplainer(cmp.Or(o.Backend, builtin.OVN), "netloom", 0)
}

// limits lists what targets cannot express, as problems of the objects. The daemon reports the same as what is skipped.
func limits(s *intent.Snapshot, explainer backends.Explainer) []object.Problem {
	var out []object.Problem
	for _, l := range builtin.Limits(s, explainer) {
		if !l.InEffect {
			out = append(out, problemOf(s, &l))
		}
	}
	return out
}

func problemOf(s *intent.Snapshot, l *builtin.Limit) object.Problem {
	target := l.Target
	if l.More > 0 {
		target += fmt.Sprintf(" and %d more", l.More)
	}
	p := object.Problem{Message: target + ": " + l.Reason}
	if field, rest, ok := strings.Cut(l.Reason, ": "); ok && strings.HasPrefix(field, "spec") && !strings.Contains(field, " ") {
		p.Field, p.Message = field, target+": "+rest
	}
	if of := s.Policy(intent.PolicyID(l.Intent)); of != nil {
		p.Ref = of.Origin.Ref()
	} else if of := s.DeviceIntent(intent.DeviceIntentID(l.Intent)); of != nil {
		p.Ref = of.Origin.Ref()
	} else if of := s.LoadBalancer(intent.LoadBalancerID(l.Intent)); of != nil {
		p.Ref = of.Origin.Ref()
	} else {
		p.Message = l.Intent + ": " + p.Message
	}
	return p
}
