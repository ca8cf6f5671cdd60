package tungsten

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

const (
	defaultTimeout     = time.Minute
	defaultMaxAnswer   = 256 << 20
	defaultConnections = 8
	// idle is how long an unused connection is kept.
	idle = 30 * time.Second
	// quiet is how long a change stream may send nothing: the server sends a line every minute.
	quiet = 150 * time.Second
)

// Options configures a client.
type Options struct {
	// URLs are the configuration servers of one controller, in the order in which they are tried: http://HOST:8082 or
	// https://HOST:8082, without a path.
	URLs []string
	// Credentials are for TLS.
	Credentials Credentials
	// Renewed returns the credentials as they are now. It is called for every connection, so that changed files are used; what it
	// returns is ignored while it cannot be used. Nil means that they do not change.
	Renewed func() (Credentials, error)
	// ServerName is the name that the servers' certificates must have; "" is the host of each URL.
	ServerName string
	// User is the user of a login; "" means that the servers do not authenticate.
	User string
	// Password returns the user's password. It is called for every request with basic authentication, and for every token
	// otherwise, so that a changed password is used. It must return soon.
	Password func(ctx context.Context) (string, error)
	// Keystone is where User gets tokens; nil is basic authentication.
	Keystone *Keystone
	// Timeout is how long a request may take on all servers together; 0 is a minute.
	Timeout time.Duration
	// MaxAnswer is the limit on an answer, and on one event of a change stream, in bytes; 0 is 256 MiB.
	MaxAnswer int64
	// Connections is the number of concurrent requests; 0 is 8. Change streams do not count.
	Connections int
	// Dial opens connections; nil uses the network.
	Dial httpcall.Dial
	// Log receives messages about tokens, failover and change streams; nil drops them.
	Log logrus.FieldLogger
}

// Credentials are certificates in PEM.
type Credentials struct {
	// CA lists the certificates that may sign those of the servers; none means those of the system.
	CA []byte
	// Certificate and Key are the client's own; none sends no certificate.
	Certificate, Key []byte
}

// Keystone is an identity service.
type Keystone struct {
	URL           string // of its version 3 API: https://HOST:5000/v3
	Project       string // "" is admin
	UserDomain    string // "" is Default
	ProjectDomain string // "" is Default
}

// complete checks o and fills in its defaults. The error lists every problem.
func (o *Options) complete() (servers []string, config *tls.Config, err error) {
	var faults []error
	if len(o.URLs) == 0 {
		faults = append(faults, errors.New("URL: required"))
	}
	for _, text := range o.URLs {
		base, err := parseURL(text, false)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		servers = append(servers, base)
	}
	if o.Keystone != nil {
		k := *o.Keystone
		o.Keystone = &k
		if k.URL, err = parseURL(k.URL, true); err != nil {
			faults = append(faults, fmt.Errorf("keystone: %w", err))
		}
		if o.User == "" {
			faults = append(faults, errors.New("keystone: requires a user"))
		}
		k.Project = cmp.Or(k.Project, "admin")
		k.UserDomain = cmp.Or(k.UserDomain, "Default")
		k.ProjectDomain = cmp.Or(k.ProjectDomain, "Default")
		o.Keystone = &k
	}
	if o.User != "" && o.Password == nil {
		faults = append(faults, errors.New("user: requires a password"))
	}
	config, err = o.tls(&o.Credentials)
	if err != nil {
		faults = append(faults, err)
	}
	if o.Timeout < 0 || o.MaxAnswer < 0 || o.Connections < 0 {
		faults = append(faults, errors.New("timeout, maximum response size and connections: must not be negative"))
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, defaultMaxAnswer)
	o.Connections = cmp.Or(o.Connections, defaultConnections)
	o.Dial = o.Dial.Marked()
	if o.Log == nil {
		log := logrus.New()
		log.SetLevel(logrus.PanicLevel)
		o.Log = log
	}
	return servers, config, errors.Join(faults...)
}

// tls makes the configuration of connections with some credentials.
func (o *Options) tls(c *Credentials) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName}
	var faults []error
	if len(c.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(c.CA) {
			faults = append(faults, errors.New("CA: contains no certificate"))
		}
	}
	if len(c.Certificate) > 0 || len(c.Key) > 0 {
		pair, err := tls.X509KeyPair(c.Certificate, c.Key)
		if err != nil {
			faults = append(faults, errors.New("client certificate: the certificate and the key do not form a pair"))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, errors.Join(faults...)
}

// parseURL checks an address and returns it without a trailing slash.
func parseURL(text string, path bool) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("URL: cannot be parsed") // it may contain a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		!path && strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("URL %q: expected http://HOST:PORT or https://HOST:PORT", u.Redacted())
	}
	return strings.TrimRight(u.String(), "/"), nil
}
