package daemon

import (
	"slices"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/report"
)

// policyFaults are the problems of NetworkPolicies and Services among all. What could not be read has no status.
func policyFaults(all []object.Problem) []object.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p object.Problem) bool {
		return p.Place != (object.Place{}) || p.Ref.Kind != report.KindNetworkPolicy && p.Ref.Kind != report.KindService
	})
}
