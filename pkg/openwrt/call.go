package openwrt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/netloom/netloom/pkg/httpcall"
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
	done, err := c.turns.Wait(within)
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: wait for a free connection: %w", r.method, r.path, err)
	}
	defer done()
	a, s, err := c.authorized(within, r)
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if a.code >= 200 && a.code < 300 {
		return a, nil
	}
	e := &StatusError{Method: r.method, Path: r.path, Code: a.code}
	e.Message = slices.Concat(own, s.Value.secrets).message(a.code, a.body)
	return reply{}, e
}

// authorized sends r with a session, and repeats it if the session is refused.
func (c *Client) authorized(ctx context.Context, r request) (reply, httpcall.Result[session], error) {
	s := c.session.Current()
	if c.opts.Password == nil {
		a, err := c.exchange(ctx, r)
		if err == nil && a.code == http.StatusForbidden {
			err = ErrUnauthorized
		}
		return a, s, err
	}
	for fresh := false; ; {
		if s.Value.cookie == "" || fresh {
			var err error
			if s, err = c.session.Renew(ctx, s, c.login); err != nil {
				return reply{}, s, fmt.Errorf("log in as %s: %w", c.opts.User, err)
			}
			fresh = true
		}
		r.cookie = s.Value.cookie
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
	req, err := c.prepare(ctx, r)
	if err != nil {
		return reply{}, err
	}
	return httpcall.Do(req, r.writes(), func(req *http.Request) (reply, error) {
		if r.tolerant {
			return c.exchangeTolerantly(req, r.limit)
		}
		return c.exchangeStrictly(req, r.limit)
	})
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
	a, err := httpcall.Exchange(c.transport, req, limit)
	if err != nil {
		return reply{}, err
	}
	return reply{code: a.Code, body: a.Body, cookies: (&http.Response{Header: a.Header}).Cookies()}, nil
}
