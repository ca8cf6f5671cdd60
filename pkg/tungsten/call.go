package tungsten

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/httpcall"
)

// request is one request before it has a server and credentials.
type request struct {
	method string
	path   string // with the query
	body   []byte // nil for none
	limit  int64  // bytes of the answer
	reads  bool   // changes nothing although it is a POST
	stream bool   // the answer is read by the caller
}

// writes reports whether the request may change something.
func (r *request) writes() bool { return r.method != http.MethodGet && !r.reads }

// reply is an answer: complete, or open for the caller to read if the request asked for a stream.
type reply struct {
	code   int
	header http.Header
	body   []byte
	open   io.ReadCloser
}

// call sends r and returns the body of the answer. Every answer but success becomes a *StatusError.
func (c *Client) call(ctx context.Context, r request) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	within, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout, ErrNoAnswer)
	defer cancel()
	done, err := c.turns.Wait(within)
	if err != nil {
		return nil, fmt.Errorf("%s %s: wait for a free connection: %w", r.method, r.path, err)
	}
	defer done()
	if r.limit == 0 {
		r.limit = c.opts.MaxAnswer
	}
	a, err := c.anyServer(within, r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, shorten(r.path), err)
	}
	if a.code == http.StatusOK {
		return a.body, nil
	}
	failed := &StatusError{Method: r.method, Path: shorten(r.path), Code: a.code, Message: message(a.body)}
	if r.writes() && (a.code == http.StatusBadGateway || a.code == http.StatusGatewayTimeout) { // from a proxy, which lost the server
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, failed)
	}
	return nil, failed
}

// anyServer sends r to the server that answered last, and to the others while one refuses connections, is unavailable or, as
// far as r changes nothing, does not answer.
func (c *Client) anyServer(ctx context.Context, r request) (reply, error) {
	c.mu.Lock()
	first := c.preferred
	c.mu.Unlock()
	var faults []error
	var last reply
	for i := range c.servers {
		n := (first + i) % len(c.servers)
		a, err := c.authorized(ctx, c.servers[n], r)
		switch {
		case err == nil && !a.unavailable(r.writes()):
			c.prefer(n)
			return a, nil
		case err == nil:
			last = a
			if r.stream {
				_ = a.open.Close() // the next server is asked instead
			}
			continue
		case ctx.Err() != nil, errors.Is(err, ErrUnknownOutcome), errors.Is(err, ErrUnauthorized), errors.Is(err, errNoToken), errors.Is(err, ErrTooLarge):
			return reply{}, err
		}
		faults = append(faults, err)
	}
	if last.code != 0 {
		return last, nil
	}
	return reply{}, errors.Join(faults...)
}

// unavailable reports whether another server may do better. A proxy that reports a lost connection cannot know whether a
// write was done.
func (a *reply) unavailable(write bool) bool {
	return a.code == http.StatusServiceUnavailable || !write && (a.code == http.StatusBadGateway || a.code == http.StatusGatewayTimeout)
}

func (c *Client) prefer(n int) {
	c.mu.Lock()
	changed := c.preferred != n
	c.preferred = n
	c.mu.Unlock()
	if changed {
		c.opts.Log.WithFields(logrus.Fields{"url": c.servers[n]}).Info("switched to another configuration server")
	}
}

// authorized sends r to one server with credentials, and once more with a new token if the old one is refused.
func (c *Client) authorized(ctx context.Context, server string, r request) (reply, error) {
	if c.opts.Keystone == nil {
		password := ""
		if c.opts.User != "" {
			var err error
			if password, err = c.opts.Password(ctx); err != nil {
				return reply{}, fmt.Errorf("password: %w", err)
			}
		}
		return accepted(c.send(ctx, server, r, "", password))
	}
	t := c.token.Current()
	for fresh := false; ; fresh = true {
		if t.Value == "" || fresh {
			var err error
			if t, err = c.token.Renew(ctx, t, c.newToken); err != nil {
				return reply{}, fmt.Errorf("%w: %w", errNoToken, err)
			}
		}
		a, err := c.send(ctx, server, r, t.Value, "")
		if err != nil || a.code != http.StatusUnauthorized || fresh {
			return accepted(a, err)
		}
		if r.stream {
			_ = a.open.Close() // it is asked for again
		}
	}
}

// accepted turns a refusal of the credentials into an error.
func accepted(a reply, err error) (reply, error) {
	if err == nil && a.code == http.StatusUnauthorized {
		if a.open != nil {
			_ = a.open.Close() // there is nothing to read
		}
		return reply{}, ErrUnauthorized
	}
	return a, err
}

// send sends r once. Its error quotes nothing of the answer.
func (c *Client) send(ctx context.Context, server string, r request, token, password string) (reply, error) {
	c.requests.Add(1)
	req, err := http.NewRequestWithContext(ctx, r.method, server+r.path, bytes.NewReader(r.body))
	if err != nil {
		return reply{}, errors.New("invalid address")
	}
	req.Header.Set("User-Agent", "netloom")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
	} else if password != "" {
		req.SetBasicAuth(c.opts.User, password)
	}
	return httpcall.Do(req, r.writes(), func(req *http.Request) (reply, error) { return c.exchange(req, r) })
}

func (c *Client) exchange(req *http.Request, r request) (reply, error) {
	if r.stream {
		resp, err := c.streams.RoundTrip(req) //nolint:bodyclose // the reader of the stream closes it
		if err != nil {
			return reply{}, err
		}
		return reply{code: resp.StatusCode, header: resp.Header, open: resp.Body}, nil
	}
	a, err := httpcall.Exchange(c.transport, req, r.limit)
	if err != nil {
		return reply{}, err
	}
	return reply{code: a.Code, header: a.Header, body: a.Body}, nil
}
