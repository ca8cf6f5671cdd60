package review

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tokens finds the users of bearer tokens by TokenReviews. Make it with NewTokens. It is safe for concurrent use.
type Tokens struct {
	opts    TokenOptions
	seal    seal
	answers *answers[*authenticationv1.UserInfo]
}

// TokenOptions configure Tokens.
type TokenOptions struct {
	Options

	// Audiences are those that a token may be meant for; none if it must be meant for the API itself.
	Audiences []string
	// Unknown is called when a review has found a token to be invalid, with the context of a request for it; nil is allowed.
	Unknown func(context.Context)
}

// NewTokens makes a Tokens.
func NewTokens(opts TokenOptions) *Tokens {
	opts.Options = opts.complete()
	if opts.Unknown == nil {
		opts.Unknown = func(context.Context) {}
	}
	return &Tokens{opts: opts, seal: newSeal(), answers: newAnswers[*authenticationv1.UserInfo](opts.Options)}
}

// User returns the user of a token, which must not be changed; nil if the API does not accept the token. The error is ErrUnavailable
// if the API could not be asked, or that of ctx.
func (t *Tokens) User(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	if !utf8.ValidString(token) { // a review would be for another one
		return nil, nil
	}
	found, err := t.answers.get(ctx, t.seal.digest([]byte(token)), "", func(ctx context.Context) (answer[*authenticationv1.UserInfo], error) {
		return t.review(ctx, token)
	})
	return found.value, err
}

func (t *Tokens) review(ctx context.Context, token string) (answer[*authenticationv1.UserInfo], error) {
	review, err := t.opts.Client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.opts.Audiences},
	}, metav1.CreateOptions{})
	if err != nil {
		return answer[*authenticationv1.UserInfo]{}, fmt.Errorf("review token: %w", err)
	}
	s := &review.Status
	if !s.Authenticated || s.User.Username == "" || !t.meant(s.Audiences) {
		// An error in the status is why the token is invalid, for example because it has expired.
		t.opts.Unknown(ctx)
		return answer[*authenticationv1.UserInfo]{final: true}, nil
	}
	return answer[*authenticationv1.UserInfo]{value: &s.User, positive: true, final: true, size: s.User.Size()}, nil
}

// meant reports whether one of the audiences that a review confirms was asked for. A cluster that confirms none does not know
// about audiences.
func (t *Tokens) meant(confirmed []string) bool {
	return len(t.opts.Audiences) == 0 || slices.ContainsFunc(t.opts.Audiences, func(a string) bool { return slices.Contains(confirmed, a) })
}
