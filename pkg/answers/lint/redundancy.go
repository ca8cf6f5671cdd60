package lint

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/netloom/netloom/pkg/answers/precedence"
	"github.com/netloom/netloom/pkg/object"
)

// redundancy finds NetworkPolicies, and rules of theirs, that others make redundant. It considers only policies of the same namespace
// whose selector always selects at least what that of the redundant one selects: two selectors that merely happen to select the same
// pods do not count. Nor do policies and rules that may match pods that are not known.
func (r *run) redundancy() {
	policies := slices.Clone(r.Policies)
	slices.SortFunc(policies, func(a, b *networkingv1.NetworkPolicy) int { return refOf(a).Compare(refOf(b)) })
	wider := newSelectors(policies)
	pruner := precedence.NewPruner(r.Snapshot, r.opts.Budget)
	removed := map[object.Ref]bool{}
	cut := ""
	for _, np := range slices.Backward(policies) { // of two equal ones, the first stays
		if len(np.Spec.Ingress)+len(np.Spec.Egress) == 0 || r.checker.hasUnknownPeers(np, "spec") {
			continue
		}
		if pruner.Exhausted() {
			cut = refOf(np).Path()
			break
		}
		if by, redundant := pruner.Policy(refOf(np), wider.than(np)); redundant {
			removed[refOf(np)] = true
			f := newFinding(RedundantPolicy, refOf(np), "spec", redundantText(by))
			f.By = by
			r.add(f)
		}
	}
	for _, np := range policies {
		ref := refOf(np)
		if removed[ref] || cut != "" {
			continue
		}
		if pruner.Exhausted() {
			cut = ref.Path()
		}
		for _, covered := range pruner.Rules(ref, wider.than(np)) {
			if r.checker.hasUnknownPeers(np, covered.Path) {
				continue
			}
			f := newFinding(RedundantRule, ref, covered.Path,
				fmt.Sprintf("without it every verdict is the same at present: %s allow the same", precedence.RulesText(r.Snapshot, covered.By)))
			f.By = objectsOf(r.Snapshot, covered.By, ref)
			r.add(f)
		}
	}
	if wider.cut {
		r.skip("which policies and rules are redundant because of others beyond the first %d of a namespace", maxRivals)
	}
	if cut != "" || pruner.Exhausted() {
		r.skip("which policies and rules are redundant, from %s on: there are too many to compare", cut)
	}
}

func refOf(np *networkingv1.NetworkPolicy) object.Ref {
	return object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}
}

// selectors finds the policies of a namespace whose selector includes another one. Each is listed under one of its requirements.
type selectors struct {
	under        map[string]map[string][]int // by namespace and requirement: indexes of policies; "" for those without one
	refs         []object.Ref
	requirements [][]string // of each policy, sorted
	cut          bool       // some policy has more than maxRivals
}

func newSelectors(policies []*networkingv1.NetworkPolicy) *selectors {
	s := &selectors{under: map[string]map[string][]int{}}
	for i, np := range policies {
		all, ok := requirementsOf(&np.Spec.PodSelector)
		s.refs, s.requirements = append(s.refs, refOf(np)), append(s.requirements, all)
		if !ok {
			continue
		}
		if s.under[np.Namespace] == nil {
			s.under[np.Namespace] = map[string][]int{}
		}
		first := ""
		if len(all) > 0 {
			first = all[0]
		}
		s.under[np.Namespace][first] = append(s.under[np.Namespace][first], i)
	}
	return s
}

// maxRivals is how many policies one policy is compared with.
const maxRivals = 1000

// than lists the policies whose selector demands at most what that of np does: of the first maxRivals that may.
func (s *selectors) than(np *networkingv1.NetworkPolicy) []object.Ref {
	mine, ok := requirementsOf(&np.Spec.PodSelector)
	if !ok {
		return nil
	}
	var out []object.Ref
	seen := 0
	for _, first := range append([]string{""}, mine...) {
		for _, i := range s.under[np.Namespace][first] {
			if seen++; seen > maxRivals {
				s.cut = true
				return out
			}
			if s.refs[i] != refOf(np) && within(s.requirements[i], mine) {
				out = append(out, s.refs[i])
			}
		}
	}
	return out
}

// within reports whether all of a sorted list are in another.
func within(a, b []string) bool {
	for _, x := range a {
		if _, found := slices.BinarySearch(b, x); !found {
			return false
		}
	}
	return true
}

// requirementsOf lists the requirements of a selector, sorted, each once; false if it cannot be understood.
func requirementsOf(selector *metav1.LabelSelector) ([]string, bool) {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, false
	}
	requirements, selectable := parsed.Requirements()
	if !selectable {
		return nil, false
	}
	out := make([]string, len(requirements))
	for i := range requirements {
		r := &requirements[i]
		operator := r.Operator()
		if operator == selection.Equals || operator == selection.DoubleEquals {
			operator = selection.In
		}
		out[i] = fmt.Sprintf("%q %s %q", r.Key(), operator, slices.Sorted(maps.Keys(r.Values())))
	}
	slices.Sort(out)
	return slices.Compact(out), true
}
