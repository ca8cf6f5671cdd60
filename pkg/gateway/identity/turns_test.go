package identity_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/gateway/identity"
)

// slowly allows everything, but keeps a user waiting.
type slowly struct {
	user   string
	asked  atomic.Int32  // about the user
	answer chan struct{} // closed when the user no longer waits
}

func (s *slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		return nil, err
	}
	if review.Spec.User == s.user {
		s.asked.Add(1)
		select {
		case <-s.answer:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	review.Status.Allowed = true
	raw, err := json.Marshal(review)
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)),
	}, err
}

// TestReviewsOfAUserWaitForOneAnother has one user ask for more than the cluster answers, until the reviews time out.
func TestReviewsOfAUserWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &slowly{user: "eve", answer: make(chan struct{})}
		client, err := kubernetes.NewForConfig(&rest.Config{
			Host: "https://cluster", Transport: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
		})
		require.NoError(t, err)
		access := identity.NewAccess(client, identity.TTL{})
		may := func(name, resource string) (authorizer.Decision, error) {
			decision, _, err := access.Authorize(t.Context(), &authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: name}, Verb: "list", Resource: resource, ResourceRequest: true,
			})
			return decision, err
		}
		const flood = 50
		failed := make(chan error, flood)
		for i := range flood {
			go func() {
				_, err := may("eve", fmt.Sprint("kind-", i))
				failed <- err
			}()
		}
		synctest.Wait()
		require.EqualValues(t, 4, server.asked.Load())
		decision, err := may("bob", "pods")
		require.NoError(t, err)
		require.Equal(t, authorizer.DecisionAllow, decision, "others do not wait")
		require.Empty(t, failed)

		for range flood {
			require.ErrorIs(t, <-failed, identity.ErrUnavailable, "nobody waits for longer than a review may take")
		}
		close(server.answer)
		decision, err = may("eve", "pods")
		require.NoError(t, err)
		require.Equal(t, authorizer.DecisionAllow, decision, "the next review does not wait for those that failed")
	})
}
