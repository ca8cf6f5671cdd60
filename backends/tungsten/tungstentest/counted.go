package tungstentest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	backend "github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/pkg/tungsten"
)

// counted counts the requests of backends, and lets writes fail.
type counted struct {
	backend.API

	target *Target
	writes int
	calls  map[string]int // by verb and kind
	rounds [][]string     // what was sent by each Together
	refuse func(what string) bool

	refusals map[named]bool // objects that are not written

	backwards bool
}

// named is an object by kind and name.
type named struct {
	kind tungsten.Kind
	name string
}

// turnedDown is refused for an object that is named in a request.
func (c *counted) turnedDown(method, what string, object named) error {
	if err := c.refused(method, what); err != nil {
		return err
	}
	if !c.refusals[object] {
		return nil
	}
	return &tungsten.StatusError{Method: method, Path: "/" + what, Code: http.StatusBadRequest, Message: "refused"}
}

// known returns an object that there is.
func (c *counted) known(uuid string) named {
	if o := c.target.objects[uuid]; o != nil {
		return named{o.Kind, o.Name()}
	}
	return named{}
}

// refused asks whether a request is refused. What has a verb, a kind and a UUID, and of a reference the UUID that it refers to.
func (c *counted) refused(method, what string) error {
	if last := len(c.rounds) - 1; last >= 0 {
		c.rounds[last] = append(c.rounds[last], what)
	}
	if c.refuse == nil || !c.refuse(what) {
		return nil
	}
	return &tungsten.StatusError{Method: method, Path: "/" + what, Code: http.StatusBadRequest, Message: "refused"}
}

func (c *counted) done(what string, kind tungsten.Kind, err error) error {
	c.calls[what+" "+string(kind)]++
	if err == nil {
		c.writes++
	}
	return err
}

// List implements backend.API.
func (c *counted) List(ctx context.Context, kind tungsten.Kind, q tungsten.Query) ([]*tungsten.Object, error) {
	c.calls["list "+string(kind)]++
	return c.API.List(ctx, kind, q)
}

// Create implements backend.API.
func (c *counted) Create(ctx context.Context, o *tungsten.Object) (string, error) {
	if err := c.turnedDown(http.MethodPost, fmt.Sprintf("create %s %s", o.Kind, o.UUID), named{o.Kind, o.Name()}); err != nil {
		return "", c.done("create", o.Kind, err)
	}
	id, err := c.API.Create(ctx, o)
	return id, c.done("create", o.Kind, err)
}

// Update implements backend.API.
func (c *counted) Update(ctx context.Context, kind tungsten.Kind, uuid string, fields tungsten.Fields) error {
	if err := c.turnedDown(http.MethodPut, fmt.Sprintf("update %s %s", kind, uuid), c.known(uuid)); err != nil {
		return c.done("update", kind, err)
	}
	return c.done("update", kind, c.API.Update(ctx, kind, uuid, fields))
}

// Delete implements backend.API.
func (c *counted) Delete(ctx context.Context, kind tungsten.Kind, uuid string) error {
	if err := c.refused(http.MethodDelete, fmt.Sprintf("delete %s %s", kind, uuid)); err != nil {
		return c.done("delete", kind, err)
	}
	return c.done("delete", kind, c.API.Delete(ctx, kind, uuid))
}

// AddRef implements backend.API.
func (c *counted) AddRef(ctx context.Context, l tungsten.Link) error {
	if err := c.turnedDown(http.MethodPost, fmt.Sprintf("add %s %s %s", l.From, l.UUID, l.Target), c.known(l.UUID)); err != nil {
		return c.done("add", l.To, err)
	}
	return c.done("add", l.To, c.API.AddRef(ctx, l))
}

// RemoveRef implements backend.API.
func (c *counted) RemoveRef(ctx context.Context, l tungsten.Link) error {
	if err := c.turnedDown(http.MethodPost, fmt.Sprintf("remove %s %s %s", l.From, l.UUID, l.Target), c.known(l.UUID)); err != nil {
		return c.done("remove", l.To, err)
	}
	return c.done("remove", l.To, c.API.RemoveRef(ctx, l))
}

// Together implements backend.API. It makes the calls one after the other, so that tests are deterministic.
func (c *counted) Together(calls ...func()) {
	c.rounds = append(c.rounds, nil)
	if c.backwards {
		slices.Reverse(calls)
	}
	for _, call := range calls {
		call()
	}
}

// Rounds returns what backends have sent at once, each time since the last call. Requests are described as for Refuse.
func (t *Target) Rounds() [][]string {
	out := t.counted.rounds
	t.counted.rounds = nil
	return out
}

// Backwards has what backends send at once arrive in the opposite order.
func (t *Target) Backwards() { t.counted.backwards = true }

// Refuse has the controller refuse, for their content, the writes of backends that f returns true for; nil for none. They are described by
// a verb, a kind and a UUID, and references by both UUIDs: "create tag UUID", "add firewall-policy UUID UUID".
func (t *Target) Refuse(f func(what string) bool) { t.counted.refuse = f }

// RefuseObject implements backendtest.Refuser: the controller refuses to create or change the object, but not to delete it.
func (t *Target) RefuseObject(_ testing.TB, op *backends.Op) bool {
	if op == nil {
		t.counted.refusals = nil
		return true
	}
	if op.Verb == backends.Delete {
		return false
	}
	t.counted.refusals = map[named]bool{{tungsten.Kind(op.Kind), op.Name}: true}
	return true
}

// Calls returns how many requests of each kind backends have sent since the last call, such as "create tag".
func (t *Target) Calls() map[string]int {
	out := t.counted.calls
	t.counted.calls = map[string]int{}
	return out
}

var _ backendtest.Refuser = (*Target)(nil)
