package ovsdb

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

var (
	errNotLeader    = errors.New("not the leader of its cluster")
	errNoQuorum     = errors.New("not in contact with the majority of its cluster")
	errHung         = errors.New("no answer to a probe")
	errLate         = errors.New("timeout: the server did not answer in full in time")
	errTooLong      = errors.New("the message is too long")
	errFilesChanged = errors.New("TLS files changed")
)

// The names under which the monitors of a session report.
const (
	monitorServer   = "server"
	monitorPorts    = "ports"
	monitorTopology = "topology"
	monitorRows     = "rows"
)

// session is one connection that may become the client's.
type session struct {
	conn     *conn
	endpoint endpoint
	schema   Schema
	files    fingerprint
}

// ending is the result of an attempt at one endpoint.
type ending struct {
	why         error
	answered    bool // the server answered
	established bool // it became the client's session
	settled     bool // and stayed connected for at least a tick of the probe
}

// attempt dials one endpoint and uses it as long as it serves.
func (c *Client) attempt(ctx context.Context, at endpoint) ending {
	s := &session{endpoint: at}
	nc, err := c.connect(ctx, s)
	if err != nil {
		return ending{why: err}
	}
	s.conn = newConn(nc, limits{c.opts.Database, c.opts.MaxReply, c.opts.CallTimeout}, func(method string, params json.RawMessage) { c.notified(s, method, params) })
	var group sync.WaitGroup
	defer group.Wait()
	defer s.conn.close(errClosed)
	group.Go(s.conn.read)
	group.Go(s.conn.write)
	stop := context.AfterFunc(ctx, func() { s.conn.close(ctx.Err()) })
	defer stop()

	if err := c.handshake(ctx, s); err != nil {
		return ending{why: err, answered: errors.Is(err, errNotLeader) || errors.Is(err, errNoQuorum)}
	}
	end := ending{answered: true}
	probed := make(chan struct{})
	group.Go(func() {
		defer close(probed)
		end.settled = c.probe(s)
	})
	if err := c.prepare(ctx, s); err != nil {
		s.conn.close(err)
	} else {
		c.establish(s)
		end.established = true
	}
	<-probed
	if end.established {
		c.abandon()
	}
	end.why = s.conn.reason()
	return end
}

// connect dials, with a separate deadline for this endpoint.
func (c *Client) connect(ctx context.Context, s *session) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	var config *tls.Config
	if s.endpoint.secure {
		var err error
		s.files = c.opts.TLS.stamp()
		if config, err = c.opts.TLS.config(); err != nil {
			return nil, err
		}
	}
	nc, err := c.opts.Dial(ctx, s.endpoint.network, s.endpoint.address)
	if err != nil || config == nil {
		return nc, err
	}
	secure := tls.Client(nc, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = nc.Close() // the failed handshake is the error worth reporting
		return nil, err
	}
	return secure, nil
}

// handshake waits for the first answer of the server, within the deadline of a dial, and checks whether the server can be
// used.
func (c *Client) handshake(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	request := `["_Server","` + monitorServer + `",{"Database":{"columns":["name","model","connected","leader"]}}]`
	var verdict error
	_, err := s.conn.call(ctx, "monitor", []byte(request), 0, func(result json.RawMessage) {
		verdict = c.judge(result, true)
	})
	var refusal *rpcError
	if errors.As(err, &refusal) {
		return nil // a server without the database _Server is not a member of a cluster
	}
	if err != nil {
		return err
	}
	return verdict
}

// judge checks what the server reports about the database: nil if it can be used.
func (c *Client) judge(update json.RawMessage, initial bool) error {
	var tables map[string]map[string]struct {
		New *struct {
			Name      string `json:"name"`
			Model     string `json:"model"`
			Connected bool   `json:"connected"`
			Leader    bool   `json:"leader"`
		} `json:"new"`
	}
	if err := json.Unmarshal(update, &tables); err != nil {
		return fmt.Errorf("read the state of the server: %w", err)
	}
	for _, row := range tables["Database"] {
		switch {
		case row.New == nil || row.New.Name != c.opts.Database:
			continue
		case !row.New.Connected:
			return errNoQuorum
		case c.opts.LeaderOnly && row.New.Model != "standalone" && !row.New.Leader:
			return errNotLeader
		default:
			return nil
		}
	}
	if initial {
		return fmt.Errorf("the server has no database %s", c.opts.Database)
	}
	return nil
}

