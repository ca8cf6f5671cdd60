package upstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/version"
)

// endpoint is one API server, with one set of credentials.
type endpoint struct {
	name     string // as in the object
	url      *url.URL
	connects [sha256.Size]byte
	token    string
	missing  bool // there are no credentials, but a reference to them
	refused  func()

	transport Transport
	streams   *Streams
	waiting   waiting
	health    *health
	stop      context.CancelFunc // ends the probes
}

// EndpointStatus is the state of an endpoint.
type EndpointStatus struct {
	Endpoint string `json:"endpoint"`
	Ready    bool   `json:"ready"`
	Cause    Cause  `json:"cause,omitempty"`   // why it is not ready
	Message  string `json:"message,omitempty"` // the same in words, or what the last probe found
	Streams  int    `json:"streams"`           // watches and other streams in progress
	// Connections with the current credentials: those that are open, and all that were opened.
	Connections int    `json:"connections"`
	Opened      uint64 `json:"opened"`
}

// newEndpoint makes an endpoint. before is the one with the same name and other credentials, whose health and streams it
// takes over; nil if there is none.
func newEndpoint(name string, certs *certificates, before *endpoint, opts Options) (*endpoint, error) {
	at, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	via, err := opts.NewTransport(at, certs.client)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	e := &endpoint{
		name: name, url: at, connects: certs.connects, token: string(certs.client.BearerToken), transport: via, streams: newStreams(),
		missing: certs.client.Credentials != nil, refused: opts.Refused,
		health: newHealth(opts.Probe, opts.Log.WithField("endpoint", name)), stop: func() {},
	}
	if before != nil {
		e.streams = before.streams
	}
	if before != nil && !before.missing {
		e.health.inherit(before.health)
	}
	return e, nil
}

// roundTrip sends a request to this endpoint with the identity of the gateway.
func (e *endpoint) roundTrip(r *http.Request) (*http.Response, error) {
	if e.missing {
		return nil, errNoCredentials
	}
	if !isStream(r.Context()) {
		ctx, in := e.waiting.add(r.Context())
		return e.noteRefusal(in.roundTrip(e.transport, e.request(ctx, r)))
	}
	response, err := e.transport.RoundTrip(e.request(r.Context(), r))
	if err == nil {
		e.streams.add(response)
	}
	return e.noteRefusal(response, err)
}

// request is r as it is sent to this endpoint. They share what is the same.
func (e *endpoint) request(ctx context.Context, r *http.Request) *http.Request {
	out, at := r.WithContext(ctx), *r.URL
	at.Scheme, at.Host = e.url.Scheme, e.url.Host
	out.URL, out.Host = &at, ""
	if _, has := r.Header[authorization]; has || e.token != "" {
		out.Header = maps.Clone(r.Header)
		delete(out.Header, authorization)
		if e.token != "" {
			if out.Header == nil {
				out.Header = http.Header{}
			}
			out.Header[authorization] = []string{"Bearer " + e.token}
		}
	}
	return out
}

const authorization = "Authorization"

// noteRefusal calls refused for an answer that says that the credentials of the gateway are not accepted: those of clients are not sent.
func (e *endpoint) noteRefusal(response *http.Response, err error) (*http.Response, error) {
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		e.refused()
	}
	return response, err
}

// check asks the API server whether it is ready. A question that it did not process, because it ended the connection, says nothing about
// it and is asked again.
func (e *endpoint) check(ctx context.Context) error {
	var err error
	for range attempts {
		err = CheckReady(ctx, roundTripper(e.roundTrip), e.url)
		var not *transport.NotProcessedError
		if !errors.As(err, &not) || !not.Connected {
			break
		}
	}
	return err
}

// roundTripper is a function that is an http.RoundTripper.
type roundTripper func(r *http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// CheckReady asks an API server whether it is ready, and returns why it is not; CauseOf says what that means. One that does not know
// /readyz is asked for /healthz.
func CheckReady(ctx context.Context, via http.RoundTripper, at *url.URL) error {
	code, err := get(ctx, via, at.String()+"/readyz")
	if err == nil && code == http.StatusNotFound {
		code, err = get(ctx, via, at.String()+"/healthz")
	}
	if err == nil && code != http.StatusOK {
		err = codeError(code)
	}
	return err
}

func get(ctx context.Context, via http.RoundTripper, address string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("User-Agent", "netloom/"+version.Current().Version)
	response, err := via.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func (e *endpoint) status() EndpointStatus {
	ready, cause, message := e.health.state()
	opened, open := e.transport.Connections()
	return EndpointStatus{Endpoint: e.name, Ready: ready, Cause: cause, Message: message, Streams: e.streams.Len(), Connections: open, Opened: opened}
}

// close takes the endpoint out of service. Requests in progress go on.
func (e *endpoint) close() {
	e.stop()
	e.transport.Drain()
}
