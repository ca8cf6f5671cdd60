package daemon

import (
	"errors"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/report"
	"github.com/netloom/netloom/translator"
)

// changedFaults are the objects of problems that are in one list only.
func changedFaults(was, now []report.Problem) map[object.Ref]bool {
	in := map[report.Problem]int{}
	for _, p := range was {
		in[p] |= 1
	}
	for _, p := range now {
		in[p] |= 2
	}
	out := map[object.Ref]bool{}
	for p, where := range in {
		if where != 3 {
			out[p.Of] = true
		}
	}
	return out
}

// policyFaults are the problems of NetworkPolicies and Services among all.
func policyFaults(all []error) []report.Problem {
	var out []report.Problem
	for _, err := range all {
		var p translator.Problem
		if !errors.As(err, &p) || p.Origin.Kind != report.KindNetworkPolicy && p.Origin.Kind != report.KindService {
			continue
		}
		out = append(out, report.Problem{
			Of:    object.Ref{Kind: p.Origin.Kind, Namespace: p.Origin.Namespace, Name: p.Origin.Name},
			Field: p.Field, What: p.Message,
		})
	}
	return out
}
