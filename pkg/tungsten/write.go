package tungsten

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Create makes an object and returns its UUID: that of o, or one that the server chooses. The server names a tag after its type
// and value.
func (c *Client) Create(ctx context.Context, o *Object) (string, error) {
	fields, err := o.stored()
	if err != nil {
		return "", err
	}
	delete(fields, "parent_uuid") // the name says it already
	body, err := json.Marshal(map[Kind]Fields{o.Kind: fields})
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", o.Kind, o.Name(), err)
	}
	answer, err := c.call(ctx, request{method: http.MethodPost, path: "/" + o.Kind.collection(), body: body})
	if err != nil {
		return "", fmt.Errorf("create %s %s: %w", o.Kind, o.Name(), err)
	}
	created, err := decodeEnvelope(o.Kind, answer)
	if err != nil {
		return "", fmt.Errorf("create %s %s: %w: %w", o.Kind, o.Name(), ErrUnknownOutcome, err)
	}
	return created.UUID, nil
}

// Update replaces fields of an object. The last of concurrent updates wins, field by field; to change one reference, use AddRef
// or RemoveRef.
func (c *Client) Update(ctx context.Context, kind Kind, uuid string, fields Fields) error {
	body, err := json.Marshal(map[Kind]Fields{kind: fields})
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, uuid, err)
	}
	_, err = c.call(ctx, request{method: http.MethodPut, path: objectPath(kind, uuid), body: body})
	return err
}

// Delete removes an object. The server refuses it while others refer to it, see IsReferenced.
func (c *Client) Delete(ctx context.Context, kind Kind, uuid string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: objectPath(kind, uuid)})
	return err
}

// Link is one reference from an object to another.
type Link struct {
	From     Kind
	UUID     string // of the object that refers
	To       Kind
	Target   string // UUID
	Sequence string // "" if the reference has no place in an order
}

// AddRef adds a reference, or changes its sequence if it exists. Concurrent changes of other references of the same object are
// not lost.
func (c *Client) AddRef(ctx context.Context, l Link) error { return c.updateRef(ctx, l, "ADD") }

// RemoveRef removes a reference. It is not an error if there is none.
func (c *Client) RemoveRef(ctx context.Context, l Link) error { return c.updateRef(ctx, l, "DELETE") }

func (c *Client) updateRef(ctx context.Context, l Link, operation string) error {
	update := map[string]any{
		"type": l.From, "uuid": l.UUID, "ref-type": l.To, "ref-uuid": l.Target, "operation": operation,
	}
	if l.Sequence != "" {
		update["attr"] = RefAttr{Sequence: l.Sequence}
	}
	body, err := json.Marshal(update)
	if err != nil {
		return fmt.Errorf("encode reference of %s %s: %w", l.From, l.UUID, err)
	}
	if _, err = c.call(ctx, request{method: http.MethodPost, path: "/ref-update", body: body}); err != nil {
		return fmt.Errorf("reference of %s %s to %s %s: %w", l.From, l.UUID, l.To, l.Target, err)
	}
	return nil
}

func objectPath(kind Kind, uuid string) string {
	return "/" + string(kind) + "/" + url.PathEscape(uuid)
}
