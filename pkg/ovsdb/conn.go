package ovsdb

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// errClosed is why a connection ended when its owner closed it.
var errClosed = errors.New("closed")

// conn is one JSON-RPC connection. It is used once: after its end a new one is made.
type conn struct {
	nc     net.Conn
	turn   chan struct{} // of size 1, full while somebody writes to nc
	out    chan []byte   // what the writer writes
	queued atomic.Int64  // how much of that is not written yet
	down   chan struct{} // closed when the connection ended
	notify func(method string, params json.RawMessage)

	limits limits
	room   int64 // bytes of the present message that may still be read; only the reader looks

	received atomic.Uint64 // bytes
	weight   atomic.Int64  // of the calls in flight

	mu      sync.Mutex
	err     error // why it ended
	next    uint64
	pending map[uint64]call
}

// limits bound what a server may cost this process: how long an answer may be, and how late.
type limits struct {
	database string        // named in errors
	reply    int64         // bytes of one message
	timeout  time.Duration // of a call, in addition to the time for its weight
}

// call is a request that waits for its answer.
type call struct {
	method string
	done   chan reply
	// first, if set, is given the result by the reader before it reads on, so that no notification overtakes it.
	first func(json.RawMessage)
	// stream, if set, reads the result instead, while it arrives.
	stream func(*json.Decoder) error
}

type reply struct {
	result json.RawMessage
	err    error
}

// message is a request, a notification or a reply.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage

	streamed *call // the one that has read the result already
}

// newConn speaks JSON-RPC over nc once its methods read and write run, which end with the connection. The reader calls
// notify for each notification, in order.
func newConn(nc net.Conn, of limits, notify func(string, json.RawMessage)) *conn {
	return &conn{
		nc:      nc,
		limits:  of,
		turn:    make(chan struct{}, 1),
		out:     make(chan []byte, 64),
		down:    make(chan struct{}),
		notify:  notify,
		pending: make(map[uint64]call),
	}
}

// close ends the connection. The first reason counts.
func (c *conn) close(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = why
	close(c.down)
	nc := c.nc
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn() // its own Close first sends an alert, and waits for a hung server to accept it
	}
	_ = nc.Close() // nothing is lost by a failed close of a connection that is given up
}

// reason returns why the connection ended, nil if it has not.
func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Read counts what arrives, and fails once a message is too long. Bytes that arrived early, together with the previous
// message, do not count.
func (c *conn) Read(p []byte) (int, error) {
	if c.room <= 0 {
		return 0, fmt.Errorf("%w of %s from %s: more than %d bytes", errTooLong, c.limits.database, c.nc.RemoteAddr(), c.limits.reply)
	}
	n, err := c.nc.Read(p[:min(int64(len(p)), c.room)])
	c.room -= int64(n)
	c.received.Add(uint64(n)) //nolint:gosec // Read never returns a negative count.
	return n, err
}

// longMessage is the size in bytes from which on a message's buffer is not kept for the next one.
const longMessage = 1 << 20

func (c *conn) read() {
	decoder := json.NewDecoder(c)
	for {
		var m message
		c.room = c.limits.reply
		if err := c.readMessage(decoder, &m); err != nil {
			c.close(fmt.Errorf("read: %w", err))
			return
		}
		if c.limits.reply-c.room > longMessage {
			decoder = withoutBuffer(decoder, c)
		}
		switch {
		case m.Method == "":
			c.answer(&m)
		case m.Method == "echo" && hasID(m.ID):
			c.send(echoReply(&m))
		default:
			c.notify(m.Method, m.Params)
		}
	}
}

// withoutBuffer returns a decoder that continues where d is, without its buffer.
func withoutBuffer(d *json.Decoder, rest io.Reader) *json.Decoder {
	var ahead bytes.Buffer
	_, _ = ahead.ReadFrom(d.Buffered()) // memory has no errors
	return json.NewDecoder(io.MultiReader(&ahead, rest))
}

