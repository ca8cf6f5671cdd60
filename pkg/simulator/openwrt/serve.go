package openwrt

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// answer is the answer to one request.
type answer struct {
	code    int
	reason  string
	headers []string // whole lines
	leak    []string // lines that a script printed into the header block
	body    []byte
	after   time.Duration // how long it takes
	cut     bool          // end the connection instead of answering
}

// html is an HTML page.
func html(code int, reason, text string, headers ...string) answer {
	return answer{
		code: code, reason: reason, headers: append(headers, "Content-Type: text/html"),
		body: []byte("<!DOCTYPE html>\n<html><head><title>" + text + "</title></head><body><h1>" + text + "</h1></body></html>\n"),
	}
}

// Dial connects to the device within the process, whatever the address. It has the signature of
// http.Transport.DialContext.
func (d *Device) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	if !d.Serve(ours) {
		return nil, errors.New("OpenWRT device: closed")
	}
	return theirs, nil
}

// Serve serves a client on nc until either side ends the connection, and returns at once. It returns false if the device
// is closed, and then closes nc.
func (d *Device) Serve(nc net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = nc.Close() // the client notices
		return false
	}
	d.conns[nc] = struct{}{}
	d.record.connections++
	spoken := nc
	if d.certs != nil {
		spoken = tls.Server(nc, d.certs.config)
	}
	d.work.Go(func() {
		d.speak(spoken)
		_ = spoken.Close() // the client notices
		d.mu.Lock()
		delete(d.conns, nc)
		d.mu.Unlock()
	})
	return true
}

// speak answers requests one by one.
func (d *Device) speak(nc net.Conn) {
	in := bufio.NewReader(nc)
	for {
		patience := time.AfterFunc(idle, func() { _ = nc.Close() })
		_, err := in.Peek(1)
		patience.Stop()
		if err != nil {
			return
		}
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil || !d.pause() {
			return
		}
		a := d.handle(req, body)
		if !d.wait(a.after) || a.cut {
			return
		}
		_, err = nc.Write(a.wire(req))
		if err != nil || req.Close {
			return
		}
	}
}

// wire encodes an answer as uhttpd does: chunked, the reason truncated.
func (a *answer) wire(req *http.Request) []byte {
	const longestReason = 63
	var b bytes.Buffer
	reason, _, _ := strings.Cut(a.reason, "\n")
	if len(reason) > longestReason {
		reason = reason[:longestReason]
	}
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", a.code, reason)
	chunked := req.ProtoAtLeast(1, 1)
	if req.Close {
		b.WriteString("Connection: close\r\n")
	} else {
		b.WriteString("Connection: Keep-Alive\r\n")
	}
	if chunked {
		b.WriteString("Transfer-Encoding: chunked\r\n")
	}
	if !req.Close {
		fmt.Fprintf(&b, "Keep-Alive: timeout=%d\r\n", idle/time.Second)
	}
	for _, line := range a.leak {
		// The server treats a printed line as a header: the text before its first colon is the name.
		name, value, _ := strings.Cut(line, ":")
		fmt.Fprintf(&b, "%s: %s\r\n", name, strings.TrimLeft(value, " "))
	}
	b.WriteString("Cache-Control: no-cache\r\nExpires: 0\r\n")
	for _, line := range a.headers {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	if req.Method == http.MethodHead {
		return b.Bytes()
	}
	if !chunked {
		b.Write(a.body)
		return b.Bytes()
	}
	if len(a.body) > 0 {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(a.body), a.body)
	}
	b.WriteString("0\r\n\r\n")
	return b.Bytes()
}
