package watchcache

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/inputs/confirm"
)

// Config is what a Cache needs.
type Config struct {
	// Upstream reaches the API with the gateway's own identity. Scheme and host of its requests mean nothing.
	Upstream http.RoundTripper
	// Authorizer decides whether the user in a request's context may list or watch; the attributes carry the selectors.
	Authorizer authorizer.Authorizer
	// Resources are the kinds whose watches are shared; nil means those of Resources.
	Resources []Resource
	// Trimming serves clients that ask for trimmed objects; nil means all get whole ones.
	Trimming *Trimming
	// StaleAfter is how long the upstream watch may be interrupted before requests are left to the upstream. Zero means 10
	// seconds.
	StaleAfter time.Duration
	// WriteTimeout is how long a client may take to accept a write. Zero means 30 seconds.
	WriteTimeout time.Duration
	// BookmarkInterval is the time between bookmarks. Zero means a minute.
	BookmarkInterval time.Duration
	// ReviewInterval is the time after which the Authorizer is asked again whether a watch in progress is allowed, or up to a quarter
	// more, so that not all are asked about at once. Zero means 4 minutes.
	ReviewInterval time.Duration
	// ConfirmInterval is the time between two comparisons of a kind with what the upstream has. Zero means confirm.DefaultInterval.
	ConfirmInterval time.Duration
	Log             logrus.FieldLogger
}

// Cache shares the watches of one cluster. It is safe for concurrent use.
type Cache struct {
	config Config
	kinds  map[string]*kind // by the path of their list
	life   context.Context  //nolint:containedctx // it ends with the cache: work for several requests belongs to none of them
	stop   context.CancelFunc
	done   sync.WaitGroup

	lists, watches, passed atomic.Uint64
}

// New returns a cache. It asks the upstream nothing before the first request for a kind.
func New(config Config) (*Cache, error) {
	if config.Upstream == nil || config.Authorizer == nil || config.Log == nil {
		return nil, errors.New("a watch cache needs an upstream, an authorizer and a log")
	}
	if config.Resources == nil {
		config.Resources = Resources()
	}
	for d, otherwise := range map[*time.Duration]time.Duration{
		&config.StaleAfter: 10 * time.Second, &config.WriteTimeout: 30 * time.Second, &config.BookmarkInterval: time.Minute,
		&config.ReviewInterval: 4 * time.Minute,
	} {
		if *d == 0 {
			*d = otherwise
		}
	}
	c := &Cache{config: config, kinds: map[string]*kind{}}
	api := confirm.NewAPI(confirm.Options{Interval: config.ConfirmInterval}, config.Log)
	c.life, c.stop = context.WithCancel(context.Background())
	for _, r := range config.Resources {
		k := &kind{Resource: r, history: newHistory(), stale: config.StaleAfter, log: config.Log, group: &c.done}
		k.upstream = upstream{transport: config.Upstream, resource: &k.Resource}
		k.proof = k.confirmed(api)
		k.form.Store(k.empty())
		c.kinds[r.path("")] = k
	}
	return c, nil
}

// Serve answers r if the cache can do so exactly, and reports whether it did. If not, it has written nothing. The context of
// r carries the user. w has to support http.ResponseController.
func (c *Cache) Serve(w http.ResponseWriter, r *http.Request) bool {
	q, ok := c.parse(r)
	if !ok {
		return false
	}
	answer := c.serveList
	if q.watch {
		answer = c.serveWatch
	}
	if c.allowed(r, q) && c.started(q.kind) && q.kind.ready(r.Context()) && answer(w, r, q) {
		return true
	}
	c.passed.Add(1)
	return false
}

// allowed asks the authorizer. Refusals and failures are alike: the upstream decides, and words, what the client gets.
func (c *Cache) allowed(r *http.Request, q *query) bool {
	decision, err := c.review(r, q)
	return err == nil && decision == authorizer.DecisionAllow
}

// review returns what the authorizer says of q.
func (c *Cache) review(r *http.Request, q *query) (authorizer.Decision, error) {
	user, ok := request.UserFrom(r.Context())
	if !ok {
		return authorizer.DecisionDeny, nil
	}
	a := authorizer.AttributesRecord{
		User: user, Verb: "list", Namespace: q.namespace, APIGroup: q.kind.Group, APIVersion: q.kind.Version,
		Resource: q.kind.Resource.Resource, ResourceRequest: true, Path: r.URL.Path,
		FieldSelectorRequirements: q.fields.Requirements(),
	}
	if q.watch {
		a.Verb = "watch"
	}
	a.Name, _ = q.fields.RequiresExactMatch(fieldName)
	a.LabelSelectorRequirements, _ = q.labels.Requirements()
	decision, _, err := c.config.Authorizer.Authorize(r.Context(), a)
	return decision, err
}

// started makes sure that the history of k is being kept, and reports whether it is.
func (c *Cache) started(k *kind) bool {
	k.start.Do(func() {
		c.done.Go(func() { k.run(c.life) })
	})
	return c.life.Err() == nil
}

// Close ends all watches and waits for what the cache has started.
func (c *Cache) Close() {
	c.stop()
	for _, k := range c.kinds {
		k.start.Do(func() {}) // from here on nothing starts
		k.close()
	}
	c.done.Wait()
}

// Stats describes what a Cache holds and has done.
type Stats struct {
	Lists, Watches uint64 // answered
	Passed         uint64 // requests for shared kinds that were left to the upstream
	Kinds          []KindStats
}

// KindStats describes one kind.
type KindStats struct {
	Resource        string
	Synced          bool
	Objects         int
	Watches         int           // of clients, now
	UpstreamWatches uint64        // opened so far
	Interrupted     time.Duration // how long the upstream watch has been, or the objects should have been confirmed but were not
}

// Stats returns what the cache holds and has done, in the order of the configured resources.
func (c *Cache) Stats() Stats {
	s := Stats{Lists: c.lists.Load(), Watches: c.watches.Load(), Passed: c.passed.Load()}
	for _, r := range c.config.Resources {
		k := c.kinds[r.path("")]
		state, _, synced := k.now()
		s.Kinds = append(s.Kinds, KindStats{
			Resource: r.GroupResource().String(), Synced: synced, Objects: state.Len(), Watches: k.count(),
			UpstreamWatches: k.watched.Load(), Interrupted: max(k.interrupted(), k.unconfirmed()),
		})
	}
	return s
}
