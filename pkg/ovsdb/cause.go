package ovsdb

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/netloom/netloom/pkg/cause"
)

// explain returns why an endpoint cannot be used, in the same words at each attempt. A server that ends the TLS handshake
// has usually rejected the certificate of this side, so that certificate is named.
func (c *Client) explain(at endpoint, why error) error {
	why = cause.Of(why)
	var remote *net.OpError
	if at.secure && errors.As(why, &remote) && remote.Op == "remote error" {
		return fmt.Errorf("the server ends the TLS handshake, client certificate: %s: %w", cmp.Or(c.opts.TLS.Cert, "none"), why)
	}
	return why
}

// NotConnected returns ErrNotConnected with the cause for each endpoint that was tried since the last connection.
func (c *Client) NotConnected() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var causes []string
	for _, e := range c.endpoints {
		if why := c.causes[e.text]; why != nil {
			causes = append(causes, e.text+": "+why.Error())
		}
	}
	if len(causes) == 0 {
		return ErrNotConnected
	}
	return fmt.Errorf("%w: %s", ErrNotConnected, strings.Join(causes, "; "))
}

// noteCause remembers why an endpoint cannot be used, and reports whether that was already known. A new cause wakes the
// reader, which may report it.
func (c *Client) noteCause(at endpoint, why error) (again bool) {
	c.mu.Lock()
	was := c.causes[at.text]
	again = was != nil && was.Error() == why.Error()
	c.causes[at.text] = why
	c.mu.Unlock()
	if !again {
		c.wakeUp()
	}
	return again
}
