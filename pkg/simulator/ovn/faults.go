package ovn

import (
	"maps"
	"time"
)

// Stage is the moment at which a transaction fails.
type Stage int

const (
	// BeforeCommit refuses the transaction: nothing is committed.
	BeforeCommit Stage = iota
	// AfterCommit commits the transaction and drops the connection instead of answering.
	AfterCommit
)

type injected struct {
	left  int
	stage Stage
}

// Stats counts the operations of clients since the last Reset.
type Stats struct {
	Transactions int                       // with at least one insert, update, mutate or delete, refused ones included
	Reads        int                       // without any
	Ops          map[string]map[string]int // by table and verb
	BytesIn      int64
	BytesOut     int64
}

// FailAt makes the n-th writing transaction of a client from now on fail, counted from 1. Zero cancels every failure that
// has not happened yet.
func (s *Server) FailAt(n int, stage Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= 0 {
		s.faults = nil
		return
	}
	s.faults = append(s.faults, injected{left: n, stage: stage})
}

// fault reports whether the current writing transaction is to fail. s.mu is locked.
func (s *Server) fault() (stage Stage, fails bool) {
	left := s.faults[:0]
	for _, f := range s.faults {
		if f.left--; f.left == 0 {
			stage, fails = f.stage, true
			continue
		}
		left = append(left, f)
	}
	s.faults = left
	return stage, fails
}

// WithoutConditions turns the server into one without conditional monitors, as ovsdb-server before 2.6.
func (s *Server) WithoutConditions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unconditional = true
}

// Drop ends every connection. Clients may reconnect at once.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.peers {
		p.close()
	}
}

// Hang stops the server: it accepts connections, as the kernel does for a stopped process, and answers nothing.
func (s *Server) Hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hung == nil && !s.closed {
		s.hung = make(chan struct{})
	}
}

// Trickle has the server send one byte at a time from now on, with a pause after each; 0 ends that.
func (s *Server) Trickle(pause time.Duration) { s.trickle.Store(int64(pause)) }

// Resume ends Hang. Requests that arrived in the meantime are answered now.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resume()
}

func (s *Server) resume() {
	if s.hung != nil {
		close(s.hung)
		s.hung = nil
	}
}

// pause returns a channel that is closed when the server resumes, nil if the server runs.
func (s *Server) pause() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hung
}

// Transactions counts the writing transactions of clients since the last Reset.
func (s *Server) Transactions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.Transactions
}

// Stats counts everything since the last Reset.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Ops = make(map[string]map[string]int, len(s.stats.Ops))
	for table, verbs := range s.stats.Ops {
		out.Ops[table] = maps.Clone(verbs)
	}
	out.BytesIn, out.BytesOut = s.bytesIn.Load(), s.bytesOut.Load()
	return out
}

// Reset sets every counter to zero. Faults stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats = Stats{}
	s.bytesIn.Store(0)
	s.bytesOut.Store(0)
}

// count records one operation of a client. s.mu is locked.
func (s *Server) count(table, verb string) {
	if s.stats.Ops == nil {
		s.stats.Ops = make(map[string]map[string]int)
	}
	if s.stats.Ops[table] == nil {
		s.stats.Ops[table] = make(map[string]int)
	}
	s.stats.Ops[table][verb]++
}
