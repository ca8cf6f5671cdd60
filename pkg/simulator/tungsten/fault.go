package tungsten

import "net/http"

// Fault is how a request fails.
type Fault int

// The faults. After those called After, the request was executed.
const (
	NoFault      Fault = iota
	Fail               // 500
	FailAfter          // 500
	Cut                // the connection ends
	CutAfter           // the connection ends
	Hang               // no answer until the client gives up
	HangAfter          // the same
	Conflict           // 409
	NotFound           // 404, as of a stale read
	Unavailable        // 503
	ExpiredToken       // 401, and all tokens are invalid
	Restart            // every change stream ends, and the connection
)

// Call is a request to which a fault may happen.
type Call struct {
	N      int // since Inject, from 1
	Method string
	Path   string // without the query
	Write  bool   // whether it may change objects
}

// Inject asks f, for each request from now on, how it fails. nil ends that. Requests for tokens do not count.
func (s *Server) Inject(f func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inject, s.calls = f, 0
}

// At makes the n-th call fail, counted from 1.
func At(n int, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.N == n {
			return fault
		}
		return NoFault
	}
}

// Drop ends every change stream.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		st.end()
	}
}

// readers are requests that change nothing although they are POSTs.
var readers = []string{"/list-bulk-collection", "/fqname-to-id", "/id-to-fqname"}

// count counts a request and returns how it fails.
func (s *Server) count(r *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	write := r.Method != http.MethodGet && r.Method != http.MethodHead && !contains(readers, r.URL.Path)
	if write {
		s.stats.Writes++
	} else {
		s.stats.Reads++
	}
	if s.inject == nil {
		return NoFault
	}
	s.calls++
	fault := s.inject(Call{N: s.calls, Method: r.Method, Path: r.URL.Path, Write: write})
	if fault == ExpiredToken {
		clear(s.tokens)
	}
	if fault == Restart {
		for st := range s.streams {
			st.end()
		}
	}
	return fault
}

// failing answers a request as a fault says, or executes it.
func (s *Server) failing(fault Fault, r *http.Request, execute func() answer) answer {
	refused := func(code int, text string) answer { return refusedAnswer(refuse(code, "%s", text), "") }
	switch fault { //nolint:exhaustive // the others execute the request
	case Fail:
		return refused(http.StatusInternalServerError, "Internal Server Error")
	case FailAfter:
		execute()
		return refused(http.StatusInternalServerError, "Internal Server Error")
	case Cut, Restart:
		return answer{cut: true}
	case CutAfter:
		execute()
		return answer{cut: true}
	case Hang, HangAfter:
		if fault == HangAfter {
			execute()
		}
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		return answer{cut: true}
	case Conflict:
		return refused(http.StatusConflict, "FQ Name: exists already")
	case NotFound:
		return refused(http.StatusNotFound, "Unknown id: 00000000-0000-0000-0000-000000000000")
	case Unavailable:
		return refused(http.StatusServiceUnavailable, "No connection to zookeeper.")
	default:
		return execute()
	}
}

// rush is a number of set-tag requests that all read before one of them writes.
type rush struct {
	left int
	all  chan struct{}
}

// HoldSetTags makes each of the next n set-tag requests wait until all of them have read the tags that they are going to change.
func (s *Server) HoldSetTags(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rush = &rush{left: n, all: make(chan struct{})}
}

// wait returns what a set-tag request has to wait for, nil for nothing. s.mu is locked.
func (s *Server) wait() <-chan struct{} {
	r := s.rush
	if r == nil {
		return nil
	}
	if r.left--; r.left == 0 {
		s.rush = nil
		close(r.all)
	}
	return r.all
}
