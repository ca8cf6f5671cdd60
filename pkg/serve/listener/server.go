package listener

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"log" //nolint:depguard // a server logs errors of connections there; they end in the log given
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
)

// Options describe a server. Handler and Log are required; zero values of all others but TLS are the defaults.
type Options struct {
	Handler http.Handler
	TLS     *tls.Config // nil serves in cleartext
	Log     logrus.FieldLogger

	Limits      Limits        // the default is that of Small
	HeaderBytes int           // of a request; 8 KiB
	Header      time.Duration // for a header and the handshake before it; 10 seconds
	Read        time.Duration // for a whole request; none
	Write       time.Duration // for a whole response; none
	Idle        time.Duration // between two requests; 2 minutes
	Streams     int           // at once, on a connection of HTTP/2; 32
}

// Small is enough for probes, metrics and the people who look at a single netloom.
func Small() Limits { return Limits{Connections: 256, PerAddress: 64, Reserve: 16} }

// The defaults of Options.
const (
	headerBytes = 8 << 10
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	streams     = 32
)

// Server is an http.Server whose connections are bounded. New makes one.
type Server struct {
	*http.Server
	limits Limits
	log    logrus.FieldLogger
}

// New makes a server.
func New(o Options) *Server {
	if o.Limits == (Limits{}) {
		o.Limits = Small()
	}
	return &Server{limits: o.Limits, log: o.Log, Server: &http.Server{
		Handler: o.Handler, TLSConfig: o.TLS, ErrorLog: ErrorLog(o.Log), ConnState: state,
		ReadHeaderTimeout: cmp.Or(o.Header, headerTime), ReadTimeout: o.Read, WriteTimeout: o.Write, IdleTimeout: cmp.Or(o.Idle, idleTime),
		MaxHeaderBytes: cmp.Or(o.HeaderBytes, headerBytes),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: cmp.Or(o.Streams, streams), SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: time.Minute,
		},
	}}
}

// ServeOn serves what l accepts, with TLS if the server has a configuration of it, until the server is shut down or closed. The error is
// never nil.
func (s *Server) ServeOn(l net.Listener) error {
	limits := s.limits
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		limits.PerAddress = limits.Connections // all clients are on this machine, and have its address
	}
	bounded := limit(l, limits, s.log)
	if s.TLSConfig != nil {
		return s.ServeTLS(bounded, "", "")
	}
	return s.Serve(bounded)
}

// ErrorLog returns where a server logs the errors of connections.
func ErrorLog(to logrus.FieldLogger) *log.Logger { return log.New(connectionLog{to}, "", 0) }

// connectionLog logs the errors of connections: a probe that hangs up, a port scan.
type connectionLog struct{ log logrus.FieldLogger }

// Write logs one line.
func (c connectionLog) Write(line []byte) (int, error) {
	c.log.WithField("cause", string(bytes.TrimSpace(line))).Debug("a connection failed")
	return len(line), nil
}
