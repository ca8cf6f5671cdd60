package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/serve/auth"
)

// cluster knows users by their tokens, and what they may read.
type cluster struct {
	mu      sync.Mutex
	users   map[string]authenticationv1.UserInfo
	may     map[string]string // path by user
	down    error
	hangs   chan struct{} // no review ends before it is closed; nil delays none
	tokens  atomic.Int32  // reviews there were
	access  atomic.Int32
	atOnce  atomic.Int32
	highest atomic.Int32
}

// newCluster knows prometheus, who may read /metrics, and a user who may read nothing.
func newCluster() *cluster {
	return &cluster{
		users: map[string]authenticationv1.UserInfo{
			"good":  {Username: "prometheus", UID: "1", Groups: []string{"monitors"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"p-0"}}},
			"other": {Username: "somebody"},
		},
		may: map[string]string{"prometheus": "/metrics"},
	}
}

// client asks the cluster over HTTP without a network: a fake client would answer one request at a time.
func (c *cluster) client(t *testing.T) kubernetes.Interface {
	client, err := kubernetes.NewForConfigAndClient(
		&rest.Config{Host: "http://cluster", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}, &http.Client{Transport: c})
	require.NoError(t, err)
	return client
}

// RoundTrip answers a review.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	review := map[string]func([]byte) (any, error){
		"/apis/authentication.k8s.io/v1/tokenreviews":        c.reviewToken,
		"/apis/authorization.k8s.io/v1/subjectaccessreviews": c.reviewAccess,
	}[r.URL.Path]
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer, err := review(raw)
	if err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(answer); err != nil {
		return nil, err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(raw)), Request: r,
	}, nil
}

func (c *cluster) reviewToken(raw []byte) (any, error) {
	c.tokens.Add(1)
	var review authenticationv1.TokenReview
	if err := json.Unmarshal(raw, &review); err != nil {
		return nil, err
	}
	if err := c.answer(review.Spec.Token); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	who, known := c.users[review.Spec.Token]
	review.Status.User, review.Status.Authenticated = who, known
	return &review, nil
}

func (c *cluster) reviewAccess(raw []byte) (any, error) {
	c.access.Add(1)
	var review authorizationv1.SubjectAccessReview
	if err := json.Unmarshal(raw, &review); err != nil {
		return nil, err
	}
	if err := c.answer(""); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	of := review.Spec.NonResourceAttributes
	review.Status.Allowed = of.Verb == "get" && c.may[review.Spec.User] == of.Path && review.Spec.ResourceAttributes == nil
	if review.Spec.User == "prometheus" && (len(review.Spec.Groups) != 1 || review.Spec.UID != "1" || len(review.Spec.Extra["pod"]) != 1) {
		return nil, errors.New("the user is not whole")
	}
	return &review, nil
}

// answer delays and fails as the test asks. Its error quotes what was sent.
func (c *cluster) answer(sent string) error {
	n := c.atOnce.Add(1)
	defer c.atOnce.Add(-1)
	for high := c.highest.Load(); n > high; high = c.highest.Load() {
		c.highest.CompareAndSwap(high, n)
	}
	c.mu.Lock()
	hangs, down := c.hangs, c.down
	c.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
	if down != nil {
		return fmt.Errorf("%w: %q", down, sent)
	}
	return nil
}

func (c *cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// gate is a guard with a page behind it.
type gate struct {
	*testing.T
	handler http.Handler
	counts  map[string]int
	mu      sync.Mutex
	log     *logtest.Hook
}

func newGate(t *testing.T, c *cluster) *gate {
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.TraceLevel)
	g := &gate{T: t, counts: map[string]int{}, log: hook}
	g.handler = auth.New(auth.Options{
		Client: c.client(t), Public: []string{"/healthz", "/readyz"}, Log: log, Reviews: 2,
		Count: func(result string) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.counts[result]++
		},
	}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "page of %q", r.Header.Get("Authorization"))
	}))
	return g
}

// ask makes a request with Authorization headers.
func (g *gate) ask(method, path string, authorization ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.WithoutCancel(g.Context()), method, path, http.NoBody)
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

func TestWhoMayPass(t *testing.T) {
	for _, tc := range []struct {
		name, method, path string
		authorization      []string
		want               int
	}{
		{"probes need no token", "GET", "/healthz", nil, 200},
		{"nor does readiness", "GET", "/readyz", nil, 200},
		{"what only begins so does", "GET", "/healthz/x", nil, 401},
		{"a path that leads there by a detour does", "GET", "//healthz", nil, 401},
		{"no token", "GET", "/metrics", nil, 401},
		{"an empty one", "GET", "/metrics", []string{"Bearer "}, 401},
		{"two of them", "GET", "/metrics", []string{"Bearer good", "Bearer good"}, 401},
		{"another scheme", "GET", "/metrics", []string{"Basic good"}, 401},
		{"an unknown token", "GET", "/metrics", []string{"Bearer bad"}, 401},
		{"a token of an impossible length", "GET", "/metrics", []string{"Bearer " + strings.Repeat("x", 20<<10)}, 401},
		{"a user without the right", "GET", "/metrics", []string{"Bearer other"}, 403},
		{"the right to another path", "GET", "/debug/plan", []string{"Bearer good"}, 403},
		{"the right", "GET", "/metrics", []string{"Bearer good"}, 200},
		{"schemes have no case", "GET", "/metrics", []string{"bearer good"}, 200},
		{"parameters are no part of it", "GET", "/metrics?name=x", []string{"Bearer good"}, 200},
		{"to look is to get", "HEAD", "/metrics", []string{"Bearer good"}, 200},
		{"to write is another verb", "POST", "/metrics", []string{"Bearer good"}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newGate(t, newCluster())
			w := g.ask(tc.method, tc.path, tc.authorization...)
			require.Equal(t, tc.want, w.Code)
			if tc.want == http.StatusOK {
				require.Equal(t, `page of ""`, w.Body.String(), "the token goes no further")
			} else {
				require.NotContains(t, w.Body.String(), "page")
				require.Equal(t, tc.want == http.StatusUnauthorized, w.Header().Get("WWW-Authenticate") != "")
			}
		})
	}
}

func TestAnswersAreKeptForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		g := newGate(t, c)
		for range 50 {
			require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code)
			require.Equal(t, 401, g.ask("GET", "/metrics", "Bearer bad").Code)
			require.Equal(t, 403, g.ask("GET", "/metrics", "Bearer other").Code)
		}
		require.EqualValues(t, 3, c.tokens.Load())
		require.EqualValues(t, 2, c.access.Load())
		require.Equal(t, map[string]int{"allowed": 50, "unauthenticated": 50, "forbidden": 50}, g.counts)

		c.change(func() {
			c.may["somebody"] = "/metrics"
			c.users["bad"] = authenticationv1.UserInfo{Username: "somebody"}
		})
		time.Sleep(10 * time.Second)
		require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer bad").Code, "a denial is checked again soon")
		require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer other").Code)

		c.change(func() { clear(c.users); clear(c.may) })
		require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code)
		time.Sleep(time.Minute)
		require.Equal(t, 401, g.ask("GET", "/metrics", "Bearer good").Code, "an approval ends after a minute")
	})
}

func TestWhatCannotBeFoundOutIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		g := newGate(t, c)
		c.change(func() { c.down = errors.New("no route to host") })
		for range 100 {
			w := g.ask("GET", "/metrics", "Bearer s3cr3t-t0k3n")
			require.Equal(t, 500, w.Code)
			require.NotContains(t, w.Body.String(), "route")
		}
		require.Len(t, g.log.AllEntries(), 1, "it is logged once in a while")
		line, err := g.log.LastEntry().String()
		require.NoError(t, err)
		require.Contains(t, line, "no route to host")
		require.NotContains(t, line, "s3cr3t")

		c.change(func() { c.down = nil })
		require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code, "a failure is not kept")
		c.change(func() { c.down = errors.New("no route to host") })
		require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code, "an answer is cached for a while")
		time.Sleep(time.Minute)
		require.Equal(t, 500, g.ask("GET", "/metrics", "Bearer good").Code)
		require.Len(t, g.log.AllEntries(), 2)
	})
}

func TestReviewsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.hangs = make(chan struct{})
		g := newGate(t, c)
		codes := make(chan int, 20)
		began := time.Now()
		for i := range cap(codes) {
			go func() { codes <- g.ask("GET", "/metrics", fmt.Sprintf("Bearer %d", i)).Code }()
		}
		for range cap(codes) - 2 {
			require.Equal(t, 500, <-codes)
		}
		require.Equal(t, 5*time.Second, time.Since(began), "a request that waits too long is refused")
		require.EqualValues(t, 2, c.highest.Load())
		close(c.hangs)
	})
}

func TestManyWithOneTokenAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.hangs = make(chan struct{})
		g := newGate(t, c)
		codes := make(chan int, 20)
		for range cap(codes) {
			go func() { codes <- g.ask("GET", "/metrics", "Bearer good").Code }()
		}
		synctest.Wait()
		close(c.hangs)
		for range cap(codes) {
			require.Equal(t, 200, <-codes)
		}
		require.LessOrEqual(t, c.tokens.Load(), int32(2), "as many as had a turn at once")
	})
}

// TestMadeUpTokensEvictNoUser checks that the cache is bounded, and that a flood of bad tokens does not evict good ones.
func TestMadeUpTokensEvictNoUser(t *testing.T) {
	c := newCluster()
	g := newGate(t, c)
	require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code)
	for i := range 5000 {
		require.Equal(t, 401, g.ask("GET", "/metrics", fmt.Sprintf("Bearer %d", i)).Code)
	}
	require.EqualValues(t, 5001, c.tokens.Load())
	require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code)
	require.EqualValues(t, 5001, c.tokens.Load(), "the good one is still known")
	require.Equal(t, 401, g.ask("GET", "/metrics", "Bearer 4999").Code)
	require.EqualValues(t, 5001, c.tokens.Load(), "and so is the newest of the bad")
	require.Equal(t, 401, g.ask("GET", "/metrics", "Bearer 0").Code)
	require.EqualValues(t, 5002, c.tokens.Load(), "the oldest is forgotten")
}

// TestPathsThatAreNotTextAreRefused requests a path that a review cannot contain: it would ask about another.
func TestPathsThatAreNotTextAreRefused(t *testing.T) {
	c := newCluster()
	c.may["prometheus"] = "/\ufffd"
	g := newGate(t, c)
	require.Equal(t, 200, g.ask("GET", "/%ef%bf%bd", "Bearer good").Code)
	require.Equal(t, 403, g.ask("GET", "/%ff", "Bearer good").Code)
}

func TestNothingIsKeptOfARequestThatWasGivenUp(t *testing.T) {
	c := newCluster()
	g := newGate(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	_, _ = io.Copy(io.Discard, w.Body)
	require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code)
}

// TestAnswersEnd checks that a stream ends, so that it does not outlive the right of its token.
func TestAnswersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logtest.NewNullLogger()
		h := auth.New(auth.Options{Client: newCluster().client(t), Log: log}).Wrap(http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-time.After(time.Hour):
				}
			}))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		r.Header.Set("Authorization", "Bearer good")
		began := time.Now()
		h.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, 2*time.Minute, time.Since(began))
	})
}
