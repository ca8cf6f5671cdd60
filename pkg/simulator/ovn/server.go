package ovn

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Server is an OVSDB server within this process. It is safe for concurrent use.
type Server struct {
	bytesIn, bytesOut atomic.Int64
	trickle           atomic.Int64 // nanoseconds after each byte

	mu       sync.Mutex
	db       *database
	self     *database // _Server
	selfRow  rowID
	listener net.Listener
	address  string
	peers    map[*peer]struct{}
	closed   bool
	hung     chan struct{} // closed by Resume; nil while not hung
	serial   uint64        // of the last uuid given
	faults   []injected
	// unconditional servers support only the monitor of RFC 7047.
	unconditional bool
	stats         Stats
	work          sync.WaitGroup
}

// NewServer makes a server with one empty database of the given schema, and _Server. It does not listen: see Start.
func NewServer(schema []byte) (*Server, error) {
	db, err := newDatabase(schema)
	if err != nil {
		return nil, fmt.Errorf("OVSDB server: %w", err)
	}
	self, err := newDatabase([]byte(serverSchema))
	if err != nil {
		return nil, fmt.Errorf("OVSDB server: %w", err)
	}
	s := &Server{db: db, self: self, peers: make(map[*peer]struct{})}
	row := marshal(map[string]any{
		"op": "insert", "table": "Database", "row": map[string]any{
			"name": db.name, "model": "standalone", "connected": true, "leader": true, "schema": string(schema),
		},
	})
	_, changes := self.transact([]json.RawMessage{row}, s.newUUID)
	if len(changes) != 1 {
		return nil, errors.New("OVSDB server: cannot describe the database in _Server")
	}
	s.selfRow = changes[0].key.id
	return s, nil
}

// newUUID gives the same uuids in the same order to every server, so that what tests print does not change.
func (s *Server) newUUID() rowID {
	s.serial++
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], s.serial)
	b[6], b[8] = 0x40, 0x80
	h := hex.EncodeToString(b[:])
	return rowID(strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"))
}

// Start listens on an endpoint, unix:PATH or tcp:HOST:PORT, where port 0 takes a free one.
func (s *Server) Start(endpoint string) error {
	network, address, ok := strings.Cut(endpoint, ":")
	if !ok || network != "unix" && network != "tcp" {
		return fmt.Errorf("OVSDB server: endpoint %q: expected unix:PATH or tcp:HOST:PORT", endpoint)
	}
	listener, err := net.Listen(network, address) //nolint:noctx // Listening blocks for nothing.
	if err != nil {
		return fmt.Errorf("OVSDB server: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.listener != nil {
		_ = listener.Close() // it was never used
		return errors.New("OVSDB server: started or closed before")
	}
	s.listener = listener
	s.address = network + ":" + listener.Addr().String()
	s.work.Go(func() { s.accept(listener) })
	return nil
}

// Addr is the endpoint that clients connect to, "" before Start.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Close stops listening, drops every connection and waits for the server's goroutines. The rows stay readable.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.listener != nil {
		_ = s.listener.Close() // a listener that cannot be closed is of no use any more
	}
	s.resume()
	s.mu.Unlock()
	s.Drop()
	s.work.Wait()
}

func (s *Server) accept(listener net.Listener) {
	for {
		nc, err := listener.Accept()
		if err != nil {
			return
		}
		if !s.Serve(nc) {
			return
		}
	}
}

// Dial connects to the server within the process, whatever the address; Start is not needed for it. It has the signature
// of Dial in ovsdb.Options. It fails if ctx has ended or the server is closed.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	if !s.Serve(theirs) {
		return nil, errors.New("OVSDB server: closed")
	}
	return ours, nil
}

// Serve serves a client on nc until either side ends the connection, and returns at once. It returns false if the server
// is closed, and then closes nc.
func (s *Server) Serve(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = nc.Close() // the client notices
		return false
	}
	p := newPeer(s, nc)
	s.peers[p] = struct{}{}
	s.work.Go(p.read)
	s.work.Go(p.write)
	return true
}

// Transact runs ops as one transaction, bypassing counters and faults, and fails unless all of it was committed.
func (s *Server) Transact(ops ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	raw := make([]json.RawMessage, len(ops))
	for i, op := range ops {
		b, err := json.Marshal(op)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		raw[i] = b
	}
	s.mu.Lock()
	wire := s.commit(s.db, raw)
	s.mu.Unlock()
	results := make([]ovsdb.OperationResult, len(wire))
	for i, text := range wire {
		if err := json.Unmarshal(text, &results[i]); err != nil {
			return nil, fmt.Errorf("result %d: %w", i, err)
		}
		if results[i].Error != "" {
			return results, fmt.Errorf("operation %d: %s: %s", i, results[i].Error, results[i].Details)
		}
	}
	return results, nil
}

// commit runs a transaction and notifies the monitors. s.mu is locked.
func (s *Server) commit(db *database, ops []json.RawMessage) []json.RawMessage {
	results, changes := db.transact(ops, s.newUUID)
	if len(changes) == 0 {
		return results
	}
	txnID := s.newUUID()
	for p := range s.peers {
		for _, m := range p.monitors {
			if m.db != db {
				continue
			}
			if b := m.next(changes, txnID); b != nil {
				p.send(b)
			}
		}
	}
	return results
}

// SetLeader makes the server report itself as a member of a RAFT cluster, either the leader or a follower.
func (s *Server) SetLeader(leader bool) {
	s.setState(map[string]any{"model": "clustered", "leader": leader})
}

// SetConnected sets whether the server reports contact with the majority of its cluster.
func (s *Server) SetConnected(connected bool) {
	s.setState(map[string]any{"model": "clustered", "connected": connected})
}

func (s *Server) setState(row map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit(s.self, []json.RawMessage{marshal(map[string]any{
		"op": "update", "table": "Database", "row": row,
		"where": []any{[]any{"_uuid", "==", []string{"uuid", string(s.selfRow)}}},
	})})
}

// serverSchema is the part of the schema _Server that clients read.
const serverSchema = `{"name":"_Server","version":"1.2.0","tables":{"Database":{"isRoot":true,"columns":{
	"name":{"type":"string"},
	"model":{"type":{"key":{"type":"string","enum":["set",["clustered","relay","standalone"]]}}},
	"connected":{"type":"boolean"},
	"leader":{"type":"boolean"},
	"schema":{"type":{"key":"string","min":0,"max":1}},
	"cid":{"type":{"key":"uuid","min":0,"max":1}},
	"sid":{"type":{"key":"uuid","min":0,"max":1}},
	"index":{"type":{"key":"integer","min":0,"max":1}}}}}}`
