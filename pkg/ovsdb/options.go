package ovsdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

// DefaultDatabase is the database that a client uses by default.
const DefaultDatabase = "OVN_Northbound"

const (
	defaultDialTimeout   = 2 * time.Second
	defaultProbeInterval = time.Second
	defaultCallTimeout   = time.Minute
)

// DefaultMaxReply is the default limit on a message of a server, in bytes.
const DefaultMaxReply = 128 << 20

// Options configures a client.
type Options struct {
	// Endpoints lists the servers of one database, each unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT. At least one.
	Endpoints []string
	// Database is the name of the database; "" is DefaultDatabase.
	Database string
	// TLS names the files of ssl endpoints. They are read at every dial, and a change of them renews the connection.
	TLS TLSFiles
	// LeaderOnly refuses every member of a RAFT cluster but its leader. A standalone server counts as leader. A follower
	// may answer a Select with slightly outdated rows.
	LeaderOnly bool
	// Log receives messages about the connection; nil drops them.
	Log logrus.FieldLogger
	// DialTimeout is how long one endpoint may take until its first answer; 0 is two seconds.
	DialTimeout time.Duration
	// ProbeInterval is how long the connection may be silent before the server is probed; 0 is one second. If a server
	// leaves a probe unanswered for one and a half intervals, the client moves on to the next one. It waits longer if
	// there is only one endpoint, and in proportion to the size of pending requests.
	ProbeInterval time.Duration
	// CallTimeout is how long a request may take from the moment it is queued until its whole answer has arrived, in
	// addition to the time for its size; 0 is a minute. It ends the connection of a server that sends its answer too
	// slowly, which no probe notices while bytes arrive.
	CallTimeout time.Duration
	// MaxReply is how long a message of the server may be, in bytes; 0 is DefaultMaxReply. A longer one ends the
	// connection before the rest of it is read.
	MaxReply int64
	// PortIndexKeys are the keys of Logical_Switch_Port.external_ids by which PortsByExternalID can look up ports. If it
	// is empty, external_ids are not monitored.
	PortIndexKeys []string
	// Dial connects to the network, unix or tcp, and address of an endpoint; nil uses net.Dialer. TLS runs over the
	// connection that it returns.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// TLSFiles names the PEM files of a TLS connection.
//
// The server's certificate must chain to CA. Its host name is not verified, as in all tools of Open vSwitch, because the
// certificates of ovs-pki have none; set ServerName to require one.
type TLSFiles struct {
	CA         string // certificates that may sign the server's; required for ssl endpoints
	Cert, Key  string // what the client shows the server; both or none
	ServerName string // a name that the server's certificate must carry; "" for any
}

// endpoint is a parsed address.
type endpoint struct {
	text    string // as given
	network string // "unix" or "tcp"
	address string // a path or host:port
	secure  bool
}

// parseEndpoint reads unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT.
func parseEndpoint(text string) (endpoint, error) {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return endpoint{}, fmt.Errorf("endpoint %q: expected unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT", text)
	}
	switch scheme {
	case "unix":
		if rest == "" {
			return endpoint{}, fmt.Errorf("endpoint %q: no path", text)
		}
		return endpoint{text: text, network: "unix", address: rest}, nil
	case "tcp", "ssl":
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			return endpoint{}, fmt.Errorf("endpoint %q: expected HOST:PORT after %s: (an IPv6 address in brackets)", text, scheme)
		}
		if host == "" {
			return endpoint{}, fmt.Errorf("endpoint %q: no host", text)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return endpoint{}, fmt.Errorf("endpoint %q: port %q is not a number from 1 to 65535", text, port)
		}
		return endpoint{text: text, network: "tcp", address: rest, secure: scheme == "ssl"}, nil
	default:
		return endpoint{}, fmt.Errorf("endpoint %q: unknown scheme %q: expected unix, tcp or ssl", text, scheme)
	}
}

// complete checks o, fills in its defaults and returns its endpoints. The error lists every problem.
func (o *Options) complete() ([]endpoint, error) {
	var faults []error
	if len(o.Endpoints) == 0 {
		faults = append(faults, errors.New("no endpoint"))
	}
	endpoints := make([]endpoint, 0, len(o.Endpoints))
	for _, text := range o.Endpoints {
		e, err := parseEndpoint(text)
		if err == nil && slices.Contains(endpoints, e) {
			err = fmt.Errorf("endpoint %q: listed twice", text)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		endpoints = append(endpoints, e)
	}
	if slices.ContainsFunc(endpoints, func(e endpoint) bool { return e.secure }) {
		faults = append(faults, o.TLS.check()...)
	}
	if o.DialTimeout < 0 {
		faults = append(faults, fmt.Errorf("dial timeout %s: must not be negative", o.DialTimeout))
	}
	if o.ProbeInterval < 0 {
		faults = append(faults, fmt.Errorf("probe interval %s: must not be negative", o.ProbeInterval))
	}
	if o.CallTimeout < 0 {
		faults = append(faults, fmt.Errorf("call timeout %s: must not be negative", o.CallTimeout))
	}
	if o.MaxReply < 0 {
		faults = append(faults, fmt.Errorf("longest reply %d: must not be negative", o.MaxReply))
	}
	o.Database = cmp.Or(o.Database, DefaultDatabase)
	o.DialTimeout = cmp.Or(o.DialTimeout, defaultDialTimeout)
	o.ProbeInterval = cmp.Or(o.ProbeInterval, defaultProbeInterval)
	o.CallTimeout = cmp.Or(o.CallTimeout, defaultCallTimeout)
	o.MaxReply = cmp.Or(o.MaxReply, DefaultMaxReply)
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	if o.Log == nil {
		o.Log = discard()
	}
	return endpoints, errors.Join(faults...)
}

// check reports what an ssl endpoint lacks. It opens no file: they may appear later.
func (t TLSFiles) check() []error {
	var faults []error
	if t.CA == "" {
		faults = append(faults, errors.New("ssl endpoint: no CA file"))
	}
	if (t.Cert == "") != (t.Key == "") {
		faults = append(faults, errors.New("ssl endpoint: a certificate and its key are given together or not at all"))
	}
	return faults
}

// discard is a logger that drops everything.
func discard() logrus.FieldLogger {
	log := logrus.New()
	log.SetLevel(logrus.PanicLevel)
	return log
}
