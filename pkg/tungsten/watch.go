package tungsten

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/httpcall"
)

// EventType is what an event of a change stream reports.
type EventType int

// The events. After every connection each kind begins with an EventInit, which replaces everything known of it.
const (
	EventLost   EventType = iota // the stream ended, or could not be opened; see Event.Err
	EventInit                    // all objects of a kind
	EventCreate                  // one object; it may be known already
	EventUpdate                  // one object
	EventDelete                  // one object, with its UUID alone; it may be deleted twice
)

// Event is one event of a change stream.
type Event struct {
	Type    EventType
	Kind    Kind
	Objects []*Object
	Err     error // of EventLost
}

// Watched is a kind to watch. A reference from another object is no change of an object.
type Watched struct {
	Kind   Kind
	Fields []string // to read, besides the UUID, the name and the parent; none means all properties and references
}

const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// Watch calls handle for every change of the watched kinds until ctx ends, and returns its cause. It connects again whenever the
// stream ends, to another server if there is one. A write that precedes the connection may arrive after EventInit.
func (c *Client) Watch(ctx context.Context, kinds []Watched, handle func(Event)) error {
	pause := firstPause
	for {
		began := false
		err := c.stream(ctx, kinds, func(e Event) {
			began = true
			handle(e)
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.lost(err)
		handle(Event{Type: EventLost, Err: err})
		if began {
			pause = firstPause
		}
		c.opts.Log.WithFields(logrus.Fields{"error": err, "pause": pause}).Debug("change stream ended")
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// Heard returns when a change stream sent something last, which it does once a minute at least, and why it ended; nil if it has not.
func (c *Client) Heard() (at time.Time, ended error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard, c.deaf
}

func (c *Client) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard, c.deaf = time.Now(), nil
}

func (c *Client) lost(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = err
}

// stream reads one connection until it ends.
func (c *Client) stream(ctx context.Context, kinds []Watched, handle func(Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(quiet, func() { cancel(ErrNoAnswer) })
	defer watchdog.Stop()
	a, err := c.anyServer(ctx, request{method: http.MethodGet, path: watchPath(kinds), stream: true})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer func() { _ = a.open.Close() }() // it has been read as far as needed
	in := &lineReader{in: bufio.NewReader(a.open), limit: c.opts.MaxAnswer}
	if a.code != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		line, _ := in.next() // of the message
		return &StatusError{Method: http.MethodGet, Path: "/watch", Code: a.code, Message: message(line)}
	}
	name := ""
	for {
		line, err := in.next()
		watchdog.Reset(quiet)
		if err == nil {
			c.hear()
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("watch: %w", context.Cause(ctx))
		case err != nil:
			return fmt.Errorf("watch: %w", httpcall.Safe(err))
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			e, err := decodeEvent(name, value, kinds)
			if err != nil {
				return fmt.Errorf("watch: %w", err)
			}
			handle(e)
		}
		if name == "stop" {
			return errors.New("watch: the server ended the stream")
		}
	}
}

// watchPath is the address of a change stream.
func watchPath(kinds []Watched) string {
	var types []string
	query := url.Values{}
	for _, k := range kinds {
		types = append(types, k.Kind.field())
		if len(k.Fields) > 0 {
			query.Set(k.Kind.field()+"_fields", strings.Join(k.Fields, ","))
		}
	}
	query.Set("resource_type", strings.Join(types, ","))
	return "/watch?" + query.Encode()
}

// decodeEvent reads the data of an event.
func decodeEvent(name string, data []byte, kinds []Watched) (Event, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return Event{}, fmt.Errorf("%w: event without data", ErrUnexpected)
	}
	types := map[string]EventType{"create": EventCreate, "update": EventUpdate, "delete": EventDelete}
	for _, k := range kinds {
		if raw := fields[k.Kind.collection()]; raw != nil && name == "init" {
			objects, err := decodeList(k.Kind, raw)
			return Event{Type: EventInit, Kind: k.Kind, Objects: objects}, err
		}
		raw := fields[string(k.Kind)]
		if raw == nil || types[name] == EventLost {
			continue
		}
		o, err := decode(k.Kind, raw)
		return Event{Type: types[name], Kind: k.Kind, Objects: []*Object{o}}, err
	}
	return Event{}, fmt.Errorf("%w: event %q of an unknown kind", ErrUnexpected, shorten(name))
}

// lineReader reads lines of limited length.
type lineReader struct {
	in    *bufio.Reader
	limit int64
}

// next is the next line without its end.
func (r *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if int64(len(line)+len(part)) > r.limit {
			return nil, ErrTooLarge
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}
