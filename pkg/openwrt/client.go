package openwrt

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
)

// Client talks to one device. It is safe for concurrent use. It does nothing unless asked: a device that nobody asks gets
// no request.
type Client struct {
	opts      Options
	base      *url.URL // scheme and host
	tls       *tls.Config
	transport *http.Transport
	turn      chan struct{} // as many as requests may be under way
	gate      chan struct{} // one: who holds it logs in

	mu      sync.Mutex
	session session

	requests, logins atomic.Int64
}

// New makes a client. It connects when it is first asked something. The error names every fault of opts.
func New(opts Options) (*Client, error) {
	base, config, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("OpenWRT client: %w", err)
	}
	return &Client{
		opts: opts, base: base, tls: config,
		turn: make(chan struct{}, opts.Connections), gate: make(chan struct{}, 1),
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

// URL is the device's, as the options had it.
func (c *Client) URL() string { return c.opts.URL }

// Close ends connections that are not in use. The session is left to expire: to end it would take a request.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Stats counts what a client has asked since it was made.
type Stats struct {
	Requests int64 // logins included
	Logins   int64 // tried
}

// Stats counts what c has asked so far.
func (c *Client) Stats() Stats { return Stats{Requests: c.requests.Load(), Logins: c.logins.Load()} }
