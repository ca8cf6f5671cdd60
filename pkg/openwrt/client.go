package openwrt

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/netloom/netloom/pkg/httpcall"
)

// Client talks to one device. It is safe for concurrent use. It does nothing in the background: without calls, a device
// gets no requests.
type Client struct {
	opts      Options
	base      *url.URL // scheme and host
	tls       *tls.Config
	transport *http.Transport
	turns     httpcall.Turns
	session   *httpcall.Login[session]

	requests, logins atomic.Int64
}

// New makes a client. It connects at the first call. The error lists every problem of opts.
func New(opts Options) (*Client, error) {
	base, config, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("OpenWRT client: %w", err)
	}
	return &Client{
		opts: opts, base: base, tls: config,
		turns: httpcall.NewTurns(opts.Connections), session: httpcall.NewLogin[session](),
		transport: &http.Transport{
			DialContext:            opts.Dial,
			TLSClientConfig:        config,
			TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // never HTTP/2
			DisableCompression:     true,
			MaxIdleConns:           opts.Connections,
			MaxIdleConnsPerHost:    opts.Connections,
			MaxConnsPerHost:        opts.Connections,
			IdleConnTimeout:        idle,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}, nil
}

// URL is the address of the device as given in the options.
func (c *Client) URL() string { return c.opts.URL }

// Close ends connections that are not in use. The session is left to expire: ending it would take a request.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Stats counts the requests of a client since it was made.
type Stats struct {
	Requests int64 // logins included
	Logins   int64 // attempted
}

// Stats counts the requests of c so far.
func (c *Client) Stats() Stats { return Stats{Requests: c.requests.Load(), Logins: c.logins.Load()} }
