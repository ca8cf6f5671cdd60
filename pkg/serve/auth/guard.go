package auth

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/serve/auth/review"
)

// The results that are counted.
const (
	Allowed         = "allowed"
	Unauthenticated = "unauthenticated" // no token, or one that the API does not accept
	Forbidden       = "forbidden"       // a known user without permission
	Failed          = "failed"          // the API did not answer
)

// Results lists all of them.
func Results() []string { return []string{Allowed, Unauthenticated, Forbidden, Failed} }

// Options configure a Guard.
type Options struct {
	Client kubernetes.Interface // for the reviews; it should have its own rate limits
	Public []string             // paths without authentication
	Log    logrus.FieldLogger
	Count  func(result string) // called for every request to another path; nil is allowed

	Timeout time.Duration // of one review, including the time to wait for a slot; 0 is 5 seconds
	Reviews int           // at a time; 0 is 4
}

// Guard authorizes requests. New makes one.
type Guard struct {
	opts   Options
	turn   chan struct{} // has an element for each review in progress
	tokens *review.Tokens
	access *review.Access

	mu       sync.Mutex
	lastWord time.Time // when a failure was last logged
}

const (
	maxToken   = 16 << 10        // bytes; those of service accounts have a thousand or two
	lastsFor   = 2 * time.Minute // an answer in progress, such as a stream
	quietFor   = time.Minute     // between two log lines about an API that does not answer
	keptAtMost = 1024            // positive results of each kind, and as many negative ones
)

// New creates a Guard.
func New(opts Options) *Guard {
	if opts.Timeout <= 0 {
		opts.Timeout = 5 * time.Second
	}
	if opts.Reviews <= 0 {
		opts.Reviews = 4
	}
	if opts.Count == nil {
		opts.Count = func(string) {}
	}
	g := &Guard{opts: opts, turn: make(chan struct{}, opts.Reviews)}
	reviews := review.Options{Client: opts.Client, Entries: keptAtMost, Timeout: opts.Timeout, Turn: g.wait}
	g.tokens, g.access = review.NewTokens(review.TokenOptions{Options: reviews}), review.NewAccess(reviews)
	return g
}

// Wrap passes permitted requests to next and rejects all others.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(g.opts.Public, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		result := g.decide(r)
		g.opts.Count(result)
		switch result {
		case Allowed:
			r.Header.Del("Authorization")                             // not needed by any handler after this
			ctx, cancel := context.WithTimeout(r.Context(), lastsFor) // after that the client must authenticate again
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		case Unauthenticated:
			w.Header().Set("WWW-Authenticate", `Bearer realm="netloom"`)
			http.Error(w, "a bearer token that the cluster accepts is required", http.StatusUnauthorized)
		case Forbidden:
			http.Error(w, "the user has no permission for this path", http.StatusForbidden)
		default:
			http.Error(w, "the cluster could not authorize the request", http.StatusInternalServerError)
		}
	})
}

// decide authenticates and authorizes a request.
func (g *Guard) decide(r *http.Request) string {
	token, ok := bearer(r)
	if !ok {
		return Unauthenticated
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.Timeout)
	defer cancel()
	who, err := g.tokens.User(ctx, token)
	switch {
	case err != nil:
		g.logUnavailable(err, token)
		return Failed
	case who == nil:
		return Unauthenticated
	}
	allowed, _, err := g.access.Allowed(ctx, question(who, r.URL.Path, verb(r)))
	switch {
	case err != nil:
		g.logUnavailable(err, token)
		return Failed
	case !allowed:
		return Forbidden
	}
	return Allowed
}

// bearer returns the token of a request.
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken
}

// verb returns the verb in a role for the method of a request. HEAD needs the same permission as GET.
func verb(r *http.Request) string {
	if r.Method == http.MethodHead {
		return "get"
	}
	return strings.ToLower(r.Method)
}

// logUnavailable logs that the API could not be queried, at most once in quietFor.
func (g *Guard) logUnavailable(err error, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if !g.lastWord.IsZero() && now.Sub(g.lastWord) < quietFor {
		return
	}
	g.lastWord = now
	text := strings.ReplaceAll(err.Error(), token, "(redacted)") // a server may quote the request
	g.opts.Log.WithField("error", text).Warn("rejecting requests: the cluster cannot authorize them")
}
