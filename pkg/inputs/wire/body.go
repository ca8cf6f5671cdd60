package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// contentType is that of objects in protobuf. That of a watch has the parameter stream=watch.
const contentType = "application/vnd.kubernetes.protobuf"

// largestFrame is how many bytes an event of a watch may have; client-go accepts no more either.
const largestFrame = 16 << 20

// Trim replaces the body of an answer in protobuf by one without what netloom does not keep. Other answers stay as they are.
func Trim(response *http.Response) {
	kind, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != contentType || response.StatusCode != http.StatusOK {
		return
	}
	b := &body{from: response.Body, Closer: response.Body, fill: (*body).readObject}
	if parameters["stream"] == "watch" {
		b.from, b.fill = bufio.NewReaderSize(response.Body, chunk), (*body).readFrame
	} else if n := response.ContentLength; n > 0 {
		b.grow(int(min(n, largestFrame)) + bytes.MinRead) // to find the end without growing
	}
	response.Body, response.ContentLength = b, -1
	response.Header.Del("Content-Length")
}

// chunk is how many bytes of a watch are read at a time, if that many are there. For each read, HTTP/2 tells the server that it may send as
// much again, in a message of its own.
const chunk = 32 << 10

// body is the body of an answer, of which something is left out.
type body struct {
	io.Closer // of the body of the answer

	from io.Reader
	fill func(b *body) error // sets rest
	buf  []byte              // reused
	rest []byte              // of what was filled, to be read
	err  error               // what is returned once rest is empty
}

// Read returns what is left of the next event, or of the whole object.
func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		b.err = b.fill(b)
	}
	if len(b.rest) == 0 {
		b.buf = nil // client-go closes a body late
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) grow(n int) {
	if cap(b.buf) < n {
		b.buf = make([]byte, 0, n)
	}
}

// readObject reads an object, or a list.
func (b *body) readObject() error {
	all := bytes.NewBuffer(b.buf[:0])
	if _, err := all.ReadFrom(b.from); err != nil {
		return err
	}
	b.buf = all.Bytes()
	rest, err := enveloped.append(b.buf[:0], b.buf)
	if err != nil {
		return fmt.Errorf("read an answer of the API server: %w", err)
	}
	b.rest = rest
	return io.EOF
}

// readFrame reads an event of a watch, which has its length in front, in four bytes.
func (b *body) readFrame() error {
	const head, kept = 4, 64 << 10 // a watch lasts, and large events are rare
	if cap(b.buf) > kept {
		b.buf = nil
	}
	b.grow(1 << 10)
	if _, err := io.ReadFull(b.from, b.buf[:head]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(b.buf[:head])
	if size > largestFrame {
		return fmt.Errorf("read an event of a watch: %d bytes, expected at most %d", size, largestFrame)
	}
	n := int(size)
	b.grow(head + n)
	frame := b.buf[:head+n]
	if _, err := io.ReadFull(b.from, frame[head:]); err != nil {
		return err
	}
	rest, err := event.append(frame[:head], frame[head:])
	if err != nil {
		return fmt.Errorf("read an event of a watch: %w", err)
	}
	binary.BigEndian.PutUint32(rest, uint32(len(rest)-head)) //nolint:gosec // at most largestFrame
	b.rest = rest
	return nil
}
