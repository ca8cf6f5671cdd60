package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/webui"
)

// ui is the web page of a daemon. It notes what changes and works nothing out before somebody asks.
type ui struct {
	daemon   *Daemon
	listener net.Listener
	door     *door
	feed     *webui.Feed
	handler  http.Handler
	notes    *targetNotes
	reading  chan struct{} // holds a word while rows are read for a request

	mu      sync.Mutex
	state   webui.State // without its objects; its number is 0 before the first
	whole   webui.State // the last that was asked for, with objects
	objects map[object.Ref]runtime.Object
}

// newUI opens the page's address. It serves nothing before serve.
func newUI(d *Daemon) (*ui, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", d.opts.UIListen)
	if err != nil {
		return nil, fmt.Errorf("web page: %w", err)
	}
	u := &ui{
		daemon: d, listener: listener, feed: webui.NewFeed(time.Now()), reading: make(chan struct{}, 1),
		objects: map[object.Ref]runtime.Object{},
	}
	u.notes = newTargetNotes(u.feed)
	u.door = d.door.of(listener)
	u.handler = webui.New(webui.Options{Source: u, Feed: u.feed})
	d.observe = append(d.observe, u.notes)
	d.coverage.OnChange(u.notes.covered)
	d.pipeline.OnPublish(u.published)
	return u, nil
}

// UIAddress is where the web page is, as a URL; "" when there is none.
func (d *Daemon) UIAddress() string {
	if d.ui == nil {
		return ""
	}
	scheme := "http://"
	if d.ui.door.certificate != nil {
		scheme = "https://"
	}
	return scheme + d.ui.listener.Addr().String() + "/"
}

// serve answers requests until ctx ends. Streams of events end with it.
func (u *ui) serve(ctx context.Context) error {
	u.daemon.log.WithField("address", u.daemon.UIAddress()).Info("serving the web page")
	server := u.door.server(u.handler)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	if err := u.door.serve(ctx, server, u.listener); err != nil {
		return fmt.Errorf("web page: %w", err)
	}
	return nil
}

// published takes over what a snapshot was made from. It costs what changed.
func (u *ui) published(p pipeline.Published) {
	problems := slices.SortedFunc(slices.Values(u.daemon.pipeline.Problems()), object.Problem.Compare)
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.state
	same := before.Number > 0 && p.Snapshot == before.Snapshot && len(p.Events) == 0 && slices.Equal(problems, before.Problems)
	if same {
		return
	}
	for _, ref := range p.Events {
		if object, ok := u.daemon.source.Get(ref); ok && named(object) {
			u.objects[ref] = object
		} else {
			delete(u.objects, ref)
		}
	}
	u.state = webui.State{
		State: query.State{
			Cluster: u.daemon.opts.Cluster, Snapshot: p.Snapshot, View: p.View, Problems: problems,
		},
		Number: before.Number + 1, At: time.Now(),
	}
	u.tell(p, before.Problems, problems)
	u.notes.keep(p.Snapshot)
	u.notes.wanted(p.Snapshot.Revision(), p.Since)
}

// tell says what is new.
func (u *ui) tell(p pipeline.Published, before, now []object.Problem) {
	revision := p.Snapshot.Revision()
	u.feed.Add(webui.Event{
		At: time.Now(), Kind: webui.SnapshotPublished, Revision: revision,
		Text: fmt.Sprintf("revision %d from %s, in %s", revision, countOf(len(p.Events), "changed object"),
			p.Took.Round(time.Microsecond)),
	})
	for _, list := range []struct {
		kind      webui.EventKind
		these, in []object.Problem
	}{{webui.ProblemAppeared, now, before}, {webui.ProblemCleared, before, now}} {
		known := map[object.Problem]bool{}
		for _, q := range list.in {
			known[q] = true
		}
		for _, q := range list.these {
			if !known[q] {
				u.feed.Add(webui.Event{At: time.Now(), Kind: list.kind, Revision: revision, Text: q.Error()})
			}
		}
	}
}

// named says whether an object is one that questions may name.
func named(object runtime.Object) bool {
	switch object.(type) {
	case *corev1.Pod, *corev1.Node, *corev1.Service, *networkingv1.NetworkPolicy:
		return true
	default:
		return false
	}
}

// Newest is the newest state. Its objects are listed when it is asked for the first time.
func (u *ui) Newest() (webui.State, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.state.Number == 0 {
		return webui.State{}, false
	}
	if u.whole.Number == u.state.Number {
		return u.whole, true
	}
	u.whole = u.state
	objects := &u.whole.Objects
	for _, object := range u.objects {
		objects.Add(object)
	}
	return u.whole, true
}

// countOf spells a number of things.
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
