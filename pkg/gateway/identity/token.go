package identity

import (
	"context"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
)

// Tokens authenticates bearer tokens by TokenReviews of a cluster. Make it with NewTokens.
type Tokens struct {
	client    kubernetes.Interface
	audiences []string
	seal      seal
	users     *reviews[*user.DefaultInfo]
	guesses   *guesses
}

// NewTokens makes an authenticator. A token must be meant for one of audiences, or for the cluster if there are none.
func NewTokens(client kubernetes.Interface, audiences []string, ttl TTL) *Tokens {
	return &Tokens{client: client, audiences: audiences, seal: newSeal(), users: newReviews[*user.DefaultInfo](ttl), guesses: newGuesses()}
}

// AuthenticateToken returns the user of a token. The error is ErrUnavailable if the cluster could not be asked, or is not for
// now, because the connection in ctx comes from where too many unknown tokens came from.
func (t *Tokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	who, known, err := t.users.get(ctx, t.seal.key(token), func(ctx context.Context) (result[*user.DefaultInfo], error) {
		from := sourceOf(ctx)
		if t.guesses.exceeded(from) {
			return result[*user.DefaultInfo]{}, errGuesses
		}
		review, err := t.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
		}, metav1.CreateOptions{})
		if err != nil {
			return result[*user.DefaultInfo]{}, err
		}
		s := &review.Status
		if !s.Authenticated || s.User.Username == "" || !t.meant(s.Audiences) {
			t.guesses.note(from)
			return result[*user.DefaultInfo]{final: true}, nil
		}
		return result[*user.DefaultInfo]{value: userOf(&s.User), positive: true, final: true}, nil
	})
	if err != nil || !known {
		return nil, false, err
	}
	return &authenticator.Response{User: who}, true, nil
}

// meant reports whether one of the audiences that a review confirms was asked for. A cluster that confirms none does not know
// about audiences.
func (t *Tokens) meant(confirmed []string) bool {
	return len(t.audiences) == 0 || slices.ContainsFunc(t.audiences, func(a string) bool { return slices.Contains(confirmed, a) })
}

func userOf(info *authenticationv1.UserInfo) *user.DefaultInfo {
	who := &user.DefaultInfo{Name: info.Username, UID: info.UID, Groups: info.Groups}
	if len(info.Extra) > 0 {
		who.Extra = map[string][]string{}
		for k, v := range info.Extra {
			who.Extra[k] = v
		}
	}
	return who
}
