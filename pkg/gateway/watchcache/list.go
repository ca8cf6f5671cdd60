package watchcache

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
)

// gzipFrom is the length from which lists are compressed, as in an API server.
const gzipFrom = 128 << 10

// listMeta is the metadata of a list.
type listMeta struct {
	ResourceVersion    string `json:"resourceVersion"`
	Continue           string `json:"continue,omitempty"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
}

// serveList answers a list from one state.
func (c *Cache) serveList(w http.ResponseWriter, r *http.Request, q *query) bool {
	objects, version, ok := c.basis(r, q)
	if !ok {
		return false
	}
	items, meta := q.page(objects, version)
	size := 0
	for _, o := range items {
		size += len(o.in(&q.kind.Resource, q.trim))
	}
	head, err := json.Marshal(meta)
	if err != nil {
		return false
	}
	c.lists.Add(1)
	c.answerHeader(w, q)
	s := c.stream(w)
	var z *gzip.Writer
	if q.gzip && size > gzipFrom {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
		if z, err = gzip.NewWriterLevel(w, gzip.BestSpeed); err == nil { // the level is valid
			s.out = z
		}
	}
	s.text(`{"kind":"` + q.kind.Kind + `List","apiVersion":"` + q.kind.GroupVersion().String() + `","metadata":` + string(head) + `,"items":[`)
	for i, o := range items {
		s.extend(i)
		if i > 0 {
			s.text(",")
		}
		opening, rest := o.item(&q.kind.Resource, q.trim)
		s.text(opening)
		s.bytes(rest)
	}
	s.text("]}\n")
	if z != nil && s.err == nil {
		s.err = z.Close()
	}
	s.flush()
	return true
}

// basis returns the state that answers q, and its version.
func (c *Cache) basis(r *http.Request, q *query) (*state, uint64, bool) {
	if q.basis == exactly {
		s, ok := q.kind.at(q.version)
		return s, q.version, ok
	}
	var err error
	switch q.basis {
	case recent:
		err = q.kind.fresh(r.Context(), c.life)
	case atLeast:
		err = q.kind.atLeast(r.Context(), c.life, q.version)
	case anyone, exactly:
	}
	s, version, synced := q.kind.now()
	return s, version, err == nil && synced
}

// page returns the objects of s that q selects, up to its limit.
func (q *query) page(s *state, version uint64) ([]*object, listMeta) {
	meta := listMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	plain := q.labels.Empty() && q.fields.Empty()
	items := []*object{}
	remaining := int64(0)
	next := s.Root().Iterator()
	next.SeekLowerBound([]byte(max(q.prefix(), q.after)))
	for _, o, ok := next.Next(); ok; _, o, ok = next.Next() {
		if q.namespace != "" && o.namespace != q.namespace {
			break // keys are in order
		}
		if o.key == q.after {
			continue
		}
		if q.limit > 0 && len(items) == q.limit {
			if remaining++; !plain {
				break // as in an API server, a selector leaves open whether the next page is empty
			}
		} else if q.matches(o) {
			items = append(items, o)
		}
	}
	if remaining > 0 {
		meta.Continue = q.token(version, items[len(items)-1].key)
		if plain {
			meta.RemainingItemCount = &remaining
		}
	}
	return items, meta
}

func (c *Cache) answerHeader(w http.ResponseWriter, q *query) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache, private")
	if q.trim != nil {
		h.Set(c.config.Trimming.Header, c.config.Trimming.Value)
	}
}
