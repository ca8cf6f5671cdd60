package watchcache

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// serveWatch answers a watch until it ends.
func (c *Cache) serveWatch(w http.ResponseWriter, r *http.Request, q *query) bool {
	var objects *state
	from := q.version
	if q.initial {
		var ok bool
		if objects, from, ok = c.basis(r, q); !ok {
			return false
		}
	}
	c.watches.Add(1)
	c.answerHeader(w, q)
	w.WriteHeader(http.StatusOK)
	s := c.stream(w)
	s.flush() // the client waits for the header
	if q.initial {
		s.initial(q, objects, from)
	}
	if q.timeout == 0 {
		q.timeout = 30*time.Minute + rand.N(30*time.Minute) //nolint:gosec // it spreads load, as in an API server
	}
	f := &follower{stream: s, query: q, version: from, watcher: newWatcher(q.scope()), gone: r.Context().Done(), closed: c.life.Done()}
	defer q.kind.unsubscribe(f.watcher)
	f.reviewed = c.config.ReviewInterval
	ctx, cancel := context.WithCancel(r.Context())
	defer f.asked.Wait()
	defer cancel()
	f.refused = func() bool {
		decision, err := c.review(r.WithContext(ctx), q)
		return err == nil && decision != authorizer.DecisionAllow
	}
	f.follow(q.timeout, c.config.BookmarkInterval)
	return true
}

func (c *Cache) stream(w http.ResponseWriter) *stream {
	return &stream{out: w, control: http.NewResponseController(w), timeout: c.config.WriteTimeout}
}

// stream writes to one client. After the first error it writes nothing.
type stream struct {
	out     io.Writer
	control *http.ResponseController
	timeout time.Duration
	err     error
}

func (s *stream) text(t string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, t)
	}
}

func (s *stream) bytes(b []byte) {
	if s.err == nil {
		_, s.err = s.out.Write(b)
	}
}

// extend gives the client time for the next writes; i counts writes, and only some of them are worth it.
func (s *stream) extend(i int) {
	if i%64 == 0 {
		_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) // without deadlines only this goroutine waits
	}
}

// flush sends what was written. Nothing limits the time until the next write.
func (s *stream) flush() {
	if s.err == nil {
		s.err = s.control.Flush()
	}
	_ = s.control.SetWriteDeadline(time.Time{}) // as above
}

func (s *stream) event(kind string, object []byte) {
	s.text(`{"type":"` + kind + `","object":`)
	s.bytes(object)
	s.text("}\n")
}

// initial sends the present objects.
func (s *stream) initial(q *query, objects *state, version uint64) {
	i := 0
	objects.Root().WalkPrefix([]byte(q.prefix()), func(_ []byte, o *object) bool {
		if q.matches(o) {
			s.extend(i)
			s.event("ADDED", o.in(&q.kind.Resource, q.trim))
			i++
		}
		return s.err != nil
	})
	if q.marked {
		s.extend(0)
		s.bookmark(q, version, `,"annotations":{"k8s.io/initial-events-end":"true"}`)
	}
	s.flush()
}

func (s *stream) bookmark(q *query, version uint64, more string) {
	s.event("BOOKMARK", q.kind.form.Load().object(version, more))
}

// expired tells the client that it has to list again.
func (s *stream) expired(message string) {
	status, err := json.Marshal(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone, Message: message,
	})
	if err != nil {
		return // a Status always has a JSON form; the client asks again in any case
	}
	s.extend(0)
	s.event("ERROR", status)
	s.flush()
}

// follower sends the changes after a version.
type follower struct {
	*stream
	query   *query
	version uint64 // the client has everything up to here
	watcher *watcher
	gone    <-chan struct{} // the client is
	closed  <-chan struct{} // the cache is

	reviewed time.Duration  // the time between two reviews of the client's permission
	refused  func() bool    // reports whether the client has lost it; false if that cannot be determined
	asked    sync.WaitGroup // of refused
}

// follow returns when the watch ends: reads from the history until there is nothing new, then from the queue.
func (f *follower) follow(timeout, interval time.Duration) {
	end := time.NewTimer(timeout)
	defer end.Stop()
	bookmark := time.NewTimer(interval + rand.N(interval/8+1)) //nolint:gosec // it spreads load
	defer bookmark.Stop()
	last := &time.Timer{} // without a time, there is no last bookmark
	if timeout > bookmarkBeforeEnd {
		last = time.NewTimer(timeout - bookmarkBeforeEnd)
		defer last.Stop()
	}
	review := time.NewTimer(f.pause())
	defer review.Stop()
	refused := make(chan bool, 1)
	live := false
	for f.err == nil {
		if !live {
			events, err := f.query.kind.since(f.version, f.watcher)
			if err != nil {
				f.expired(err.Error())
				return
			}
			live = len(events) == 0
			f.send(events)
			continue
		}
		select {
		case <-f.watcher.wake:
			queue, behind, ended, cause := f.watcher.take()
			f.send(queue)
			if ended {
				if cause != nil {
					f.expired(cause.Error())
				}
				return
			}
			live = !behind
		case <-bookmark.C:
			bookmark.Reset(interval)
			f.progress()
		case <-last.C:
			f.progress()
		case <-review.C:
			f.asked.Go(func() { refused <- f.refused() }) // events do not wait for the answer
		case gone := <-refused:
			if gone {
				return // the client asks again, and learns why from the upstream
			}
			review.Reset(f.pause())
		case <-end.C:
			return
		case <-f.gone:
			return
		case <-f.closed:
			return
		}
	}
}

// pause is the time until the next review.
func (f *follower) pause() time.Duration { return f.reviewed + rand.N(f.reviewed/4+1) } //nolint:gosec // it spreads load

// send writes the events that the query selects.
func (f *follower) send(events []*event) {
	sent := 0
	for _, e := range events {
		if e.version <= f.version {
			continue // the client asked for later ones
		}
		f.version = e.version
		if kind, o := f.query.change(e); o != nil {
			f.extend(sent)
			f.event(kind, o.in(&f.query.kind.Resource, f.query.trim))
			sent++
		}
	}
	if sent > 0 {
		f.flush()
	}
}

// change returns the event that q's client sees, if any.
func (q *query) change(e *event) (string, *object) {
	before, after := q.matches(e.old), q.matches(e.now)
	switch {
	case before && after:
		return "MODIFIED", e.now
	case after:
		return "ADDED", e.now
	case before:
		return "DELETED", e.seen()
	}
	return "", nil
}

// progress sends a bookmark if the client has received everything.
func (f *follower) progress() {
	version, ok := f.query.kind.quiet(f.watcher)
	if !ok || version < f.version {
		return
	}
	f.version = version
	if f.query.bookmarks {
		f.extend(0)
		f.bookmark(f.query, version, "")
		f.flush()
	}
}
