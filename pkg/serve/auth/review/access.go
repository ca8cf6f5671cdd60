package review

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Access finds out what users may do by SubjectAccessReviews. Make it with NewAccess. It is safe for concurrent use.
type Access struct {
	opts    Options
	seal    seal
	answers *answers[string] // the reasons
}

// NewAccess makes an Access.
func NewAccess(opts Options) *Access {
	opts = opts.complete()
	return &Access{opts: opts, seal: newSeal(), answers: newAnswers[string](opts)}
}

// Allowed reports whether the API allows what spec describes, and why, as far as the API says. The error is ErrUnavailable if the API
// could not be asked, or that of ctx; then it is not allowed.
func (a *Access) Allowed(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (allowed bool, reason string, err error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return false, "", fmt.Errorf("encode an access review of %s: %w", spec.User, err)
	}
	// encoding/json writes this instead of what is not UTF-8: the review would be for something else.
	if bytes.Contains(text, []byte(`\ufffd`)) {
		return false, "the request is not UTF-8", nil
	}
	found, err := a.answers.get(ctx, a.seal.digest(text), spec.User, func(ctx context.Context) (answer[string], error) {
		return a.review(ctx, spec)
	})
	return found.positive, found.value, err
}

func (a *Access) review(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (answer[string], error) {
	review, err := a.opts.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: *spec}, metav1.CreateOptions{})
	if err != nil {
		return answer[string]{}, fmt.Errorf("review access: %w", err)
	}
	s := &review.Status
	allowed := s.Allowed && !s.Denied
	// After an evaluation error, another answer may follow at any moment.
	return answer[string]{value: s.Reason, positive: allowed, final: allowed || s.EvaluationError == "", size: len(s.Reason)}, nil
}
