package openwrt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"
)

// root is the base path of LuCI.
const root = "/cgi-bin/luci/"

// request is one request before it has a session.
type request struct {
	method   string
	path     string // relative to root
	body     []byte // nil for none
	kind     string // of the body
	cookie   string
	limit    int64 // bytes of the answer
	tolerant bool  // the header block of the answer may be malformed
}

// writes reports whether the request may change something.
func (r *request) writes() bool { return r.method != http.MethodGet && r.path != "" }

// reply is a complete answer.
type reply struct {
	code    int
	body    []byte
	cookies []*http.Cookie
}

// call sends r with a session, and once more after a new login if the session is refused. Every answer but success
// becomes a *StatusError; own lists texts that must not appear in its message.
func (c *Client) call(ctx context.Context, r request, timeout time.Duration, own secrets) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	within, cancel := context.WithTimeoutCause(ctx, timeout, ErrNoAnswer)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-within.Done():
		return reply{}, fmt.Errorf("%s %s: wait for a free connection: %w", r.method, r.path, context.Cause(within))
	}
	a, s, err := c.authorized(within, r)
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if a.code >= 200 && a.code < 300 {
		return a, nil
	}
	e := &StatusError{Method: r.method, Path: r.path, Code: a.code}
	e.Message = slices.Concat(own, s.secrets).message(a.code, a.body)
	return reply{}, e
}

// authorized sends r with a session, and repeats it if the session is refused.
func (c *Client) authorized(ctx context.Context, r request) (reply, session, error) {
	s := c.current()
	if c.opts.Password == nil {
		a, err := c.exchange(ctx, r)
		if err == nil && a.code == http.StatusForbidden {
			err = ErrUnauthorized
		}
		return a, s, err
	}
	for fresh := false; ; {
		if s.cookie == "" || fresh {
			var err error
			if s, err = c.login(ctx, s); err != nil {
				return reply{}, s, err
			}
			fresh = true
		}
		r.cookie = s.cookie
		a, err := c.exchange(ctx, r)
		if err != nil || a.code != http.StatusForbidden {
			return a, s, err
		}
		if fresh {
			return reply{}, s, ErrUnauthorized
		}
		fresh = true
	}
}

// exchange sends r once. Its error quotes nothing of the answer.
func (c *Client) exchange(ctx context.Context, r request) (reply, error) {
	c.requests.Add(1)
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req, err := c.prepare(ctx, r)
	if err != nil {
		return reply{}, err
	}
	var a reply
	if r.tolerant {
		a, err = c.exchangeTolerantly(ctx, req, r.limit)
	} else {
		a, err = c.exchangeStrictly(req, r.limit)
	}
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = transportError(err)
	}
	// If a new connection was needed after all, nothing was sent on the old one: otherwise writes are not repeated.
	if r.writes() && sent.Load() && !errors.As(err, new(*dialError)) {
		return reply{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return reply{}, err
}

// prepare makes the HTTP request. A body always has a length: the device ignores a body without one.
func (c *Client) prepare(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base.Scheme+"://"+c.base.Host+root+r.path, body)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	req.Header.Set("User-Agent", "netloom")
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if r.cookie != "" {
		req.Header.Set("Cookie", r.cookie)
	}
	return req, nil
}

// exchangeStrictly leaves reading to net/http.
func (c *Client) exchangeStrictly(req *http.Request, limit int64) (reply, error) {
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return reply{}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && int64(len(body)) > limit {
		err = ErrTooLarge
	}
	if err != nil {
		return reply{}, err
	}
	return reply{code: resp.StatusCode, body: body, cookies: resp.Cookies()}, nil
}
