package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/serve/auth/review"
)

// cluster accepts tokens, and allows users to get their own path.
type cluster struct {
	mu     sync.Mutex
	groups string // of every user
	asked  []string
	judge  func(*authorizationv1.SubjectAccessReviewStatus)
	down   error
	hangs  chan struct{} // no review ends before it is closed, or the request is given up; nil delays none
}

func (c *cluster) options(t *testing.T) review.Options {
	client, err := kubernetes.NewForConfigAndClient(
		&rest.Config{Host: "http://cluster", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}, &http.Client{Transport: c})
	require.NoError(t, err)
	return review.Options{Client: client}
}

// RoundTrip answers a review. The tokens that a cluster accepts begin with "good".
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer any
	var about string
	if strings.HasSuffix(r.URL.Path, "tokenreviews") {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			return nil, err
		}
		about = review.Spec.Token
		if review.Status.Authenticated = strings.HasPrefix(about, "good"); review.Status.Authenticated {
			review.Status.User = authenticationv1.UserInfo{Username: about, Groups: []string{c.groups}}
		}
		answer = &review
	} else {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			return nil, err
		}
		about = review.Spec.User + " " + review.Spec.NonResourceAttributes.Path
		review.Status.Allowed = "/"+review.Spec.User == review.Spec.NonResourceAttributes.Path
		if c.judge != nil {
			c.judge(&review.Status)
		}
		answer = &review
	}
	c.mu.Lock()
	c.asked = append(c.asked, about)
	hangs, down := c.hangs, c.down
	c.mu.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if down != nil {
		return nil, down
	}
	raw, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)), Request: r,
	}, err
}

// reviews returns what was asked about since the last call.
func (c *cluster) reviews() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

func spec(user, path string) *authorizationv1.SubjectAccessReviewSpec {
	return &authorizationv1.SubjectAccessReviewSpec{User: user, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"}}
}

func TestAnswersAreCachedForTheirTime(t *testing.T) {
	for _, tc := range []struct {
		name               string
		ttl                review.TTL
		positive, negative time.Duration
	}{
		{"by default", review.TTL{}, time.Minute, 10 * time.Second},
		{"as set", review.TTL{Positive: time.Hour, Negative: time.Second}, time.Hour, time.Second},
		{"a denial for no longer than a permission", review.TTL{Positive: time.Second, Negative: time.Hour}, time.Second, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &cluster{}
				opts := c.options(t)
				opts.TTL = tc.ttl
				tokens, access := review.NewTokens(review.TokenOptions{Options: opts}), review.NewAccess(opts)
				positive := func() []string {
					who, err := tokens.User(t.Context(), "good")
					require.NoError(t, err)
					require.Equal(t, "good", who.Username)
					allowed, _, err := access.Allowed(t.Context(), spec("ann", "/ann"))
					require.NoError(t, err)
					require.True(t, allowed)
					return c.reviews()
				}
				negative := func() []string {
					who, err := tokens.User(t.Context(), "bad")
					require.NoError(t, err)
					require.Nil(t, who)
					allowed, _, err := access.Allowed(t.Context(), spec("ann", "/eve"))
					require.NoError(t, err)
					require.False(t, allowed)
					return c.reviews()
				}
				for _, kind := range []struct {
					ask   func() []string
					lasts time.Duration
				}{{positive, tc.positive}, {negative, tc.negative}} {
					require.Len(t, kind.ask(), 2)
					time.Sleep(kind.lasts - time.Nanosecond)
					require.Empty(t, kind.ask(), "cached")
					time.Sleep(time.Nanosecond)
					require.Len(t, kind.ask(), 2, "expired")
				}
			})
		})
	}
}

// TestWhatIsNotKnownIsNotCached has the API fail in each way.
func TestWhatIsNotKnownIsNotCached(t *testing.T) {
	c := &cluster{down: errors.New("no route to host")}
	tokens, access := review.NewTokens(review.TokenOptions{Options: c.options(t)}), review.NewAccess(c.options(t))
	for range 2 {
		who, err := tokens.User(t.Context(), "good")
		require.ErrorIs(t, err, review.ErrUnavailable)
		require.ErrorContains(t, err, "no route to host")
		require.Nil(t, who)
		allowed, _, err := access.Allowed(t.Context(), spec("ann", "/ann"))
		require.ErrorIs(t, err, review.ErrUnavailable)
		require.False(t, allowed)
		require.Len(t, c.reviews(), 2)
	}
	c.down = nil
	for _, judge := range []func(*authorizationv1.SubjectAccessReviewStatus){
		func(s *authorizationv1.SubjectAccessReviewStatus) {
			s.Allowed, s.EvaluationError = false, "a webhook is down"
		},
		func(s *authorizationv1.SubjectAccessReviewStatus) {
			s.Allowed, s.Denied, s.EvaluationError = true, true, "a webhook is down"
		},
	} {
		c.judge = judge
		for range 2 {
			allowed, _, err := access.Allowed(t.Context(), spec("ann", "/ann"))
			require.NoError(t, err)
			require.False(t, allowed)
			require.Len(t, c.reviews(), 1)
		}
	}
}

// TestTextThatIsNotUTF8IsRefused asks about what a review would replace by something else.
func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	c := &cluster{}
	tokens, access := review.NewTokens(review.TokenOptions{Options: c.options(t)}), review.NewAccess(c.options(t))
	allowed, _, err := access.Allowed(t.Context(), spec("\ufffd", "/\ufffd"))
	require.NoError(t, err)
	require.True(t, allowed)
	who, err := tokens.User(t.Context(), "good\ufffd")
	require.NoError(t, err)
	require.NotNil(t, who)
	require.Len(t, c.reviews(), 2)

	for _, s := range []*authorizationv1.SubjectAccessReviewSpec{spec("\xff", "/\ufffd"), spec("\ufffd", "/\xff")} {
		allowed, _, err = access.Allowed(t.Context(), s)
		require.NoError(t, err)
		require.False(t, allowed)
	}
	who, err = tokens.User(t.Context(), "good\xff")
	require.NoError(t, err)
	require.Nil(t, who)
	require.Empty(t, c.reviews())
}

