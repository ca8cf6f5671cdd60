package openwrt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Module is the status of one part of a device.
type Module struct {
	Name string
	// Status is JSON as returned by the device, with everything hidden that looks like a key; null if there is none.
	Status json.RawMessage
	// TooLarge means that the status exceeds Options.MaxStatus; Status is null then.
	TooLarge bool
}

// StatusModules lists the modules of a device.
func StatusModules() []string {
	return []string{"conntrack", "interface", "ipsec", "route", "rule", "wan"}
}

// Status reads all modules with one request, or each with a separate one if together they are too large.
func (c *Client) Status(ctx context.Context) ([]Module, error) {
	const path = "sdewan/v1/status"
	a, err := c.report(ctx, path)
	if errors.Is(err, ErrTooLarge) {
		return c.eachStatus(ctx)
	}
	if err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if json.Unmarshal(a.body, &raw) != nil {
		return nil, fmt.Errorf("GET %s: %w", path, ErrUnexpected)
	}
	out := make([]Module, 0, len(raw))
	for _, one := range raw {
		m, err := c.module(one)
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func (c *Client) eachStatus(ctx context.Context) ([]Module, error) {
	var out []Module
	for _, name := range StatusModules() {
		m, err := c.ModuleStatus(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// ModuleStatus reads one module.
func (c *Client) ModuleStatus(ctx context.Context, name string) (Module, error) {
	path := "sdewan/v1/status/" + name
	if !slices.Contains(StatusModules(), name) {
		return Module{}, fmt.Errorf("status: no module %q", name)
	}
	a, err := c.report(ctx, path)
	if errors.Is(err, ErrTooLarge) {
		return Module{Name: name, Status: json.RawMessage("null"), TooLarge: true}, nil
	}
	if err != nil {
		return Module{}, err
	}
	m, err := c.module(a.body)
	if err != nil {
		return Module{}, fmt.Errorf("GET %s: %w", path, err)
	}
	return m, nil
}

// report requests a status. The device prints the configuration of every remote, its keys included, into the header block
// of the answer, so net/http must not read it.
func (c *Client) report(ctx context.Context, path string) (reply, error) {
	return c.call(ctx, request{method: http.MethodGet, path: path, limit: c.opts.MaxStatus, tolerant: true}, c.opts.Timeout, nil)
}

// module reads one module and hides what looks like a key.
func (c *Client) module(raw []byte) (Module, error) {
	var answer struct {
		Name   string `json:"name"`
		Status any    `json:"status"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&answer) != nil || answer.Name == "" {
		return Module{}, ErrUnexpected
	}
	status, err := json.Marshal(c.session.Current().Value.secrets.hideIn(answer.Status))
	if err != nil {
		return Module{}, ErrUnexpected
	}
	return Module{Name: answer.Name, Status: status}, nil
}
