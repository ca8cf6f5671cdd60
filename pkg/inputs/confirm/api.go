package confirm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// DefaultInterval is the time between two comparisons of a kind.
const DefaultInterval = time.Minute

// Options configure how an API is confirmed. The zero value compares each kind at the DefaultInterval.
type Options struct {
	Interval time.Duration    // between two comparisons of a kind; zero is DefaultInterval
	WentBack func(why string) // called when the database of the API was restored from a copy; nil calls nothing
}

// API is an API server, or several that share a database. NewAPI makes one.
type API struct {
	opts Options
	log  logrus.FieldLogger

	mu    sync.Mutex
	kinds []*Kind
}

// NewAPI makes an API of which no kind is followed.
func NewAPI(opts Options, log logrus.FieldLogger) *API {
	if opts.Interval <= 0 {
		opts.Interval = DefaultInterval
	}
	if opts.WentBack == nil {
		opts.WentBack = func(string) {}
	}
	return &API{opts: opts, log: log}
}

// Follow adds a kind. Its reflector or informer has to use the ListWatch of the result. The objects to compare are read
// with list, which may return fewer objects than requested, and of which only the metadata is used.
func (a *API) Follow(resource string, lw *cache.ListWatch, list cache.ListWithContextFunc) *Kind {
	k := &Kind{api: a, resource: resource, list: list, renewals: map[source.RenewalCause]int{}}
	k.heard.relisted = func(ctx context.Context, version string) { a.relisted(ctx, k, version) }
	k.lw = k.heard.following(lw)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kinds = append(a.kinds, k)
	return k
}

// Held is what is compared with the API. A cache.Store is one.
type Held interface {
	// ListKeys lists the keys of the objects held: their names with their namespaces.
	ListKeys() []string
	// GetByKey returns an object with its metadata; false if it is not held.
	GetByKey(key string) (o any, held bool, err error)
}

// Reader reads a kind without an informer, and keeps its watch alive itself. Its functions are safe for concurrent use.
type Reader struct {
	// List answers as the API does, consistently and in pages. It fails while nothing is held.
	List cache.ListWithContextFunc
	// Version is the highest resource version that was delivered; "" if there is none.
	Version func() string
	// Reread drops what is held and lists the kind again, for a reason.
	Reread func(why string)
}

// FollowReader adds a kind that has no informer.
func (a *API) FollowReader(resource string, r Reader) *Kind {
	k := &Kind{api: a, resource: resource, list: r.List, renewals: map[source.RenewalCause]int{}}
	k.heard.reader = &r
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kinds = append(a.kinds, k)
	return k
}

// relisted judges a list of a kind before its informer does: what is missing from it was not deleted if the API went back.
func (a *API) relisted(ctx context.Context, k *Kind, version string) {
	switch why, err := a.newest().goneBack(ctx, version); {
	case err != nil:
		k.heard.fellBack() // perhaps: objects that are missing until all has been compared may be lost
	case why != "":
		a.wentBack(why, k)
	}
}

// mark is how far the watches of an API have come, and the kind that was delivered last; nil if nothing was.
type mark struct {
	version string
	of      *Kind
}

// newest is how far the watches have come. Versions are those of one database, for all kinds.
func (a *API) newest() mark {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out mark
	for _, k := range a.kinds {
		if v := k.heard.highest(); out.of == nil && v != "" || later(v, out.version) {
			out = mark{v, k}
		}
	}
	return out
}

// goneBack reports whether the API has gone back, given the version of a list that came after the mark, and describes it; "" if it
// has not. A list may be older nevertheless, because it comes from a cache or because kinds have databases of their own: so the API is
// asked what it has now of the kind that was delivered last.
func (m mark) goneBack(ctx context.Context, version string) (why string, err error) {
	if m.of == nil || !later(m.version, version) {
		return "", nil
	}
	now, err := m.of.read(ctx, "", 1)
	if err != nil || !later(m.version, now.version) {
		return "", err
	}
	return fmt.Sprintf("the API has gone back from version %s to %s", m.version, now.version), nil
}

// wentBack handles that the database of the API was restored from a copy: all kinds are listed again, except for one that has just been
// listed.
func (a *API) wentBack(why string, listed *Kind) {
	a.mu.Lock()
	kinds := slices.Clone(a.kinds)
	a.mu.Unlock()
	isNew := false
	for _, k := range kinds {
		if !k.heard.fellBack() {
			continue
		}
		isNew = true
		k.count(source.RenewalBack)
		if k != listed {
			k.heard.replace(why)
		}
	}
	if isNew {
		a.log.Warn(why + "; reading all objects again, and keeping policies in force that it no longer has")
		a.opts.WentBack(why)
	}
}
