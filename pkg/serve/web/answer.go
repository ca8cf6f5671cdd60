package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/serve/httpbody"
)

// Reasons why a request cannot be answered, apart from being invalid.
var (
	errNotSynced = errors.New("the source has not synced: there is no snapshot yet; try again in a moment")
	errMethod    = errors.New("only GET and HEAD: nothing can be changed here")
	errNoPath    = errors.New("no such path; docs/ui.md lists the paths")
	errStreams   = errors.New("too many event streams are open")
)

// fail responds with an error, as JSON with the name "error".
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errNotSynced), errors.Is(err, errStreams), errors.Is(err, httpbody.ErrBusy):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", httpbody.RetryAfter)
	case errors.Is(err, errMethod), errors.Is(err, errMethodPost):
		status = http.StatusMethodNotAllowed
	case errors.Is(err, errMediaType):
		status = http.StatusUnsupportedMediaType
	case errors.Is(err, errTooLong):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errNoPath), errors.Is(err, name.ErrNotFound):
		status = http.StatusNotFound
	}
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, status, map[string]string{"error": err.Error()})
}

// minZipped is the size in bytes from which a response is compressed: less fits a packet anyway.
const minZipped = 1400

// jsonContent is the content type of what encode writes.
const jsonContent = "application/json; charset=utf-8"

// encode writes data as JSON.
func encode(w io.Writer, data any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(data)
}

// send writes data as JSON, compressed if that is worthwhile and accepted.
func send(w http.ResponseWriter, r *http.Request, status int, data any) {
	var b bytes.Buffer
	if err := encode(&b, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", jsonContent)
	header.Add("Vary", "Accept-Encoding")
	if b.Len() < minZipped || !httpbody.AcceptsGzip(r) {
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes())
		return
	}
	header.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	_, _ = w.Write(zipped(b.Bytes()))
}

// zipped returns b, compressed.
func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer accepts everything
	_ = z.Close()
	return out.Bytes()
}

// matches reports whether an If-None-Match header names the tag.
func matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if p := strings.TrimPrefix(strings.TrimSpace(part), "W/"); p == tag || p == "*" {
			return true
		}
	}
	return false
}

// cut returns the first elements of a list, and how many are left out.
func cut[T any](list []T, most int) (first []T, more int) {
	if len(list) <= most {
		return list, 0
	}
	return list[:most], len(list) - most
}
