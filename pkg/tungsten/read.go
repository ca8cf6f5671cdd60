package tungsten

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// List returns the objects of a kind that q selects, in no particular order. Objects that appear or disappear while a long list
// is read may be missing or listed.
func (c *Client) List(ctx context.Context, kind Kind, q Query) ([]*Object, error) {
	var out []*Object
	seen := make(map[string]bool)
	for _, l := range q.listings(kind) {
		if q.pages() {
			l.PageMarker, l.PageLimit = "None", pageSize
		}
		for {
			objects, marker, err := c.listOnce(ctx, kind, l)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", kind, err)
			}
			for _, o := range objects {
				if q.Names != nil && !slices.Contains(q.Names, strings.Join(o.FQName, ":")) {
					continue // it was not asked for
				}
				if !seen[o.UUID] { // an object may refer to several that were asked for
					seen[o.UUID] = true
					out = append(out, o)
				}
			}
			if marker == "" || !q.pages() {
				break
			}
			if len(objects) == 0 || l.PageMarker != "None" && marker <= l.PageMarker {
				return nil, fmt.Errorf("list %s: %w: pages do not advance", kind, ErrUnexpected)
			}
			l.PageMarker = marker
		}
	}
	return out, nil
}

// listOnce sends one request for a list. marker is where the next page starts, "" if this is the last one.
func (c *Client) listOnce(ctx context.Context, kind Kind, l listing) (objects []*Object, marker string, err error) {
	ask := request{method: http.MethodPost, path: "/list-bulk-collection", reads: true}
	if l.Names != "" {
		ask = request{method: http.MethodGet, path: "/" + kind.collection() + "?" + l.query()}
	} else if ask.body, err = json.Marshal(l); err != nil {
		return nil, "", err
	}
	answer, err := c.call(ctx, ask)
	if err != nil {
		return nil, "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(answer, &fields); err != nil || fields[kind.collection()] == nil {
		return nil, "", fmt.Errorf("%w: not a list of %s", ErrUnexpected, kind.collection())
	}
	var next *string
	if raw := fields["marker"]; raw != nil {
		if err := json.Unmarshal(raw, &next); err != nil {
			return nil, "", fmt.Errorf("%w: marker: %w", ErrUnexpected, err)
		}
	}
	objects, err = decodeList(kind, fields[kind.collection()])
	if err != nil || next == nil {
		return objects, "", err
	}
	return objects, *next, nil
}

// Get returns one object with all properties and references, or with the named fields only.
func (c *Client) Get(ctx context.Context, kind Kind, uuid string, fields ...string) (*Object, error) {
	query := "?exclude_hrefs=true&exclude_back_refs=true&exclude_children=true"
	if len(fields) > 0 {
		query = "?exclude_hrefs=true&fields=" + url.QueryEscape(strings.Join(fields, ","))
	}
	answer, err := c.call(ctx, request{method: http.MethodGet, path: "/" + string(kind) + "/" + url.PathEscape(uuid) + query})
	if err != nil {
		return nil, err
	}
	return decodeEnvelope(kind, answer)
}

// ID returns the UUID of the object with a fully qualified name.
func (c *Client) ID(ctx context.Context, kind Kind, fqName ...string) (string, error) {
	body, err := json.Marshal(map[string]any{"type": kind, "fq_name": fqName})
	if err != nil {
		return "", err
	}
	answer, err := c.call(ctx, request{method: http.MethodPost, path: "/fqname-to-id", body: body, reads: true})
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", kind, strings.Join(fqName, ":"), err)
	}
	var found struct {
		UUID string `json:"uuid"`
	}
	if err := json.Unmarshal(answer, &found); err != nil || found.UUID == "" {
		return "", fmt.Errorf("%s %s: %w: no uuid", kind, strings.Join(fqName, ":"), ErrUnexpected)
	}
	return found.UUID, nil
}

// decodeList reads the elements of a list: objects, or objects in envelopes.
func decodeList(kind Kind, raw json.RawMessage) ([]*Object, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil {
		return nil, fmt.Errorf("%w: not a list of %s", ErrUnexpected, kind.collection())
	}
	out := make([]*Object, 0, len(elements))
	for _, element := range elements {
		var envelope map[Kind]json.RawMessage
		if err := json.Unmarshal(element, &envelope); err == nil && envelope[kind] != nil {
			element = envelope[kind]
		}
		o, err := decode(kind, element)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// decodeEnvelope reads an object in its envelope.
func decodeEnvelope(kind Kind, raw []byte) (*Object, error) {
	var envelope map[Kind]json.RawMessage
	if err := json.Unmarshal(raw, &envelope); err != nil || envelope[kind] == nil {
		return nil, fmt.Errorf("%w: not a %s", ErrUnexpected, kind)
	}
	return decode(kind, envelope[kind])
}

// decode reads an object. A field of another type than expected, in an object that someone else wrote, is left out.
func decode(kind Kind, raw json.RawMessage) (*Object, error) {
	o := &Object{Kind: kind}
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, o); err != nil && !errors.As(err, &mismatch) {
		return nil, fmt.Errorf("%w: not a %s", ErrUnexpected, kind)
	}
	if o.UUID == "" {
		return nil, fmt.Errorf("%w: a %s without a uuid", ErrUnexpected, kind)
	}
	return o, nil
}
