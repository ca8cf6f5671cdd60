package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Authenticator finds the user of requests to one cluster.
type Authenticator struct {
	// ClientCAs returns the CA certificates of clients; nil if no certificate is accepted.
	ClientCAs func() *x509.CertPool
	// Tokens authenticates bearer tokens; nil if no token is accepted.
	Tokens authenticator.Token
	// FrontProxy authenticates requests that a trusted proxy forwards; nil if there is none.
	FrontProxy authenticator.Request
}

// Authenticate returns the user of a request, or nil if nobody is known to send it. The error is ErrUnavailable if the
// cluster could not be asked about a token.
func (a *Authenticator) Authenticate(r *http.Request) (user.Info, error) {
	var unavailable error
	for _, try := range []func(*http.Request) (*authenticator.Response, bool, error){a.frontProxy, a.certificate, a.bearer, a.protocol} {
		response, ok, err := try(r)
		if errors.Is(err, ErrUnavailable) {
			unavailable = err
		}
		if ok && response.User.GetName() != "" {
			return authenticated(response.User), nil
		}
	}
	return nil, unavailable
}

func (a *Authenticator) frontProxy(r *http.Request) (*authenticator.Response, bool, error) {
	if a.FrontProxy == nil {
		return nil, false, nil
	}
	return a.FrontProxy.AuthenticateRequest(r)
}

func (a *Authenticator) bearer(r *http.Request) (*authenticator.Response, bool, error) {
	if a.Tokens == nil {
		return nil, false, nil
	}
	return bearertoken.New(a.Tokens).AuthenticateRequest(r)
}

// protocol reads the token of a websocket, which a browser can only name as a protocol.
func (a *Authenticator) protocol(r *http.Request) (*authenticator.Response, bool, error) {
	if a.Tokens == nil {
		return nil, false, nil
	}
	return websocket.NewProtocolAuthenticator(a.Tokens).AuthenticateRequest(r)
}

// authenticated adds the group of all users who are known.
func authenticated(who user.Info) user.Info {
	groups := who.GetGroups()
	if who.GetName() == user.Anonymous || slices.Contains(groups, user.AllAuthenticated) {
		return who
	}
	return &user.DefaultInfo{
		Name: who.GetName(), UID: who.GetUID(), Extra: who.GetExtra(), Groups: append(slices.Clip(groups), user.AllAuthenticated),
	}
}

// certificate verifies the client certificate of the connection. The result is kept with the connection for a while.
func (a *Authenticator) certificate(r *http.Request) (*authenticator.Response, bool, error) {
	roots := a.ClientCAs()
	if roots == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	if response := c.known(roots); response != nil {
		return response, true, nil
	}
	response, ok, err := x509request.New(x509.VerifyOptions{
		Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, x509request.CommonNameUserConversion).AuthenticateRequest(r)
	if ok && err == nil {
		response.User = authenticated(response.User)
		c.keep(roots, response, r.TLS.PeerCertificates[0].NotAfter)
	}
	return response, ok, err
}

type connectionKey struct{}

// verifiedFor is how long a certificate counts as verified on its connection.
const verifiedFor = time.Minute

// connection is what is known about a connection and its client certificate.
type connection struct {
	source string // where it comes from; "" if that is not known

	mu    sync.Mutex
	roots *x509.CertPool
	who   *authenticator.Response
	sent  http.Header // what Impersonation returns for who; nil if it fails
	until time.Time
}

// WithConnection returns the context of a connection of a server from an address, see http.Server.ConnContext.
func WithConnection(ctx context.Context, remote net.Addr) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{source: source(remote)})
}

// sourceOf returns where the connection of a request comes from; "" if that is not known.
func sourceOf(ctx context.Context) string {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		return c.source
	}
	return ""
}

// known returns the user whom roots verified.
func (c *connection) known(roots *x509.CertPool) *authenticator.Response {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roots != roots || !time.Now().Before(c.until) {
		return nil
	}
	return c.who
}

func (c *connection) keep(roots *x509.CertPool, who *authenticator.Response, notAfter time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roots, c.who, c.until = roots, who, time.Now().Add(verifiedFor)
	c.sent = http.Header{}
	if impersonateAs(c.sent, who.User) != nil {
		c.sent = nil
	}
	if notAfter.Before(c.until) {
		c.until = notAfter
	}
}

// headers returns what Impersonation returned for a user before; nil if that is not known.
func (c *connection) headers(who user.Info) http.Header {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.who == nil || c.who.User != who {
		return nil
	}
	return c.sent
}

// FrontProxy trusts the headers X-Remote-User, X-Remote-Uid, X-Remote-Group and X-Remote-Extra- of clients whose certificate
// roots signed for one of names; any name if there are none.
func FrontProxy(roots *x509.CertPool, names []string) authenticator.Request {
	options := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	return headerrequest.NewDynamicVerifyOptionsSecure(x509request.StaticVerifierFn(options), headerrequest.StaticStringSlice(names),
		headerrequest.StaticStringSlice{"X-Remote-User"}, headerrequest.StaticStringSlice{"X-Remote-Uid"},
		headerrequest.StaticStringSlice{"X-Remote-Group"}, headerrequest.StaticStringSlice{"X-Remote-Extra-"})
}