// prepare reads the schema and starts to monitor the logical ports, switches and routers. The probe and the timeout of a
// call bound how long it takes.
func (c *Client) prepare(ctx context.Context, s *session) error {
	raw, err := s.conn.call(ctx, "get_schema", append(appendString([]byte{'['}, c.opts.Database), ']'), 0, nil)
	if err != nil {
		return err
	}
	if s.schema, err = ParseSchema(raw); err != nil {
		return err
	}
	err = c.monitor(ctx, s, monitorTopology, c.topology.request(s.schema), func(result json.RawMessage) error {
		_, err := c.topology.take(result, true)
		return err
	})
	if err != nil {
		return err
	}
	return c.monitor(ctx, s, monitorPorts, c.ports.request(s.schema), func(result json.RawMessage) error {
		err := c.ports.replace(result)
		if c.ports.takeLinked() {
			c.topology.bump()
		}
		return err
	})
}

// monitor starts to monitor the tables of request and passes on their current rows; nil requests monitor nothing.
func (c *Client) monitor(
	ctx context.Context, s *session, name string, request []byte, all func(json.RawMessage) error,
) error {
	if request == nil {
		return all(nil)
	}
	b := append(appendString([]byte{'['}, c.opts.Database), ',')
	b = append(append(appendString(b, name), ','), request...)
	var fault error
	_, err := s.conn.call(ctx, "monitor", append(b, ']'), selectWeight, func(result json.RawMessage) {
		fault = all(result)
	})
	if err != nil {
		return err
	}
	return fault
}

// notified handles the notifications of the server. The reader of s calls it.
func (c *Client) notified(s *session, method string, params json.RawMessage) {
	if method != "update" && method != "update2" {
		return
	}
	var pair []json.RawMessage
	var monitor string
	if json.Unmarshal(params, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &monitor) != nil {
		s.conn.close(errors.New("update without a monitor"))
		return
	}
	switch monitor {
	case monitorServer:
		if err := c.judge(pair[1], false); err != nil {
			s.conn.close(err)
		}
	case monitorPorts:
		changed, err := c.ports.update(pair[1])
		c.updated(s, changed, err)
		if c.ports.takeLinked() {
			c.topology.bump()
			c.wakeUp()
		}
	case monitorTopology:
		changed, err := c.topology.take(pair[1], false)
		c.updated(s, changed, err)
	case monitorRows:
		c.updated(s, false, c.rowsChanged(s, pair[1]))
	}
}

// updated wakes the reader after an update that changed something, and ends a session whose update could not be read.
func (c *Client) updated(s *session, changed bool, err error) {
	if err != nil {
		s.conn.close(err)
	}
	if changed {
		c.wakeUp()
	}
}

// patience is the number of intervals for which a probe may stay unanswered, in halves.
const (
	patienceHalves      = 3
	patienceHalvesAlone = 20 // there is no other server to use
)

// workPerByte is how long a server may be busy with one byte of a request before it is considered hung. A server has one
// thread: while it commits a transaction of some megabytes it answers no probe. One of 25,000 operations took 4.4 s.
const workPerByte = 4 * time.Microsecond

// workOf is how long a server may be busy with a weight.
func workOf(weight int64) time.Duration { return time.Duration(weight) * workPerByte }

// probe returns when the connection ended. It ends the connection if the server falls silent or the TLS files changed. It
// reports whether the connection outlived the first tick.
func (c *Client) probe(s *session) (settled bool) {
	tick := max(c.opts.ProbeInterval/2, time.Millisecond)
	patience := patienceHalves
	if len(c.endpoints) == 1 {
		patience = patienceHalvesAlone
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var received uint64
	for silent := 0; ; {
		select {
		case <-s.conn.down:
			return settled
		case <-ticker.C:
		}
		settled = true
		if s.endpoint.secure && c.renewed(s) {
			s.conn.close(errFilesChanged)
			return settled
		}
		if now := s.conn.received.Load(); now != received {
			received, silent = now, 0
			continue
		}
		if silent++; silent == 1 {
			s.conn.send([]byte(`{"method":"echo","params":[],"id":"probe"}`))
		}
		work := workOf(s.conn.weight.Load())
		if silent > patience+int(work/tick) {
			s.conn.close(errHung)
			return settled
		}
	}
}

// renewed reports whether the TLS files changed since s was dialed and can be used now. Half-written ones are ignored.
func (c *Client) renewed(s *session) bool {
	now := c.opts.TLS.stamp()
	if now == s.files {
		return false
	}
	if _, err := c.opts.TLS.config(); err != nil {
		c.opts.Log.WithError(err).Debug("changed TLS files cannot be used yet")
		return false
	}
	return true
}
