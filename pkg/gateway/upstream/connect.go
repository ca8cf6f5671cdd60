package upstream

import (
	"net/url"
	"time"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/transport"
)

// draining is a transport whose connections close once they are idle.
type draining struct{ *transport.Transport }

// Drain closes idle connections; the others are closed some time after their last request.
func (t draining) Drain() { t.CloseIdleConnections() }

// Connections counts connections of both protocols.
func (t draining) Connections() (opened uint64, open int) {
	s := t.Stats()
	return s.Dialed, s.Open
}

// connect makes the transport to an endpoint, which may take so long to accept a connection.
func connect(endpoint *url.URL, config *v1alpha1.ClientConfig, timeout time.Duration) (Transport, error) {
	t, err := transport.New(endpoint, transport.Config{
		DialTimeout: timeout, TLSTimeout: timeout, ConnectTimeout: timeout,
		Insecure: config.Insecure, CA: config.CAData, Cert: config.CertData, Key: config.KeyData, ServerName: config.ServerName,
	})
	return draining{t}, err
}
