package httpauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// user is somebody whom the API knows.
type user struct {
	spec authorizationv1.SubjectAccessReviewSpec // without what is asked for
	id   digest                                  // of all of it
}

// authenticate finds out whose token it is; nobody's when known is false.
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
	if look() { // somebody was faster
		return who, known, nil
	}
	review, err := g.opts.Client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return user{}, false, fmt.Errorf("review token: %w", err)
	}
	if !review.Status.Authenticated || review.Status.User.Username == "" {
		// An error in the status says why a token is none, such as that it has ended.
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

// authorize finds out whether a user may ask for a path.
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
		return false, nil // it may be another answer in a moment
	}
	g.mayNot.keep(key, struct{}{})
	return false, nil
}

// errCrowd is why a request fails that came with too many others.
var errCrowd = errors.New("too many requests are waiting for a review")

// wait waits for a turn. done gives it back.
func (g *Guard) wait(ctx context.Context) (done func(), err error) {
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn }, nil
	case <-ctx.Done():
		return nil, errCrowd
	}
}
