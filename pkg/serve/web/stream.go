package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxStreams = 32               // open at a time
	streamGap  = time.Second / 4  // between two batches of events
	streamIdle = 15 * time.Second // after which a stream sends a keep-alive

	streamWrite = 4 * streamIdle // for which a client may read nothing
)

// events is a stream of server-sent events: each has the name of its kind, an Event as data, and an ID from which a broken
// stream resumes. It begins with the kept events.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	if h.streams.Add(1) > maxStreams {
		h.streams.Add(-1)
		fail(w, r, errStreams)
		return
	}
	defer h.streams.Add(-1)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // proxies must not buffer it
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	flush := func() error {
		_ = control.SetWriteDeadline(time.Now().Add(streamWrite)) // for the next write; a server may have no deadline
		return control.Flush()
	}
	seen := h.opts.Feed.resume(r.Header.Get("Last-Event-ID"))
	if _, err := fmt.Fprint(w, "retry: 2000\n\n"); err != nil || flush() != nil {
		return
	}
	idle := time.NewTicker(streamIdle)
	defer idle.Stop()
	for {
		list, next := h.opts.Feed.After(seen)
		for i := range list {
			seen = list[i].ID
			if err := h.writeEvent(w, &list[i]); err != nil {
				return
			}
		}
		if len(list) > 0 && (flush() != nil || !pause(r, streamGap)) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-next:
		case <-idle.C:
			if _, err := fmt.Fprint(w, ": keepalive\n\n"); err != nil || flush() != nil {
				return
			}
		}
	}
}

// pause waits; it returns false if the request has ended.
func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

func (h *Handler) writeEvent(w http.ResponseWriter, e *Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "id: %s-%d\nevent: %s\ndata: %s\n\n", h.opts.Feed.epoch, e.ID, e.Kind, data)
	return err
}

// resume returns the ID of the last event that a client has seen, 0 if it was of another process.
func (f *Feed) resume(id string) uint64 {
	epoch, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != f.epoch {
		return 0
	}
	return n
}
