package identity

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/serve/auth/review"
)

// Access authorizes requests by SubjectAccessReviews of a cluster. It is an authorizer.Authorizer. Make it with NewAccess.
type Access struct{ reviews *review.Access }

// NewAccess makes an authorizer.
func NewAccess(client kubernetes.Interface, ttl TTL) *Access {
	return &Access{reviews: review.NewAccess(review.Options{Client: client, TTL: ttl, Entries: cached, Turn: newTurns().take})}
}

// Authorize asks whether the user of attributes may do it. It makes only a few reviews at a time for one user; further ones wait.
// If a review fails, the answer is no opinion, which allows nothing.
func (a *Access) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	spec := specOf(attributes)
	allowed, reason, err := a.reviews.Allowed(ctx, &spec)
	switch {
	case err != nil:
		return authorizer.DecisionNoOpinion, "", err
	case allowed:
		return authorizer.DecisionAllow, reason, nil
	default:
		return authorizer.DecisionNoOpinion, reason, nil
	}
}

func specOf(a authorizer.Attributes) authorizationv1.SubjectAccessReviewSpec {
	who := a.GetUser()
	spec := authorizationv1.SubjectAccessReviewSpec{User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups()}
	if extra := who.GetExtra(); len(extra) > 0 {
		spec.Extra = map[string]authorizationv1.ExtraValue{}
		for k, v := range extra {
			spec.Extra[k] = v
		}
	}
	if !a.IsResourceRequest() {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.GetPath(), Verb: a.GetVerb()}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: a.GetNamespace(), Verb: a.GetVerb(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(),
		Resource: a.GetResource(), Subresource: a.GetSubresource(), Name: a.GetName(),
		FieldSelector: fieldSelector(a), LabelSelector: labelSelector(a),
	}
	return spec
}

// fieldSelector returns the part of the selector that a review can express. What is left out makes the review ask for more.
func fieldSelector(a authorizer.Attributes) *authorizationv1.FieldSelectorAttributes {
	requirements, err := a.GetFieldSelector()
	if err != nil {
		return nil
	}
	var out []metav1.FieldSelectorRequirement
	for _, r := range requirements {
		switch r.Operator { //nolint:exhaustive // fields have no other operators
		case selection.Equals, selection.DoubleEquals, selection.In:
			out = append(out, metav1.FieldSelectorRequirement{Key: r.Field, Operator: metav1.FieldSelectorOpIn, Values: []string{r.Value}})
		case selection.NotEquals, selection.NotIn:
			out = append(out, metav1.FieldSelectorRequirement{Key: r.Field, Operator: metav1.FieldSelectorOpNotIn, Values: []string{r.Value}})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &authorizationv1.FieldSelectorAttributes{Requirements: out}
}

// labelSelector is fieldSelector for labels.
func labelSelector(a authorizer.Attributes) *authorizationv1.LabelSelectorAttributes {
	requirements, err := a.GetLabelSelector()
	if err != nil {
		return nil
	}
	operators := map[selection.Operator]metav1.LabelSelectorOperator{
		selection.Equals: metav1.LabelSelectorOpIn, selection.DoubleEquals: metav1.LabelSelectorOpIn, selection.In: metav1.LabelSelectorOpIn,
		selection.NotEquals: metav1.LabelSelectorOpNotIn, selection.NotIn: metav1.LabelSelectorOpNotIn,
		selection.Exists: metav1.LabelSelectorOpExists, selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
	}
	var out []metav1.LabelSelectorRequirement
	for _, r := range requirements {
		if operator, ok := operators[r.Operator()]; ok {
			out = append(out, metav1.LabelSelectorRequirement{Key: r.Key(), Operator: operator, Values: r.ValuesUnsorted()})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &authorizationv1.LabelSelectorAttributes{Requirements: out}
}
