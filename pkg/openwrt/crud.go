package openwrt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// promptly is how soon a device returns nothing if it has nothing. Without its daemon it returns nothing after half a minute.
const promptly = 5 * time.Second

// List returns every object of a kind in canonical form, in the device's order. If Kind.Named is false, several may have the same
// name. An empty list that took long to arrive is an error.
func (c *Client) List(ctx context.Context, k Kind) ([]Object, error) {
	s, err := c.spec(k)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	a, err := c.call(ctx, request{method: http.MethodGet, path: s.path(), limit: c.opts.MaxAnswer}, c.opts.Timeout, nil)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	var raw []json.RawMessage
	if json.Unmarshal(a.body, &all) != nil || json.Unmarshal(all[s.collection], &raw) != nil || raw == nil {
		return nil, fmt.Errorf("GET %s: %w", s.path(), ErrUnexpected)
	}
	if len(raw) == 0 && time.Since(began) > promptly {
		return nil, fmt.Errorf("GET %s: an empty list after a long time: %w", s.path(), ErrNoAnswer)
	}
	out := make([]Object, 0, len(raw))
	for _, one := range raw {
		o, err := parse(s, one)
		if err != nil || o == nil {
			return nil, fmt.Errorf("GET %s: %w", s.path(), ErrUnexpected)
		}
		out = append(out, o)
	}
	return out, nil
}

// Get returns the first object with that name, in canonical form. See IsNotFound.
func (c *Client) Get(ctx context.Context, k Kind, name string) (Object, error) {
	s, err := c.item(k, name)
	if err != nil {
		return nil, err
	}
	path := s.path() + "/" + name
	a, err := c.call(ctx, request{method: http.MethodGet, path: path, limit: c.opts.MaxAnswer}, c.opts.Timeout, nil)
	if err != nil {
		return nil, err
	}
	o, err := parse(s, a.body)
	if err != nil || o == nil {
		return nil, fmt.Errorf("GET %s: %w", path, ErrUnexpected)
	}
	return o, nil
}

// Create makes an object of o, which has a name. It returns what the device stored, with a *LossError if that is not all
// of it, or nil and a *LossError if it is nothing. For a kind that is not Named it creates a second object if the name
// already exists: use Put there.
func (c *Client) Create(ctx context.Context, k Kind, o Object) (Object, error) {
	s, err := c.spec(k)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, k, http.MethodPost, s.path(), Canonical(k, o))
}

// Put creates or replaces the object of o's name, and leaves one if there were several. It returns the same as Create.
// The device deletes the object first: after any error the object may be gone, so read it back.
func (c *Client) Put(ctx context.Context, k Kind, o Object) (Object, error) {
	s, err := c.item(k, o.Name())
	if err != nil {
		return nil, err
	}
	return c.send(ctx, k, http.MethodPut, s.path()+"/"+o.Name(), Canonical(k, o))
}

// Delete removes every object of a name. See IsNotFound and IsInUse.
func (c *Client) Delete(ctx context.Context, k Kind, name string) error {
	s, err := c.item(k, name)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{method: http.MethodDelete, path: s.path() + "/" + name, limit: c.opts.MaxAnswer}, c.opts.Timeout, nil)
	return err
}

// send writes a canonical object and compares it with what the device stored.
func (c *Client) send(ctx context.Context, k Kind, method, path string, o Object) (Object, error) {
	s, _ := k.spec()
	body, err := wire(o)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	a, err := c.call(ctx, request{
		method: method, path: path, body: body, kind: "application/json", limit: c.opts.MaxAnswer,
	}, c.opts.Timeout, secretsOf(o))
	if err != nil {
		return nil, err
	}
	kept, err := parse(s, a.body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %w", method, path, ErrUnknownOutcome, err)
	}
	if kept == nil {
		return nil, &LossError{Kind: k, Name: o.Name()}
	}
	if lost := Diff(k, o, kept); len(lost) > 0 {
		return kept, &LossError{Kind: k, Name: o.Name(), Fields: lost}
	}
	return kept, nil
}

func (c *Client) spec(k Kind) (spec, error) {
	s, ok := k.spec()
	if !ok {
		return spec{}, errors.New("OpenWRT client: no such kind of object")
	}
	return s, nil
}

// item is spec for an address with a name at the end.
func (c *Client) item(k Kind, name string) (spec, error) {
	s, err := c.spec(k)
	if err == nil {
		err = addressable(k, name)
	}
	return s, err
}
