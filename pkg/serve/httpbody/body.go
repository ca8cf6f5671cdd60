package httpbody

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// minZipped is the minimum size of an answer to be compressed, in bytes: smaller ones fit into one packet anyway.
const minZipped = 1400

// body is a complete, immutable answer.
type body struct {
	number uint64
	data   []byte
	zipped bool
	size   int // of the answer, not compressed

	// The store's lock guards what follows.
	senders int  // requests to which it is being sent
	kept    bool // for later requests
	used    uint64
}

// writer compresses the output of a build, within the limits of a store.
type writer struct {
	store    *Store
	reserved int64
	out      bytes.Buffer
}

// Write receives compressed bytes.
func (w *writer) Write(p []byte) (int, error) {
	if !w.store.reserve(int64(len(p))) {
		return 0, ErrBusy
	}
	w.reserved += int64(len(p))
	return w.out.Write(p)
}

// counted counts the bytes written to it.
type counted struct {
	io.Writer
	n int
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}

// body is the output of build.
func (w *writer) body(build func(io.Writer) error) (*body, error) {
	zip := gzip.NewWriter(w)
	in := &counted{Writer: zip}
	if err := build(in); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	b := &body{data: bytes.Clone(w.out.Bytes()), zipped: true, size: in.n}
	if b.size >= minZipped {
		return b, nil
	}
	var plain bytes.Buffer
	if err := b.unzip(&plain); err != nil {
		return nil, err
	}
	b.data, b.zipped = plain.Bytes(), false
	return b, nil
}

// unzip writes the uncompressed answer. It takes as much memory as a decompressor does, however long the answer is.
func (b *body) unzip(w io.Writer) error {
	zip, err := gzip.NewReader(bytes.NewReader(b.data))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, zip) //nolint:gosec // it was compressed here
	return err
}

// Serve answers a request with what build writes for a key, now or earlier. The caller sets the headers that describe the
// content. An error means that nothing was sent: it is ErrBusy, the error of build, or that of the request's context.
func (s *Store) Serve(w http.ResponseWriter, r *http.Request, key Key, build func(io.Writer) error) error {
	if !s.enter() {
		return ErrBusy
	}
	defer s.leave()
	b, err := s.get(r.Context(), key, build)
	if err != nil {
		return err
	}
	defer s.drop(b)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(SendTime)) // a server has its own deadline as well
	header := w.Header()
	header.Add("Vary", "Accept-Encoding")
	switch {
	case b.zipped && AcceptsGzip(r):
		header.Set("Content-Encoding", "gzip")
		fallthrough
	case !b.zipped:
		header.Set("Content-Length", strconv.Itoa(len(b.data)))
		_, _ = w.Write(b.data) // if the client is gone, no answer is needed
	default:
		header.Set("Content-Length", strconv.Itoa(b.size))
		_ = b.unzip(w)
	}
	return nil
}

// AcceptsGzip reports whether a client accepts gzip.
func AcceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := strings.ReplaceAll(quality, " ", "")
		if strings.EqualFold(coding, "gzip") && q != "q=0" && q != "q=0.0" {
			return true
		}
	}
	return false
}
