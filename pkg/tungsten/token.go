package tungsten

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sirupsen/logrus"
)

// newToken gets a token from Keystone.
func (c *Client) newToken(ctx context.Context) (string, error) {
	body, err := c.identity(ctx)
	if err != nil {
		return "", err
	}
	c.tokens.Add(1)
	a, err := c.send(ctx, c.opts.Keystone.URL, request{method: http.MethodPost, path: "/auth/tokens", body: body, limit: 1 << 20, reads: true}, "", "")
	if err != nil {
		return "", err
	}
	value := a.header.Get("X-Subject-Token")
	switch {
	case a.code == http.StatusUnauthorized:
		return "", fmt.Errorf("user %s: %w", c.opts.User, ErrUnauthorized)
	case a.code != http.StatusCreated || value == "":
		return "", fmt.Errorf("response %d without a token", a.code)
	}
	c.opts.Log.WithFields(logrus.Fields{"url": c.opts.Keystone.URL}).Debug("got a token from Keystone")
	return value, nil
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
