package tungsten

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	keepAlive    = time.Minute
	longestQueue = 1 << 17 // changes that a slow client may be behind
)

// stream is one change stream.
type stream struct {
	kinds  map[*kind][]string // the fields to show; nil for all
	wake   chan struct{}      // of capacity one
	gone   chan struct{}
	ending sync.Once

	mu    sync.Mutex
	queue []change
}

// add queues the changes of a write. It must not block.
func (st *stream) add(changes []change) {
	st.mu.Lock()
	for _, c := range changes {
		if _, watched := st.kinds[c.kind]; watched {
			st.queue = append(st.queue, c)
		}
	}
	tooMany := len(st.queue) > longestQueue
	st.mu.Unlock()
	if tooMany {
		st.end()
	}
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

func (st *stream) take() []change {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := st.queue
	st.queue = nil
	return out
}

func (st *stream) end() { st.ending.Do(func() { close(st.gone) }) }

// watch answers with a change stream until either side ends it.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) answer {
	types := r.URL.Query().Get("resource_type")
	if types == "" {
		return refusedAnswer(refuse(http.StatusBadRequest, "resource_type required in request"), "")
	}
	st := &stream{kinds: make(map[*kind][]string), wake: make(chan struct{}, 1), gone: make(chan struct{})}
	var order []*kind
	for _, name := range strings.Split(types, ",") {
		k := s.db.kinds[dashed(name)]
		if k == nil {
			return refusedAnswer(refuse(http.StatusNotFound, "Invalid Contrail resource type:'%s'", name), "")
		}
		order = append(order, k)
		st.kinds[k] = nil
		if fields := r.URL.Query().Get(k.field + "_fields"); fields != "" {
			st.kinds[k] = strings.Split(fields, ",")
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	s.mu.Lock()
	s.streams[st] = struct{}{}
	var first [][]byte
	for _, k := range order {
		first = append(first, s.db.initial(k, st.kinds[k]))
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.streams, st)
		s.mu.Unlock()
	}()
	flush := http.NewResponseController(w)
	for _, event := range first {
		if _, err := w.Write(event); err != nil {
			return answer{}
		}
	}
	_ = flush.Flush() // the next write reports it
	return s.feed(w, r, st)
}

// feed sends changes until the stream ends.
func (s *Server) feed(w http.ResponseWriter, r *http.Request, st *stream) answer {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	flush := http.NewResponseController(w)
	for {
		var out []byte
		select {
		case <-st.gone:
			return answer{cut: true}
		case <-s.closed:
			return answer{cut: true}
		case <-r.Context().Done():
			return answer{}
		case <-alive.C:
			out = []byte(":\n\n")
		case <-st.wake:
			for _, c := range st.take() {
				s.mu.RLock()
				out = append(out, s.db.event(c, st.kinds[c.kind])...)
				s.mu.RUnlock()
			}
		}
		if _, err := w.Write(out); err != nil {
			return answer{}
		}
		_ = flush.Flush() // the next write reports it
	}
}

// initial is the event with all objects of a kind.
func (db *database) initial(k *kind, fields []string) []byte {
	list := []any{}
	for _, o := range db.list(k) {
		list = append(list, dict{{k.name, db.render(o, view{fields: fields, all: fields == nil, parent: true})}})
	}
	return eventLines("init", dict{{k.collection(), list}})
}

// event shows a change. The object is read now: one that is gone by now is reported as deleted.
func (db *database) event(c change, fields []string) []byte {
	o := db.byUUID[c.uuid]
	if o == nil || c.event == "delete" {
		return eventLines("delete", dict{{c.kind.name, dict{{"uuid", c.uuid}}}})
	}
	v := view{fields: fields, all: fields == nil, parent: true, noParent: fields != nil}
	return eventLines(c.event, dict{{c.kind.name, db.render(o, v)}})
}

func eventLines(name string, data dict) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, encode(data))
}

func sortedKinds(db *database) []string { return slices.Sorted(maps.Keys(db.kinds)) }
