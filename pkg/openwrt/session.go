package openwrt

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sirupsen/logrus"
)

// session is the result of a login. The zero value is none.
type session struct {
	cookie   string // name=value
	secrets  secrets
	loggedIn int // number of logins so far
}

func (c *Client) current() session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// login opens a session unless another caller did so since old. It returns the current one.
func (c *Client) login(ctx context.Context, old session) (session, error) {
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return session{}, fmt.Errorf("log in: %w", context.Cause(ctx))
	}
	if now := c.current(); now.loggedIn != old.loggedIn {
		return now, nil
	}
	password, err := c.opts.Password(ctx)
	if err != nil {
		return session{}, fmt.Errorf("log in: password: %w", err)
	}
	c.logins.Add(1)
	form := url.Values{"luci_username": {c.opts.User}, "luci_password": {password}}.Encode()
	reply, err := c.exchange(ctx, request{
		method: http.MethodPost, path: "", body: []byte(form), kind: "application/x-www-form-urlencoded", limit: c.opts.MaxAnswer,
	})
	if err != nil {
		return session{}, fmt.Errorf("log in: %w", err)
	}
	if reply.code == http.StatusForbidden {
		return session{}, fmt.Errorf("log in as %s: %w", c.opts.User, ErrUnauthorized)
	}
	for _, cookie := range reply.cookies {
		// Later versions name the cookie sysauth_http or sysauth_https.
		if strings.HasPrefix(cookie.Name, "sysauth") && cookie.Value != "" && reply.code == http.StatusFound {
			c.mu.Lock()
			c.session = session{
				cookie: cookie.Name + "=" + cookie.Value, secrets: secrets{password, url.QueryEscape(password), cookie.Value},
				loggedIn: c.session.loggedIn + 1,
			}
			now := c.session
			c.mu.Unlock()
			c.opts.Log.WithFields(logrus.Fields{"url": c.opts.URL, "logins": now.loggedIn}).Debug("logged in to OpenWRT device")
			return now, nil
		}
	}
	return session{}, fmt.Errorf("log in: response %d without a session", reply.code)
}
