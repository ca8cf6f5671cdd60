package tungsten

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options configures a server. The zero value authenticates nobody.
type Options struct {
	// User and Password are required of every request if User is not empty.
	User, Password string
	// Keystone makes the server require a token, which User gets at /v3/auth/tokens, instead of basic authentication.
	Keystone bool
	// ServiceMonitor makes the floating IPs that svc-monitor makes for native load balancers.
	ServiceMonitor bool
}

// Server is one simulated configuration server, an http.Handler. It is safe for concurrent use.
type Server struct {
	opts Options

	mu        sync.RWMutex
	db        *database
	kv        map[string]any // free key-value store
	tokens    map[string]bool
	observers []func([]Change)
	streams   map[*stream]struct{}
	inject    func(Call) Fault
	calls     int // since inject was set
	stats     Stats
	rush      *rush // of concurrent set-tags

	pipe   *pipeListener
	http   *http.Server
	work   sync.WaitGroup
	closed chan struct{}
	once   sync.Once
}

// Stats counts the requests that a server got.
type Stats struct {
	Reads, Writes int
}

// Change is one object that a write created, changed or deleted.
type Change struct {
	Event  string // "create", "update" or "delete"
	Kind   string // "firewall-rule"
	UUID   string
	Object json.RawMessage // with all properties and references; nil if it was deleted
}

// New makes a server with the objects of a fresh installation. It does not listen: see Start and Dial.
func New(opts Options) *Server {
	s := &Server{
		opts: opts, db: newDatabase(), kv: make(map[string]any), tokens: make(map[string]bool), streams: make(map[*stream]struct{}),
		closed: make(chan struct{}), pipe: newPipeListener(),
	}
	s.db.boot()
	s.db.changes = nil
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 1 << 20}
	s.serve(s.pipe)
	return s
}

// boot makes the objects of a fresh installation.
func (db *database) boot() {
	for id, name := range []string{"label", "application", "tier", "deployment", "site", "neutron_fwaas", "neutron_tag"} {
		t := db.make("tag-type", nil, name)
		t.props["display_name"], t.props["tag_type_id"] = name, fmt.Sprintf("0x%04x", id)
		t.idPerms.set("user_visible", false)
	}
	domain := db.make("domain", nil, "default-domain")
	project := db.make("project", domain, "default-project")
	db.afterCreate(project)
	for _, name := range []string{"default-virtual-network", "ip-fabric", "__link_local__", "dci-network"} {
		network := db.make("virtual-network", project, name)
		_ = db.completeNetwork(network) // refuses nothing without subnets
		db.afterCreate(network)
	}
	system := db.make("global-system-config", nil, "default-global-system-config")
	system.props["enable_security_policy_draft"] = false
	router := db.make("global-vrouter-config", system, "default-global-vrouter-config")
	pm := db.make("policy-management", nil, "default-policy-management")
	aps := db.make("application-policy-set", pm, "default-application-policy-set")
	aps.props["all_applications"] = true
	db.setRefs(aps, "global-vrouter-config", map[string]any{router.uuid: nil})
}

// Start serves clients at an address and returns the URL. Close ends it.
func (s *Server) Start(ctx context.Context, address string) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("start simulator: %w", err)
	}
	s.serve(listener)
	return "http://" + listener.Addr().String(), nil
}

func (s *Server) serve(l net.Listener) {
	s.work.Go(func() { _ = s.http.Serve(l) }) // until Close
}

// Dial connects to the server within the process, whatever the address. It has the signature of http.Transport.DialContext.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) { return s.pipe.dial(ctx) }

// Close ends every connection and waits for the handlers.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closed)
		_ = s.http.Close() // clients notice
		s.work.Wait()
	})
}

// Observe calls f with the changes of each write from now on, in order and before the next write. f must not call s.
func (s *Server) Observe(f func([]Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observers = append(s.observers, f)
}

// Objects lists all objects of a kind, each with all its properties and references.
func (s *Server) Objects(kind string) []json.RawMessage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k := s.db.kinds[kind]
	if k == nil {
		return nil
	}
	var out []json.RawMessage
	for _, o := range s.db.list(k) {
		out = append(out, s.db.show(o))
	}
	return out
}

// show prints an object with all properties and references.
func (db *database) show(o *object) json.RawMessage {
	return encode(db.render(o, view{all: true, name: true, parent: true}))
}

// Stats counts the requests so far.
func (s *Server) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.stats
}

// ExpireTokens makes every token invalid.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Vanish deletes an object although others refer to it, as happens when a delete meets a new reference. It returns false if there is
// no such object.
func (s *Server) Vanish(uuid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.db.byUUID[uuid]
	if o == nil {
		return false
	}
	s.db.delete(o)
	s.commit()
	return true
}

// TakeTagIDs takes the next n IDs of a type's values, as if there were that many tags.
func (s *Server) TakeTagIDs(typeName string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.tagIDs.of(typeName).next += n
}

// commit tells observers and change streams what a write changed. s.mu is locked for writing.
func (s *Server) commit() {
	if s.opts.ServiceMonitor && affectsBalancers(s.db.changes) {
		s.db.balance()
	}
	changes := s.db.changes
	s.db.changes = nil
	if len(changes) == 0 {
		return
	}
	for st := range s.streams {
		st.add(changes)
	}
	if len(s.observers) == 0 {
		return
	}
	out := make([]Change, len(changes))
	for i, c := range changes {
		out[i] = Change{Event: c.event, Kind: c.kind.name, UUID: c.uuid}
		if o := s.db.byUUID[c.uuid]; o != nil && c.event != "delete" {
			out[i].Object = s.db.show(o)
		}
	}
	for _, observe := range s.observers {
		observe(out)
	}
}

// pipeListener accepts connections within the process.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- ours:
		return theirs, nil
	case <-l.done:
		return nil, errors.New("simulator: closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case nc := <-l.conns:
		return nc, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "simulator" }
