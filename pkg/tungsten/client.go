package tungsten

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netloom/netloom/pkg/httpcall"
)

// Client talks to the configuration servers of one controller. It is safe for concurrent use. It does nothing in the
// background: without calls, the servers get no requests.
type Client struct {
	opts      Options
	servers   []string
	transport *http.Transport
	streams   *http.Transport // for change streams, which must not wait for other requests
	turns     httpcall.Turns
	token     *httpcall.Login[string] // of Keystone

	mu        sync.Mutex
	preferred int       // the server that answered last
	heard     time.Time // when a change stream sent something last
	deaf      error     // why none is open

	requests, tokens atomic.Int64
}

// New makes a client. It connects at the first call. The error lists every problem of opts.
func New(opts Options) (*Client, error) {
	servers, config, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("client of Tungsten Fabric: %w", err)
	}
	secure := &secureDialer{opts: &opts, config: config, last: opts.Credentials}
	transport := &http.Transport{
		DialContext:            opts.Dial,
		DialTLSContext:         secure.dial,
		DisableCompression:     true,
		MaxIdleConns:           opts.Connections,
		MaxIdleConnsPerHost:    opts.Connections,
		MaxConnsPerHost:        opts.Connections,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: 64 << 10,
	}
	streams := transport.Clone()
	streams.MaxConnsPerHost = 0
	return &Client{
		opts: opts, servers: servers, transport: transport, streams: streams,
		turns: httpcall.NewTurns(opts.Connections), token: httpcall.NewLogin[string](),
	}, nil
}

// URLs are the addresses of the servers as given in the options.
func (c *Client) URLs() []string { return c.opts.URLs }

// Close ends connections that are not in use.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.streams.CloseIdleConnections()
}

// Stats counts the requests of a client since it was made.
type Stats struct {
	Requests int64 // tokens included
	Tokens   int64 // requested
}

// Stats counts the requests of c so far.
func (c *Client) Stats() Stats { return Stats{Requests: c.requests.Load(), Tokens: c.tokens.Load()} }