// readMessage reads a message. A result that a call reads itself goes there if the message begins with the ID, as those of
// ovsdb-server do; otherwise answer passes it on.
func (c *conn) readMessage(d *json.Decoder, m *message) error {
	if there, err := opens(d, '{'); err != nil || !there {
		return errors.Join(errors.New("expected an object"), err)
	}
	for d.More() {
		member, err := d.Token()
		if err != nil {
			return err
		}
		switch member {
		case "id":
			err = d.Decode(&m.ID)
		case "method":
			err = d.Decode(&m.Method)
		case "params":
			err = d.Decode(&m.Params)
		case "error":
			err = d.Decode(&m.Error)
		case "result":
			if m.streamed = c.claim(m.ID, func(w *call) bool { return w.stream != nil }); m.streamed != nil {
				err = m.streamed.stream(d)
				break
			}
			err = d.Decode(&m.Result)
		default:
			err = d.Decode(&json.RawMessage{})
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// claim takes the call that waits for the reply with an ID, if it is one that is wanted; nil if there is none.
func (c *conn) claim(raw json.RawMessage, wanted func(*call) bool) *call {
	id, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, ok := c.pending[id]
	if !ok || !wanted(&waiting) {
		return nil
	}
	delete(c.pending, id)
	return &waiting
}

func hasID(id json.RawMessage) bool { return len(id) > 0 && !bytes.Equal(id, []byte("null")) }

func echoReply(m *message) []byte {
	b := append([]byte(`{"id":`), m.ID...)
	params := m.Params
	if len(params) == 0 {
		params = json.RawMessage("[]")
	}
	b = append(append(b, `,"result":`...), params...)
	return append(b, `,"error":null}`...)
}

// answer hands a reply to the call that waits for it. A reply that no call waits for any more is dropped.
func (c *conn) answer(m *message) {
	waiting := m.streamed
	if waiting == nil {
		if waiting = c.claim(m.ID, func(*call) bool { return true }); waiting == nil {
			return
		}
	}
	r := reply{result: m.Result}
	switch {
	case hasID(m.Error):
		r.err = parseRPCError(waiting.method, m.Error)
	case waiting.first != nil:
		waiting.first(m.Result)
	case waiting.stream != nil && m.streamed == nil:
		r.err = waiting.stream(json.NewDecoder(bytes.NewReader(m.Result)))
	}
	waiting.done <- r
}

// send queues bytes for the writer. After the end they are dropped.
func (c *conn) send(b []byte) {
	c.queued.Add(1)
	select {
	case c.out <- b:
	case <-c.down:
	}
}

func (c *conn) write() {
	for {
		select {
		case b := <-c.out:
			c.turn <- struct{}{} // a call that has it ends with the connection at the latest
			_, err := c.nc.Write(b)
			c.queued.Add(-1)
			<-c.turn
			if err != nil {
				c.close(fmt.Errorf("write: %w", err))
				return
			}
		case <-c.down:
			return
		}
	}
}

// writeNow writes a request in the goroutine of the call, which saves a switch to the writer and back, unless somebody writes already or has
// queued something, which must not be overtaken: a call that was given up may still be there. Then handled is false. If ctx ends before the
// first byte is written, the error is errUnsent and the connection stays, unless it is TLS, which cannot be used after a write that failed. Once
// part of it is written, the connection is closed if ctx ends or the deadline passes, because nobody else can finish the request.
func (c *conn) writeNow(ctx context.Context, request []byte, until time.Time) (handled bool, err error) {
	select {
	case c.turn <- struct{}{}:
	default:
		return false, nil
	}
	defer func() { <-c.turn }()
	if c.queued.Load() > 0 {
		return false, nil
	}
	_ = c.nc.SetWriteDeadline(until) // first, so that an end of ctx is not undone
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = c.nc.SetWriteDeadline(time.Unix(1, 0)) // fails only if the connection has ended
	})
	n, err := c.nc.Write(request)
	if !stop() {
		<-ended
	}
	_, secure := c.nc.(*tls.Conn)
	late := errors.Is(err, os.ErrDeadlineExceeded)
	switch {
	case err == nil:
		_ = c.nc.SetWriteDeadline(time.Time{})
	case ctx.Err() != nil && late && n == 0 && !secure:
		_ = c.nc.SetWriteDeadline(time.Time{})
		return true, fmt.Errorf("%w: %w", errUnsent, ctx.Err())
	case ctx.Err() != nil:
		c.close(fmt.Errorf("write: %w", ctx.Err()))
	case late:
		c.close(errLate)
	default:
		c.close(fmt.Errorf("write: %w", err))
	}
	return true, nil
}

// call sends a request and waits for its result, which is given to first before anything else is read, unless that is nil.
func (c *conn) call(ctx context.Context, method string, params []byte, weight int64, first func(json.RawMessage)) (
	json.RawMessage, error,
) {
	return c.exchange(ctx, params, weight, call{method: method, first: first})
}

// exchange sends a request and waits for its result. weight is how many bytes' worth of work it is for the server, which
// extends the time until the server is considered hung or a trickling answer is given up. The error is ErrNotConnected if
// the request was not sent; otherwise it is ctx's error or the reason why the connection ended.
func (c *conn) exchange(ctx context.Context, params []byte, weight int64, waits call) (json.RawMessage, error) {
	method := waits.method
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", method, errUnsent, err)
	}
	patience := c.limits.timeout + workOf(weight)
	late := time.NewTimer(patience)
	defer late.Stop()
	until := time.Now().Add(patience)
	done := make(chan reply, 1)
	waits.done = done
	c.mu.Lock()
	c.next++
	id := c.next
	c.pending[id] = waits
	c.mu.Unlock()
	c.weight.Add(weight)
	defer c.forget(id, weight)

	request := make([]byte, 0, len(params)+64)
	request = appendString(append(request, `{"method":`...), method)
	request = append(append(request, `,"params":`...), params...)
	request = strconv.AppendUint(append(request, `,"id":`...), id, 10)
	request = append(request, '}')
	if c.reason() != nil {
		return nil, fmt.Errorf("%s: %w", method, ErrNotConnected)
	}
	handled, err := c.writeNow(ctx, request, until)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if !handled {
		c.queued.Add(1)
		select {
		case c.out <- request:
		case <-c.down:
			return nil, fmt.Errorf("%s: %w", method, ErrNotConnected)
		case <-ctx.Done():
			c.queued.Add(-1)
			return nil, fmt.Errorf("%s: %w: %w", method, errUnsent, ctx.Err())
		case <-late.C:
			c.close(errLate)
			return nil, fmt.Errorf("%s: %w: %w", method, errUnsent, errLate)
		}
	}
	reportSent(ctx)
	select {
	case r := <-done:
		return r.result, r.err
	case <-late.C:
		c.close(errLate)
		return nil, fmt.Errorf("%s: connection given up after %s: %w", method, patience, c.reason())
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	case <-c.down:
	}
	select {
	case r := <-done: // it arrived just before the end
		return r.result, r.err
	default:
		return nil, fmt.Errorf("%s: connection lost: %w", method, c.reason())
	}
}

// errUnsent marks a request that was given up before it was sent.
var errUnsent = errors.New("not sent")

func (c *conn) forget(id uint64, weight int64) {
	c.weight.Add(-weight)
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
}
