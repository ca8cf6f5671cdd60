package cause

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"time"
)

// Error is an error with a text that does not change from one attempt to the next. Unwrap returns the original error.
type Error struct {
	text string
	of   error
}

// Error is the text.
func (e *Error) Error() string { return e.text }

// Unwrap returns the original error.
func (e *Error) Unwrap() error { return e.of }

// Of returns err without what differs at each attempt: the time of day, the local port, the query of a request. It is nil
// for nil, and err itself if nothing differs.
func Of(err error) error {
	if text := text(err); text != "" {
		return &Error{text: text, of: err}
	}
	return err
}

// text is the text that Of changes; "" if it changes nothing.
func text(err error) string {
	var (
		invalid x509.CertificateInvalidError
		name    *net.DNSError
		network *net.OpError
		request *url.Error
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return fmt.Sprintf("the server's certificate has expired or is not valid yet: it is valid from %s to %s",
			invalid.Cert.NotBefore.Format(time.RFC3339), invalid.Cert.NotAfter.Format(time.RFC3339))
	case errors.As(err, &name) && name.IsTimeout:
		return "look up " + name.Name + ": the name server does not answer"
	case errors.As(err, &name) && name.IsNotFound:
		return "look up " + name.Name + ": no such host"
	case errors.As(err, &network) && network.Source != nil:
		same := *network
		same.Source = nil
		return same.Error()
	case errors.As(err, &request):
		return Of(request.Err).Error()
	default:
		return ""
	}
}

// changing matches what differs each time that an error occurs: the local port, the time at which a certificate was
// checked.
var changing = regexp.MustCompile(`[^ ]+->|current time \S+ `)

// Plain is the text of err without what differs each time that it occurs; "" for nil.
func Plain(err error) string {
	if err == nil {
		return ""
	}
	return changing.ReplaceAllString(err.Error(), "")
}
