package ovn

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// backlogLimit is how many bytes a client may leave unread before it is dropped.
const backlogLimit = 256 << 20

// peer is one client of a server.
type peer struct {
	server   *Server
	nc       net.Conn
	monitors map[string]*monitor // guarded by server.mu

	mu      sync.Mutex
	more    *sync.Cond
	backlog [][]byte
	size    int
	over    bool
}

func newPeer(s *Server, nc net.Conn) *peer {
	p := &peer{server: s, nc: nc, monitors: make(map[string]*monitor)}
	p.more = sync.NewCond(&p.mu)
	return p
}

// close ends the connection.
func (p *peer) close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.more.Broadcast()
	_ = p.nc.Close() // the connection is given up anyway
}

// send queues a message. It never blocks: one slow client does not stop the others.
func (p *peer) send(b []byte) {
	p.mu.Lock()
	p.backlog = append(p.backlog, b)
	p.size += len(b)
	tooMuch := p.size > backlogLimit
	p.mu.Unlock()
	p.more.Signal()
	if tooMuch {
		p.close()
	}
}

func (p *peer) write() {
	for {
		p.mu.Lock()
		for len(p.backlog) == 0 && !p.over {
			p.more.Wait()
		}
		batch := p.backlog
		p.backlog, p.size = nil, 0
		over := p.over
		p.mu.Unlock()
		if over {
			return
		}
		for _, b := range batch {
			if err := p.put(b); err != nil {
				p.close()
				return
			}
		}
	}
}

// put sends a message, byte by byte while the server trickles.
func (p *peer) put(b []byte) error {
	for len(b) > 0 {
		part := b
		pause := time.Duration(p.server.trickle.Load())
		if pause > 0 {
			part = b[:1]
		}
		n, err := p.nc.Write(part)
		p.server.bytesOut.Add(int64(n))
		if err != nil {
			return err
		}
		b = b[n:]
		time.Sleep(pause)
	}
	return nil
}

// Read counts what arrives, and waits while the server hangs.
func (p *peer) Read(b []byte) (int, error) {
	n, err := p.nc.Read(b)
	p.server.bytesIn.Add(int64(n))
	if pause := p.server.pause(); pause != nil {
		<-pause
	}
	return n, err
}

// request is a JSON-RPC message from a client. One without a method is the answer to a probe.
type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (p *peer) read() {
	defer func() {
		p.close()
		p.server.mu.Lock()
		delete(p.server.peers, p)
		p.server.mu.Unlock()
	}()
	decoder := json.NewDecoder(io.Reader(p))
	for {
		var r request
		if err := decoder.Decode(&r); err != nil {
			return
		}
		if pause := p.server.pause(); pause != nil {
			<-pause
		}
		if r.Method != "" && r.Params == nil {
			return // not a request: drop the connection
		}
		if r.Method == "" || len(r.ID) == 0 || string(r.ID) == "null" {
			continue
		}
		if !p.handle(&r) {
			return
		}
	}
}

// handle answers one request. It returns false to drop the connection.
func (p *peer) handle(r *request) bool {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	var result json.RawMessage
	var f *fault
	method := r.Method
	if s.unconditional && strings.HasPrefix(method, "monitor_cond") {
		method = ""
	}
	switch method {
	case "echo":
		result = marshal(r.Params)
	case "list_dbs":
		result = marshal([]string{s.self.name, s.db.name})
	case "set_db_change_aware":
		result = json.RawMessage("{}")
	case "get_schema", "transact", "monitor", "monitor_cond", "monitor_cond_since":
		var db *database
		if db, f = s.database(r.Params); f != nil {
			break
		}
		switch r.Method {
		case "get_schema":
			result = db.schema
		case "transact":
			var keep bool
			if result, keep = s.transact(db, r.Params[1:]); !keep {
				p.close()
				return false
			}
		default:
			result, f = p.monitor(db, r)
		}
	case "monitor_cancel":
		result, f = p.cancel(r.Params)
	default:
		f = &fault{kind: "unknown method"}
	}
	p.send(answer(r.ID, result, f))
	return true
}

func answer(id, result json.RawMessage, f *fault) []byte {
	if f == nil {
		return fmt.Appendf(nil, `{"id":%s,"result":%s,"error":null}`, id, result)
	}
	return fmt.Appendf(nil, `{"id":%s,"result":null,"error":%s}`, id, f.wire())
}

// database is the database that the first parameter names.
func (s *Server) database(params []json.RawMessage) (*database, *fault) {
	var name string
	if len(params) == 0 || json.Unmarshal(params[0], &name) != nil {
		return nil, faultf(syntaxError, "database name expected as the first parameter")
	}
	switch name {
	case s.db.name:
		return s.db, nil
	case s.self.name:
		return s.self, nil
	}
	return nil, faultf("unknown database", "request specifies unknown database %s", name)
}

// transact runs a client's transaction. keep is false if the connection is to be dropped. s.mu is locked.
func (s *Server) transact(db *database, ops []json.RawMessage) (result json.RawMessage, keep bool) {
	writes := false
	for _, raw := range ops {
		var op operation
		if json.Unmarshal(raw, &op) != nil || op.Table == "" {
			continue
		}
		if db == s.db {
			s.count(op.Table, op.Op)
		}
		writes = writes || op.Op != "select" && op.Op != "wait"
	}
	if db == s.self && writes {
		return marshal([]json.RawMessage{(&fault{kind: "not allowed"}).wire()}), true
	}
	if !writes {
		s.stats.Reads++
		return marshal(s.commit(db, ops)), true
	}
	s.stats.Transactions++
	stage, fails := s.fault()
	if fails && stage == BeforeCommit {
		results := make([]json.RawMessage, len(ops), len(ops)+1)
		for i := range results {
			results[i] = json.RawMessage("{}")
		}
		return marshal(append(results, faultf("I/O error", "injected before the commit").wire())), true
	}
	results := s.commit(db, ops)
	return marshal(results), !fails
}

func (p *peer) monitor(db *database, r *request) (json.RawMessage, *fault) {
	version := map[string]int{"monitor": 1, "monitor_cond": 2, "monitor_cond_since": 3}[r.Method]
	m, f := newMonitor(db, version, r.Params[1:])
	if f != nil {
		return nil, f
	}
	if _, taken := p.monitors[string(m.id)]; taken {
		return nil, faultf(syntaxError, "duplicate monitor ID")
	}
	p.monitors[string(m.id)] = m
	return m.first(), nil
}

func (p *peer) cancel(params []json.RawMessage) (json.RawMessage, *fault) {
	if len(params) == 1 {
		if _, ok := p.monitors[string(params[0])]; ok {
			delete(p.monitors, string(params[0]))
			return json.RawMessage("{}"), nil
		}
	}
	return nil, &fault{kind: "unknown monitor"}
}
