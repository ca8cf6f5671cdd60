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
	cookie  string // name=value
	secrets secrets
}

// login opens a session.
func (c *Client) login(ctx context.Context) (session, error) {
	password, err := c.opts.Password(ctx)
	if err != nil {
		return session{}, fmt.Errorf("password: %w", err)
	}
	c.logins.Add(1)
	form := url.Values{"luci_username": {c.opts.User}, "luci_password": {password}}.Encode()
	reply, err := c.exchange(ctx, request{
		method: http.MethodPost, path: "", body: []byte(form), kind: "application/x-www-form-urlencoded", limit: c.opts.MaxAnswer,
	})
	if err != nil {
		return session{}, err
	}
	if reply.code == http.StatusForbidden {
		return session{}, ErrUnauthorized
	}
	for _, cookie := range reply.cookies {
		// Later versions name the cookie sysauth_http or sysauth_https.
		if strings.HasPrefix(cookie.Name, "sysauth") && cookie.Value != "" && reply.code == http.StatusFound {
			c.opts.Log.WithFields(logrus.Fields{"url": c.opts.URL}).Debug("logged in to OpenWRT device")
			return session{
				cookie: cookie.Name + "=" + cookie.Value, secrets: secrets{password, url.QueryEscape(password), cookie.Value},
			}, nil
		}
	}
	return session{}, fmt.Errorf("response %d without a session", reply.code)
}
