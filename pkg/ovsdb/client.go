package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"
)

// Client talks to one database through whichever of its servers can be used. It is safe for concurrent use.
type Client struct {
	opts      Options
	endpoints []endpoint
	wake      chan struct{}
	ports     *portIndex
	topology  *topology
	rows      rowLog

	mu      sync.Mutex
	running bool
	session *session         // nil while not connected
	causes  map[string]error // why endpoints could not be used when last tried, since the last connection
	schema  Schema
	epoch   uint64
}

// New makes a client. It starts nothing: see Run. The error lists every problem of opts.
func New(opts Options) (*Client, error) {
	endpoints, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("OVSDB client: %w", err)
	}
	return &Client{
		opts:      opts,
		endpoints: endpoints,
		wake:      make(chan struct{}, 1),
		ports:     newPortIndex(opts.PortIndexKeys),
		topology:  newTopology(),
		causes:    map[string]error{},
	}, nil
}

// Run keeps a connection until ctx ends, then closes everything and returns nil. It fails only if it is already running.
func (c *Client) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.running {
		c.mu.Unlock()
		return errors.New("OVSDB client: already running")
	}
	c.running = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running = false
		c.mu.Unlock()
	}()
	var pause backoff
	for at, refused, limit := 0, 0, longestPause; ; {
		end := c.attempt(ctx, c.endpoints[at])
		if ctx.Err() != nil {
			return nil
		}
		c.report(c.endpoints[at], end)
		if errors.Is(end.why, errFilesChanged) {
			continue
		}
		at = (at + 1) % len(c.endpoints)
		if end.settled {
			pause = backoff{}
		}
		if end.answered && !end.established {
			limit = longestElection
		}
		if !end.established {
			if refused++; refused < len(c.endpoints) {
				continue
			}
		}
		sleep(ctx, pause.next(limit))
		refused, limit = 0, longestPause
	}
}

// report logs the end of an attempt. A cause that was logged for an endpoint before is logged again on the debug level
// only, and a server that is not the leader causes no warning.
func (c *Client) report(at endpoint, end ending) {
	why := c.explain(at, end.why)
	log := c.opts.Log.WithFields(logrus.Fields{"endpoint": at.text, "database": c.opts.Database}).WithError(why)
	again := c.noteCause(at, why)
	switch {
	case errors.Is(end.why, errFilesChanged):
		log.Info("renewing OVSDB connection")
	case end.established:
		log.Warn("lost OVSDB connection")
	case again || errors.Is(end.why, errNotLeader):
		log.Debug("cannot use OVSDB server")
	default:
		log.Warn("cannot use OVSDB server")
	}
}

// Wake is a channel of size one that receives after the connection was established or lost, after logical
// ports, switches or routers appeared, disappeared or changed, and after changes of rows that WatchRows watches.
func (c *Client) Wake() <-chan struct{} { return c.wake }

func (c *Client) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Connected reports whether a transaction can be sent now.
func (c *Client) Connected() bool { return c.current() != nil }

// Endpoint is the address of the connected server as in the options, "" if there is none.
func (c *Client) Endpoint() string {
	if s := c.current(); s != nil {
		return s.endpoint.text
	}
	return ""
}

// Epoch counts the connections made so far. If it changed, the database may have changed in any way.
func (c *Client) Epoch() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// Schema returns the schema of the server that was connected last.
func (c *Client) Schema() Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schema
}

func (c *Client) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// establish makes s the session of c.
func (c *Client) establish(s *session) {
	c.mu.Lock()
	c.session, c.schema = s, s.schema
	clear(c.causes)
	c.epoch++
	epoch := c.epoch
	c.mu.Unlock()
	c.opts.Log.WithFields(logrus.Fields{
		"endpoint": s.endpoint.text, "database": c.opts.Database, "schema": s.schema.Version, "epoch": epoch,
	}).Info("connected to OVSDB server")
	c.wakeUp()
}

// abandon ends what establish began.
func (c *Client) abandon() {
	c.mu.Lock()
	c.session = nil
	c.mu.Unlock()
	c.wakeUp()
}
