package identity

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/serve/auth/review"
)

// Tokens authenticates bearer tokens by TokenReviews of a cluster. Make it with NewTokens.
type Tokens struct{ reviews *review.Tokens }

// NewTokens makes an authenticator. A token must be meant for one of audiences, or for the cluster if there are none.
func NewTokens(client kubernetes.Interface, audiences []string, ttl TTL) *Tokens {
	guesses := newGuesses()
	return &Tokens{reviews: review.NewTokens(review.TokenOptions{
		Options: review.Options{Client: client, TTL: ttl, Entries: cached, Turn: guesses.turn}, Audiences: audiences, Unknown: guesses.note,
	})}
}

// AuthenticateToken returns the user of a token. The error is ErrUnavailable if the cluster could not be asked, or is not for
// now, because the connection in ctx comes from where too many unknown tokens came from.
func (t *Tokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	who, err := t.reviews.User(ctx, token)
	if err != nil || who == nil {
		return nil, false, err
	}
	return &authenticator.Response{User: userOf(who)}, true, nil
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
