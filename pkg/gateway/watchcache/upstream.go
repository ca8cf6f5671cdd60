package watchcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	pageSize = 500
	// maxPage and maxFrame bound what is read at once from the upstream. etcd limits an object to 1.5 MiB by default.
	maxPage  = 1 << 30
	maxFrame = 32 << 20
	// answerTimeout is how long the upstream may take to begin an answer, and a list of one object to complete.
	answerTimeout = 10 * time.Second
	pageTimeout   = time.Minute
	// maxSilence is how long a watch may be silent. An API server sends a bookmark about once a minute.
	maxSilence = 3 * time.Minute
)

// upstream lists and watches one kind with the gateway's own identity.
type upstream struct {
	transport http.RoundTripper
	resource  *Resource
}

// page is a part of a list.
type page struct {
	Metadata struct {
		ResourceVersion, Continue string
		RemainingItemCount        *int64
	}
	Items []json.RawMessage
}

// list returns all objects, as of one version that was the most recent when the list began.
func (u upstream) list(ctx context.Context) ([]*object, uint64, error) {
	var objects []*object
	for next := ""; ; {
		parameters := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if next != "" {
			parameters.Set("continue", next)
		}
		p, err := u.page(ctx, pageTimeout, parameters)
		if err != nil {
			return nil, 0, err
		}
		for _, raw := range p.Items {
			o, err := u.resource.parse(raw)
			if err != nil {
				return nil, 0, err
			}
			objects = append(objects, o)
		}
		if next = p.Metadata.Continue; next == "" {
			version, err := parseVersion(p.Metadata.ResourceVersion)
			return objects, version, err
		}
	}
}

// current returns the most recent version, which covers changes of all kinds.
func (u upstream) current(ctx context.Context) (uint64, error) {
	p, err := u.page(ctx, answerTimeout, url.Values{"limit": {"1"}})
	if err != nil {
		return 0, err
	}
	return parseVersion(p.Metadata.ResourceVersion)
}

func (u upstream) page(ctx context.Context, timeout time.Duration, parameters url.Values) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := u.get(ctx, parameters)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	p := &page{}
	if err := json.NewDecoder(io.LimitReader(body, maxPage)).Decode(p); err != nil {
		return nil, fmt.Errorf("list %s: %w", u.resource.Resource, err)
	}
	return p, nil
}

// handler receives what a watch delivers.
type handler struct {
	connected func()
	event     func(kind string, o *object) error
	bookmark  func(version uint64, object []byte) error
}

// watch delivers the changes after a version until the upstream ends the watch, which it does after a time, or until a
// function of h returns an error.
func (u upstream) watch(ctx context.Context, version uint64, timeout time.Duration, h handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(answerTimeout, func() { cancel(fmt.Errorf("watch %s: the upstream is silent", u.resource.Resource)) })
	defer silent.Stop()
	body, err := u.get(ctx, url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {strconv.FormatUint(version, 10)},
		"timeoutSeconds": {strconv.Itoa(int(timeout.Seconds()))},
	})
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	defer func() { _ = body.Close() }()
	h.connected()
	limited := &frameReader{r: body}
	frames := json.NewDecoder(limited)
	for {
		silent.Reset(maxSilence)
		limited.left = maxFrame
		var frame struct {
			Type   string
			Object json.RawMessage
		}
		if err := frames.Decode(&frame); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("watch %s: %w", u.resource.Resource, errors.Join(err, context.Cause(ctx)))
		}
		if err := u.deliver(frame.Type, frame.Object, h); err != nil {
			return err
		}
	}
}

func (u upstream) deliver(kind string, raw json.RawMessage, h handler) error {
	switch kind {
	case "ERROR":
		return refusal(u.resource, 0, raw)
	case "BOOKMARK":
		var b struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return fmt.Errorf("read a bookmark of %s: %w", u.resource.Resource, err)
		}
		version, err := parseVersion(b.Metadata.ResourceVersion)
		if err != nil {
			return err
		}
		return h.bookmark(version, raw)
	case "ADDED", "MODIFIED", "DELETED":
		o, err := u.resource.parse(raw)
		if err != nil {
			return err
		}
		return h.event(kind, o)
	}
	return fmt.Errorf("watch %s: unknown event type %q", u.resource.Resource, kind)
}

func (u upstream) get(ctx context.Context, parameters url.Values) (io.ReadCloser, error) {
	target := url.URL{Scheme: "https", Host: "upstream", Path: u.resource.path(""), RawQuery: parameters.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := u.transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("list or watch %s: %w", u.resource.Resource, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // the code says enough
	return nil, refusal(u.resource, resp.StatusCode, raw)
}

// refusal returns the error that a Status stands for.
func refusal(r *Resource, code int, raw []byte) error {
	var s struct {
		Code    int
		Message string
	}
	if json.Unmarshal(raw, &s) == nil && code == 0 {
		code = s.Code
	}
	if code == http.StatusGone {
		return fmt.Errorf("%s: %w: %s", r.Resource, errExpired, s.Message)
	}
	return fmt.Errorf("%s: the upstream answered %d: %s", r.Resource, code, s.Message)
}

func parseVersion(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version %q: not a number", s)
	}
	return v, nil
}

// frameReader fails when one frame is too long.
type frameReader struct {
	r    io.Reader
	left int
}

func (f *frameReader) Read(b []byte) (int, error) {
	if f.left <= 0 {
		return 0, errors.New("an event is too large")
	}
	n, err := f.r.Read(b[:min(len(b), f.left)])
	f.left -= n
	return n, err
}
