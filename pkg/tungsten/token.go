package tungsten

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sirupsen/logrus"
)

// token is what Keystone issues. The zero value is none.
type token struct {
	value  string
	issued int // number of tokens so far
}

func (c *Client) currentToken() token {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// renew gets a token unless another caller did so since old. It returns the current one.
func (c *Client) renew(ctx context.Context, old token) (token, error) {
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return token{}, fmt.Errorf("%w: %w", errNoToken, context.Cause(ctx))
	}
	if now := c.currentToken(); now.issued != old.issued {
		return now, nil
	}
	body, err := c.identity(ctx)
	if err != nil {
		return token{}, fmt.Errorf("%w: %w", errNoToken, err)
	}
	c.tokens.Add(1)
	a, err := c.send(ctx, c.opts.Keystone.URL, request{method: http.MethodPost, path: "/auth/tokens", body: body, limit: 1 << 20, reads: true}, "", "")
	if err != nil {
		return token{}, fmt.Errorf("%w: %w", errNoToken, err)
	}
	value := a.header.Get("X-Subject-Token")
	switch {
	case a.code == http.StatusUnauthorized:
		return token{}, fmt.Errorf("%w for user %s: %w", errNoToken, c.opts.User, ErrUnauthorized)
	case a.code != http.StatusCreated || value == "":
		return token{}, fmt.Errorf("%w: response %d without a token", errNoToken, a.code)
	}
	c.mu.Lock()
	c.token = token{value: value, issued: c.token.issued + 1}
	now := c.token
	c.mu.Unlock()
	c.opts.Log.WithFields(logrus.Fields{"url": c.opts.Keystone.URL, "tokens": now.issued}).Debug("got a token from Keystone")
	return now, nil
}

// identity is the request for a token.
func (c *Client) identity(ctx context.Context) ([]byte, error) {
	password, err := c.opts.Password(ctx)
	if err != nil {
		return nil, fmt.Errorf("password: %w", err)
	}
	type named map[string]any
	k := c.opts.Keystone
	return json.Marshal(named{"auth": named{
		"identity": named{
			"methods": []string{"password"},
			"password": named{"user": named{
				"name": c.opts.User, "password": password, "domain": named{"name": k.UserDomain},
			}},
		},
		"scope": named{"project": named{"name": k.Project, "domain": named{"name": k.ProjectDomain}}},
	}})
}
