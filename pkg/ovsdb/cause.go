package ovsdb

import (
	"fmt"
	"strings"
)

// NotConnected is ErrNotConnected with the cause for each endpoint that was tried since the last connection.
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

// noteCause remembers why an endpoint cannot be used, and says whether that was known. A cause that is new wakes the
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
