package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// user is a user known to the API.
type user struct {
	spec authorizationv1.SubjectAccessReviewSpec // without the path and verb
	id   digest                                  // of all of it
}

// authenticate finds the user of a token; known is false if it is invalid.
func (g *Guard) authenticate(ctx context.Context, token string) (who user, known bool, err error) {
	key := g.seal.digest(token)
	look := func() bool {
		if who, known = g.users.find(key); known {
			return true
		}
		_, stranger := g.strangers.find(key)
		return stranger
	}
	if look() {
		return who, known, nil
	}
	done, err := g.wait(ctx)
	if err != nil {
		return user{}, false, err
	}
	defer done()
	if look() { // another request was faster
		return who, known, nil
	}
	review, err := g.opts.Client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return user{}, false, fmt.Errorf("review token: %w", err)
	}
	if !review.Status.Authenticated || review.Status.User.Username == "" {
		// An error in the status is why the token is invalid, for example because it has expired.
		g.strangers.keep(key, struct{}{})
		return user{}, false, nil
	}
	if who, err = g.userOf(&review.Status.User); err != nil {
		return user{}, false, err
	}
	g.users.keep(key, who)
	return who, true, nil
}

func (g *Guard) userOf(info *authenticationv1.UserInfo) (user, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: info.Username, UID: info.UID, Groups: info.Groups}
	if len(info.Extra) > 0 {
		spec.Extra = map[string]authorizationv1.ExtraValue{}
		for k, v := range info.Extra {
			spec.Extra[k] = authorizationv1.ExtraValue(v)
		}
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return user{}, fmt.Errorf("encode user %s: %w", info.Username, err)
	}
	return user{spec: spec, id: g.seal.digest(string(raw))}, nil
}

// authorize checks whether a user may request a path.
func (g *Guard) authorize(ctx context.Context, who user, path, verb string) (bool, error) {
	key := g.seal.digest(string(who.id[:]), verb, path)
	look := func() (allowed, found bool) {
		if _, ok := g.may.find(key); ok {
			return true, true
		}
		_, ok := g.mayNot.find(key)
		return false, ok
	}
	if allowed, ok := look(); ok {
		return allowed, nil
	}
	done, err := g.wait(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if allowed, ok := look(); ok {
		return allowed, nil
	}
	spec := who.spec
	spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: path, Verb: verb}
	review, err := g.opts.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	if review.Status.Allowed && !review.Status.Denied {
		g.may.keep(key, struct{}{})
		return true, nil
	}
	if review.Status.EvaluationError != "" {
		return false, nil // the result may change at any moment
	}
	g.mayNot.keep(key, struct{}{})
	return false, nil
}

// errCrowd is why a request fails if too many others are waiting.
var errCrowd = errors.New("too many requests are waiting for a review")

// wait waits for a slot. done returns it.
func (g *Guard) wait(ctx context.Context) (done func(), err error) {
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn }, nil
	case <-ctx.Done():
		return nil, errCrowd
	}
}