// TestMemoryIsBounded asks for more than there is room for.
func TestMemoryIsBounded(t *testing.T) {
	for _, tc := range []struct {
		name           string
		entries, bytes int
		groups         int // the size of an answer
		want           int // answers cached
	}{
		{"few entries", 10, 1 << 30, 0, 10},
		{"few bytes", 1000, 10 << 10, 500, 13}, // 256 for the entry, 7 for the name, the groups with their lengths
		{"no room for one", 1000, 10 << 10, 10 << 10, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &cluster{groups: strings.Repeat("g", tc.groups)}
			opts := c.options(t)
			opts.Entries, opts.Bytes = tc.entries, tc.bytes
			tokens := review.NewTokens(review.TokenOptions{Options: opts})
			ask := func(i int) int {
				who, err := tokens.User(t.Context(), fmt.Sprintf("good-%02d", i))
				require.NoError(t, err)
				require.NotNil(t, who)
				return len(c.reviews())
			}
			const many = 30
			for i := range many {
				require.Equal(t, 1, ask(i))
			}
			for i := range tc.want {
				require.Zero(t, ask(many-tc.want+i), "the newest are cached")
			}
			for i := range 3 {
				_, err := tokens.User(t.Context(), fmt.Sprint("bad-", i))
				require.NoError(t, err)
			}
			require.Len(t, c.reviews(), 3)
			if tc.want > 0 {
				require.Zero(t, ask(many-tc.want), "unknown tokens evict no user")
				require.Equal(t, 1, ask(many), "a new one")
				require.Zero(t, ask(many-tc.want), "what is used stays")
				require.Equal(t, 1, ask(many-tc.want+1), "what has not been used for longest is dropped")
			}
		})
	}
}

// TestWhoNeedsTheSameAnswerSharesAReview has requests give up while they wait.
func TestWhoNeedsTheSameAnswerSharesAReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{hangs: make(chan struct{})}
		access := review.NewAccess(c.options(t))
		ask := func() (giveUp func(), got chan error) {
			ctx, cancel := context.WithCancel(t.Context())
			got = make(chan error, 1)
			go func() {
				_, _, err := access.Allowed(ctx, spec("ann", "/ann"))
				got <- err
			}()
			synctest.Wait()
			return cancel, got
		}
		first, gotFirst := ask()
		second, gotSecond := ask()
		require.Len(t, c.reviews(), 1)
		first()
		require.ErrorIs(t, <-gotFirst, context.Canceled)
		_, gotThird := ask()
		require.Empty(t, c.reviews(), "the review goes on for the second")
		second()
		require.ErrorIs(t, <-gotSecond, context.Canceled)
		close(c.hangs)
		require.NoError(t, <-gotThird)

		c.hangs = make(chan struct{})
		began := time.Now()
		other := func(ctx context.Context) error {
			_, _, err := access.Allowed(ctx, spec("bob", "/bob"))
			return err
		}
		require.ErrorIs(t, other(t.Context()), review.ErrUnavailable)
		require.Equal(t, 10*time.Second, time.Since(began), "a review takes no longer than that")
		require.Len(t, c.reviews(), 1)

		for range 3 { // each gives up before the answer comes
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, other(ctx), context.DeadlineExceeded)
			cancel()
		}
		require.Len(t, c.reviews(), 1, "the review goes on")
		close(c.hangs)
		synctest.Wait()
		require.NoError(t, other(t.Context()))
		require.Empty(t, c.reviews(), "its answer is cached")
	})
}

// TestNobodyWaitsForTheTurnOfNobody has a turn that never comes: what waits for it ends with those who wait.
func TestNobodyWaitsForTheTurnOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		opts := c.options(t)
		waiting := 0
		opts.Turn = func(ctx context.Context, _ string) (func(), error) {
			waiting++
			<-ctx.Done()
			waiting--
			return nil, ctx.Err()
		}
		access := review.NewAccess(opts)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := access.Allowed(ctx, spec("ann", "/ann"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		require.Zero(t, waiting)
		require.Empty(t, c.reviews())
	})
}

// TestReviewsWaitForTheirTurn has a turn that never comes, and counts those that end.
func TestReviewsWaitForTheirTurn(t *testing.T) {
	c := &cluster{}
	opts := c.options(t)
	var users []string
	var ended int
	refused := errors.New("not now")
	opts.Turn = func(_ context.Context, user string) (func(), error) {
		if users = append(users, user); user == "eve" {
			return nil, refused
		}
		return func() { ended++ }, nil
	}
	access := review.NewAccess(opts)
	_, _, err := access.Allowed(t.Context(), spec("eve", "/eve"))
	require.ErrorIs(t, err, refused)
	require.ErrorIs(t, err, review.ErrUnavailable)
	require.Empty(t, c.reviews())
	_, _, err = access.Allowed(t.Context(), spec("ann", "/ann"))
	require.NoError(t, err)
	c.down = errors.New("no route to host")
	_, err = review.NewTokens(review.TokenOptions{Options: opts}).User(t.Context(), "good")
	require.Error(t, err)
	require.Equal(t, []string{"eve", "ann", ""}, users)
	require.Equal(t, 2, ended)
}
