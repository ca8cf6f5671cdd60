package openwrt

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/httpcall"
)

// DefaultUser is the default user of a login.
const DefaultUser = "root"

const (
	defaultTimeout        = 10 * time.Second
	defaultServiceTimeout = time.Minute
	defaultMaxAnswer      = 8 << 20
	defaultMaxStatus      = 1 << 20
	defaultConnections    = 2
	// idle is how long an unused connection is kept: less than the 20 s after which a device ends it, so that no write is
	// sent into a connection that is about to end.
	idle = 12 * time.Second
)

// Options configures a client.
type Options struct {
	// URL is https://HOST or http://HOST, with a port if it is not the default one, and without a path.
	URL string
	// CA lists the certificates, in PEM, that may sign the device's. Required for https: those of the system are not
	// used.
	CA []byte
	// ServerName is the name that the device's certificate must have; "" is the host of URL.
	ServerName string
	// User is the user of the login; "" is DefaultUser.
	User string
	// Password is called at every login, so that a changed password is used; nil never logs in. It must return soon.
	Password func(ctx context.Context) (string, error)
	// Timeout is how long a request may take, login included; 0 is 10 s.
	Timeout time.Duration
	// ServiceTimeout is how long acting on a service may take; 0 is a minute.
	ServiceTimeout time.Duration
	// MaxAnswer is the limit on an answer, in bytes; 0 is 8 MiB.
	MaxAnswer int64
	// MaxStatus is the limit on the status of one module or of all together, in bytes; 0 is 1 MiB.
	MaxStatus int64
	// Connections is the number of concurrent requests; 0 is 2. A device starts a process for each.
	Connections int
	// Dial opens connections; nil uses the network.
	Dial httpcall.Dial
	// Log receives messages about the session; nil drops them.
	Log logrus.FieldLogger
}

// complete checks o and fills in its defaults. The error lists every problem.
func (o *Options) complete() (base *url.URL, config *tls.Config, err error) {
	var faults []error
	base, err = url.Parse(o.URL)
	switch {
	case err != nil:
		faults = append(faults, errors.New("URL: cannot be parsed")) // it may contain a password
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil,
		strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.Fragment != "":
		faults = append(faults, fmt.Errorf("URL %q: expected http://HOST or https://HOST", base.Redacted()))
	case base.Scheme == "https":
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(o.CA) {
			faults = append(faults, errors.New("CA: contains no certificate"))
		}
		config = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: o.ServerName}
		if config.ServerName == "" {
			config.ServerName = base.Hostname()
		}
	}
	for _, d := range []struct {
		name string
		n    int64
	}{
		{"timeout", int64(o.Timeout)},
		{"service timeout", int64(o.ServiceTimeout)},
		{"maximum response size", o.MaxAnswer},
		{"maximum status size", o.MaxStatus},
		{"connections", int64(o.Connections)},
	} {
		if d.n < 0 {
			faults = append(faults, fmt.Errorf("%s: must not be negative", d.name))
		}
	}
	o.User = cmp.Or(o.User, DefaultUser)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.ServiceTimeout = cmp.Or(o.ServiceTimeout, defaultServiceTimeout)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, defaultMaxAnswer)
	o.MaxStatus = cmp.Or(o.MaxStatus, defaultMaxStatus)
	o.Connections = cmp.Or(o.Connections, defaultConnections)
	o.Dial = o.Dial.Marked()
	if o.Log == nil {
		log := logrus.New()
		log.SetLevel(logrus.PanicLevel)
		o.Log = log
	}
	return base, config, errors.Join(faults...)
}
