// Package live is what the web page shows of a running netloom: its newest snapshot, the state of its targets, and events.
// It records changes, and computes nothing before a request needs it.
package live

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/translator"
)

// State is the part of netloom that the page shows.
type State interface {
	// Object returns an object of the source; false if there is none.
	Object(ref object.Ref) (runtime.Object, bool)
	// Targets lists the targets as they are now.
	Targets() []Target
	// Views lists what netloom sees, and how current that is known to be.
	Views() []web.View
	// LookBeyond finds out what decides on connections and is not evaluated, if that is not known, and calls Page.Beyond.
	LookBeyond(ctx context.Context)
	// ReadRows reads the rows of an object from a target, over a separate connection.
	ReadRows(ctx context.Context, target string, of object.Ref) ([]backends.Row, error)
}

// Target is a database, or the device of a CNF.
type Target struct {
	Name     string
	Status   reconcile.Status   // of its loop
	Up       *bool              // whether there is a connection; nil if that is not known
	Coverage *backends.Coverage // nil if it is not known
	CNF      *intent.CNF        // nil for a database
	NotReady error              // why nothing is written to a CNF now; nil if it may be written to
}

// Options is what a page shows.
type Options struct {
	State       State
	Cluster     string             // its name; "" means the only one
	Translation translator.Options // how its snapshots are made
	Logs        Logs
}

// Page is the source of a web page. Make it with New.
type Page struct {
	opts    Options
	state   State
	feed    *web.Feed
	flows   *follower
	notes   *notes
	reading chan struct{} // of size 1: taken while rows are read for a request

	mu      sync.Mutex
	latest  web.State // without its objects; its number is 0 before the first
	whole   web.State // the last that was requested, with objects
	objects map[object.Ref]runtime.Object
	beyond  *world.Reading // what was left out of it; nil if that is not known
}

// New makes the page of a cluster.
func New(opts Options) *Page {
	p := &Page{
		opts: opts, state: opts.State, feed: web.NewFeed(time.Now()), reading: make(chan struct{}, 1),
		objects: map[object.Ref]runtime.Object{},
	}
	p.notes = newNotes(p.feed)
	p.flows = newFollower(opts.Logs, p.newest, opts.Translation)
	return p
}

// Handler serves the page.
func (p *Page) Handler() http.Handler {
	return web.New(web.Options{Source: p, Feed: p.feed, Translation: p.opts.Translation})
}

// Follow reads the ACL logs until ctx ends.
func (p *Page) Follow(ctx context.Context, log logrus.FieldLogger) { p.flows.run(ctx, log) }

// Views lists what netloom sees, and how current that is known to be.
func (p *Page) Views() []web.View { return p.state.Views() }

// Flows returns what the ACL logs say.
func (p *Page) Flows() web.FlowLog { return p.flows.report() }

// Observer records what the loops of targets do.
func (p *Page) Observer() reconcile.Observer { return p.notes }

// Covered announces that the missing endpoints of a target have changed.
func (p *Page) Covered(target string, was, now backends.Gaps) { p.notes.covered(target, was, now) }

// Published takes a new snapshot and the objects that changed. Its cost is that of the changes.
func (p *Page) Published(now pipeline.Published) {
	problems := now.Problems
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.latest
	same := before.Number > 0 && now.Snapshot == before.Snapshot && len(now.Events) == 0 && object.SameProblems(problems, before.Problems)
	if same {
		return
	}
	for _, ref := range now.Events {
		if object, ok := p.state.Object(ref); ok && shown(object) {
			p.objects[ref] = object
		} else {
			delete(p.objects, ref)
		}
	}
	p.latest = web.State{
		State: world.State{
			Cluster: p.opts.Cluster, Snapshot: now.Snapshot, View: now.View, Problems: problems, Reading: p.beyond,
		},
		Number: before.Number + 1, At: time.Now(),
	}
	p.announce(now, before.Problems, problems)
	p.notes.keep(now.Snapshot)
	p.notes.wanted(now.Snapshot.Revision(), now.Since)
}

// Beyond takes what is known of objects that are not evaluated although they decide on connections.
func (p *Page) Beyond(reading *world.Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beyond = reading
	if p.latest.Number > 0 {
		p.latest.Reading, p.latest.Number = reading, p.latest.Number+1
	}
}

// announce adds what is new to the feed.
func (p *Page) announce(published pipeline.Published, before, now []object.Problem) {
	revision := published.Snapshot.Revision()
	p.feed.Add(web.Event{
		At: time.Now(), Kind: web.SnapshotPublished, Revision: revision,
		Text: fmt.Sprintf("revision %d from %s, in %s", revision, countOf(len(published.Events), "changed object"),
			published.Took.Round(time.Microsecond)),
	})
	object.DiffProblems(before, now, func(q object.Problem, isNew bool) {
		kind := web.ProblemCleared
		if isNew {
			kind = web.ProblemAppeared
		}
		p.feed.Add(web.Event{At: time.Now(), Kind: kind, Revision: revision, Text: q.Error()})
	})
}

// shown reports whether queries may name an object, or policies depend on it.
func shown(object runtime.Object) bool {
	switch object.(type) {
	case *corev1.Namespace, *corev1.Pod, *corev1.Node, *corev1.Service, *networkingv1.NetworkPolicy, *v1alpha2.ClusterNetworkPolicy,
		*v1alpha1.AdminNetworkPolicy, *v1alpha1.BaselineAdminNetworkPolicy:
		return true
	default:
		return false
	}
}

// Newest returns the newest state. Its objects are listed when it is requested for the first time.
func (p *Page) Newest() (web.State, bool) {
	p.state.LookBeyond(context.Background())
	return p.newest()
}

// newest is Newest with what is known.
func (p *Page) newest() (web.State, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest.Number == 0 {
		return web.State{}, false
	}
	if p.whole.Number == p.latest.Number {
		return p.whole, true
	}
	p.whole = p.latest
	objects := &p.whole.Objects
	for _, object := range p.objects {
		objects.Add(object)
		switch object.(type) {
		case *corev1.Namespace, *v1alpha2.ClusterNetworkPolicy, *v1alpha1.AdminNetworkPolicy, *v1alpha1.BaselineAdminNetworkPolicy:
			p.whole.Further = append(p.whole.Further, object)
		}
	}
	return p.whole, true
}

// countOf formats a number of things.
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
