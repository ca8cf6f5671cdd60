package object

import "fmt"

// The annotations of staged policies. EnforcementAnnotation on a policy says whether it is enforced, and on a namespace whether its
// NetworkPolicies are that do not say so themselves. Its values are EnforcementStaged and EnforcementEnforced, which is the default.
// StagesAnnotation on a staged policy is the name of the policy of the same kind and namespace that it is to replace.
const (
	EnforcementAnnotation = "netloom.io/enforcement"
	StagesAnnotation      = "netloom.io/stages"

	EnforcementStaged   = "staged"
	EnforcementEnforced = "enforced"
)

// IsStaged reports whether a policy is staged: it is shown, but neither denies nor allows anything. Own are its annotations, and
// namespace those of its namespace, nil for a cluster-wide policy and for a namespace that is not known. Whatever is not understood is
// enforced.
func IsStaged(own, namespace map[string]string) bool {
	value, ok := own[EnforcementAnnotation]
	if !ok {
		value = namespace[EnforcementAnnotation]
	}
	return value == EnforcementStaged
}

// EnforcementField is the path of EnforcementAnnotation in an object, for a Problem.
const EnforcementField = "metadata.annotations[" + EnforcementAnnotation + "]"

// CheckEnforcement returns what is wrong with the EnforcementAnnotation among annotations; "" if nothing is. What names the policies that
// are enforced because of it, such as "the policy is".
func CheckEnforcement(annotations map[string]string, what string) string {
	value, ok := annotations[EnforcementAnnotation]
	if !ok || value == EnforcementStaged || value == EnforcementEnforced {
		return ""
	}
	return fmt.Sprintf("%q: expected %s or %s; %s enforced", value, EnforcementStaged, EnforcementEnforced, what)
}
