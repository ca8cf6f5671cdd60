package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// standIn replaces a faulty policy while no good version of it is known. That of a NetworkPolicy has no rules and isolates the pods that
// the document selects, as far as they can be determined; if in doubt, it isolates more.
type standIn struct {
	policy source.Object
	effect string // what it does, to be added to the faults of the document
}

// outline is the part of a policy that determines which pods it isolates.
type outline struct {
	head `json:",inline"`
	Spec struct {
		PodSelector json.RawMessage `json:"podSelector"`
		PolicyTypes json.RawMessage `json:"policyTypes"`
		Ingress     json.RawMessage `json:"ingress"`
		Egress      json.RawMessage `json:"egress"`
	} `json:"spec"`
}

// Texts of strict decoding about a field.
const (
	unknownField   = "unknown field"
	duplicateField = "duplicate field"
)

// newStandIn makes the stand-in of a faulty document; nil if objects of its kind deny nothing. The text is why the document
// is rejected as a whole, if it is.
func newStandIn(row *kind, ref object.Ref, raw json.RawMessage, rejected string) *standIn {
	var s *standIn
	switch {
	case object.IsClusterPolicy(ref.Kind):
		s = newClusterStandIn(row, ref, raw, rejected)
	case ref.Kind == object.KindNetworkPolicy:
		s = newPolicyStandIn(ref, raw, rejected)
	default:
		return nil
	}
	s.policy.SetAnnotations(enforcement(raw, rejected))
	return s
}

// enforcement returns the annotation that decides whether a stand-in is staged: that of the document, nil for none. One that cannot be
// read, or that may be misspelt, has the policy enforced, even in a namespace whose policies are staged.
func enforcement(raw json.RawMessage, rejected string) map[string]string {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	strict, err := kjson.UnmarshalStrict(raw, &o)
	plain := err == nil && isClear(rejected)
	for _, err := range strict {
		var at kjson.FieldError
		plain = plain && errors.As(err, &at) && at.FieldPath() != "metadata" && !strings.HasPrefix(at.FieldPath(), "metadata.")
	}
	value, some := o.Metadata.Annotations[object.EnforcementAnnotation]
	switch {
	case !plain:
		return map[string]string{object.EnforcementAnnotation: object.EnforcementEnforced}
	case some:
		return map[string]string{object.EnforcementAnnotation: value}
	default:
		return nil
	}
}

func newPolicyStandIn(ref object.Ref, raw json.RawMessage, rejected string) *standIn {
	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	o, ok := readOutline(raw)
	if ok && isClear(rejected) {
		p.Spec.PodSelector = lenientSelector(o.Spec.PodSelector)
		p.Spec.PolicyTypes = lenientTypes(o, raw)
	} else {
		p.Spec.PolicyTypes = bothTypes()
	}
	return &standIn{policy: p, effect: effectOf(p)}
}

func bothTypes() []networkingv1.PolicyType {
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
}

func effectOf(p *networkingv1.NetworkPolicy) string {
	who := "its pods are"
	if len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0 {
		who = "all pods of its namespace are"
	}
	var in []string
	for _, t := range bothTypes() {
		if slices.Contains(p.Spec.PolicyTypes, t) {
			in = append(in, strings.ToLower(string(t)))
		}
	}
	return fmt.Sprintf("until it is fixed %s isolated in %s and nothing is allowed", who, strings.Join(in, " and "))
}

// readOutline is false if the document does not determine which pods it isolates.
func readOutline(raw json.RawMessage) (o outline, ok bool) {
	strict, err := kjson.UnmarshalStrict(raw, &o)
	if err != nil {
		return o, false
	}
	for _, err := range strict {
		var at kjson.FieldError
		if !errors.As(err, &at) {
			return o, false
		}
		if strings.HasPrefix(err.Error(), duplicateField) && !isRules(strings.TrimPrefix(at.FieldPath(), "spec.")) {
			return o, false
		}
	}
	return o, true
}

// isRules reports whether a field holds rules, which a stand-in has no use for.
func isRules(field string) bool { return field == "ingress" || field == "egress" }

var keyTwice = regexp.MustCompile(`key "([^"]*)" already set in map`)

// isClear reports whether nothing but rules is given twice: for anything else it is unclear which one is meant.
func isClear(rejected string) bool {
	for _, m := range keyTwice.FindAllStringSubmatch(rejected, -1) {
		if !isRules(m[1]) {
			return false
		}
	}
	return rejected == "" || keyTwice.MatchString(rejected)
}

// lenientSelector reads a selector. Fields that are not known are left out, which selects more; a selector that cannot be
// read selects every pod.
func lenientSelector(raw json.RawMessage) metav1.LabelSelector {
	var s metav1.LabelSelector
	if len(raw) == 0 {
		return s
	}
	for _, b := range decode(raw, &s, "") {
		if b.message != unknownField {
			return metav1.LabelSelector{}
		}
	}
	if len(validateSelector(&s, nil)) > 0 {
		return metav1.LabelSelector{}
	}
	return s
}

// lenientTypes returns the policy types as written, or both if they cannot be read. If there are none, Egress is included
// also if an unknown field may be a misspelling of it.
func lenientTypes(o outline, raw json.RawMessage) []networkingv1.PolicyType {
	var types []networkingv1.PolicyType
	if written := o.Spec.PolicyTypes; len(written) > 0 {
		if len(decode(written, &types, "")) > 0 || len(validatePolicyTypes(types, nil)) > 0 {
			return bothTypes()
		}
	}
	if len(types) > 0 {
		return types
	}
	if isGiven(o.Spec.Egress) || hasUnknown(raw, &outline{}) || hasUnknown(raw, &networkingv1.NetworkPolicy{}) {
		return bothTypes()
	}
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
}

// isGiven reports whether a list has elements, or is something other than a list.
func isGiven(list json.RawMessage) bool {
	var elements []json.RawMessage
	return len(list) > 0 && (json.Unmarshal(list, &elements) != nil || len(elements) > 0)
}

// hasUnknown reports whether raw has fields that target does not have, not counting its metadata. It does not see them next
// to values that do not fit target at all.
func hasUnknown(raw json.RawMessage, target any) bool {
	for _, b := range decode(raw, target, "") {
		if b.message == unknownField && !strings.HasPrefix(b.field, "metadata.") {
			return true
		}
	}
	return false
}

// standFor puts the stand-in of a faulty declaration in force. What was in force before keeps its identity.
func standFor(before settled, d *declaration) settled {
	c := settled{object: d.standIn.policy, path: d.path, document: d.document, effect: d.standIn.effect}
	if before.object != nil && source.Equal(before.object, c.object) {
		c.object = before.object
	}
	return c
}

// explain adds the effect of stand-ins to the faults of their documents.
func explain(faults []object.Problem, force map[object.Ref]settled) {
	for i := range faults {
		f := &faults[i]
		c, ok := force[f.Ref]
		if !ok || c.effect == "" || f.Place != (object.Place{Path: c.path, Document: c.document}) {
			continue
		}
		if isStaged(c.object, force) {
			f.Message += "; it is staged, so that nothing is isolated or denied"
		} else {
			f.Message += "; " + c.effect
		}
	}
}

// isStaged reports whether a policy among those in force is staged.
func isStaged(policy source.Object, force map[object.Ref]settled) bool {
	var namespace map[string]string
	if ns, ok := force[object.Ref{Kind: object.KindNamespace, Name: policy.GetNamespace()}]; ok && policy.GetNamespace() != "" {
		namespace = ns.object.GetAnnotations()
	}
	return object.IsStaged(policy.GetAnnotations(), namespace)
}
