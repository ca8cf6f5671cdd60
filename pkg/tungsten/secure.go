package tungsten

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
)

// secureDialer opens TLS connections with the credentials of the moment.
type secureDialer struct {
	opts *Options

	mu      sync.Mutex
	config  *tls.Config // of the last credentials that could be used
	last    Credentials // that were looked at
	refused string      // why they are not used, as it was logged
}

func (d *secureDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := d.opts.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := d.current().Clone()
	if config.ServerName == "" {
		if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
			config.ServerName = address
		}
	}
	conn := tls.Client(nc, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = nc.Close() // the handshake has failed
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return conn, nil
}

// current returns the configuration for a new connection.
func (d *secureDialer) current() *tls.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opts.Renewed == nil {
		return d.config
	}
	now, err := d.opts.Renewed()
	if err == nil && now.equal(&d.last) {
		return d.config
	}
	var config *tls.Config
	if err == nil {
		config, err = d.opts.tls(&now)
	}
	if err != nil {
		if d.refused != err.Error() {
			d.refused = err.Error()
			d.opts.Log.WithError(err).Warn("cannot use the TLS files as they are now: the previous ones stay in use")
		}
		return d.config
	}
	d.config, d.last, d.refused = config, now, ""
	return config
}

func (c *Credentials) equal(o *Credentials) bool {
	return bytes.Equal(c.CA, o.CA) && bytes.Equal(c.Certificate, o.Certificate) && bytes.Equal(c.Key, o.Key)
}
