package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Cause is why an API server is not ready. It has few values, for metrics, and says nothing that is secret.
type Cause string

// The causes. The zero value means that there is none.
const (
	CauseUnchecked    Cause = "Unchecked"
	CauseUnreachable  Cause = "Unreachable"
	CauseCertificate  Cause = "Certificate"
	CauseUnauthorized Cause = "Unauthorized"
	CauseForbidden    Cause = "Forbidden"
	CauseUnready      Cause = "Unready"
	CauseSilent       Cause = "Silent"
	CauseShuttingDown Cause = "ShuttingDown"
	CauseFailed       Cause = "Failed"
	CauseCredentials  Cause = "Credentials"
)

// Text describes the cause in words that contain nothing of the API server's.
func (c Cause) Text() string {
	return map[Cause]string{
		CauseUnchecked:    "it was not checked yet",
		CauseUnreachable:  "no connection to it is possible",
		CauseCertificate:  "TLS fails: compare its certificate with spec.clientConfig.caData and serverName, and certData with its client CA",
		CauseUnauthorized: "it does not accept the credentials of spec.clientConfig (401)",
		CauseForbidden:    "the user of spec.clientConfig may not get /readyz (403)",
		CauseUnready:      "its health check fails",
		CauseSilent:       "it does not answer in time",
		CauseShuttingDown: "it is shutting down",
		CauseFailed:       "its health check cannot be made",
		CauseCredentials:  "the credentials that spec.clientConfig.credentials refers to cannot be obtained",
	}[c]
}

// errNoCredentials means that spec.clientConfig refers to credentials that have not been obtained: nothing is sent without them.
var errNoCredentials = errors.New("there are no credentials")

// codeError is an answer of a health check other than 200.
type codeError int

func (e codeError) Error() string {
	return "the health check returned " + strings.ToLower(http.StatusText(int(e))) + fmt.Sprintf(" (%d)", int(e))
}

// CauseOf finds out what an error of a health check or a connection means.
func CauseOf(err error) Cause {
	var (
		code         codeError
		verification *tls.CertificateVerificationError
		alert        tls.AlertError
		record       tls.RecordHeaderError
		name         *net.DNSError
		network      *net.OpError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &code) && code == http.StatusUnauthorized:
		return CauseUnauthorized
	case errors.As(err, &code) && code == http.StatusForbidden:
		return CauseForbidden
	case errors.As(err, &code):
		return CauseUnready
	case errors.Is(err, errNoCredentials):
		return CauseCredentials
	case errors.Is(err, errShuttingDown):
		return CauseShuttingDown
	case errors.As(err, &verification), errors.As(err, &alert), errors.As(err, &record):
		return CauseCertificate
	case errors.As(err, &name), errors.As(err, &network) && network.Op == "dial":
		return CauseUnreachable
	case errors.Is(err, ErrSilent), errors.Is(err, context.DeadlineExceeded):
		return CauseSilent
	}
	return CauseFailed
}
