package credential

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// credential is what a gateway presents to the API servers of a cluster.
type credential struct {
	token, cert, key []byte
	ca               []byte    // of the API servers; empty says nothing of them
	expires          time.Time // zero if it is not known to expire
}

func (c *credential) equal(o *credential) bool {
	return bytes.Equal(c.token, o.token) && bytes.Equal(c.cert, o.cert) && bytes.Equal(c.key, o.key) && bytes.Equal(c.ca, o.ca)
}

// check reports credentials that cannot be used. No fault contains any of them.
func (c *credential) check() error {
	switch {
	case len(c.token) == 0 && len(c.cert) == 0:
		return errors.New("there is neither a token nor a certificate")
	case (len(c.cert) == 0) != (len(c.key) == 0):
		return errors.New("a certificate and its key belong together, and one of them is missing")
	case len(c.cert) > 0:
		if _, err := tls.X509KeyPair(c.cert, c.key); err != nil {
			return fmt.Errorf("the certificate cannot be used with its key: %w", err)
		}
	}
	if bytes.ContainsAny(c.token, " \t\r\n\x00") {
		return errors.New("the token contains spaces or line ends")
	}
	return nil
}

// into returns a version of object with the credentials in place of the reference.
func (c *credential) into(object *v1alpha1.UpstreamCluster) *v1alpha1.UpstreamCluster {
	out := object.DeepCopy()
	config := &out.Spec.ClientConfig
	config.Credentials = nil
	config.BearerToken, config.CertData, config.KeyData = c.token, c.cert, c.key
	if len(config.CAData) == 0 && !config.Insecure {
		config.CAData = c.ca
	}
	return out
}

// source obtains credentials. With force, what it obtained before was refused.
type source interface {
	obtain(ctx context.Context, force bool) (*credential, error)
}

// lifetime returns when a JSON Web Token says that it was issued and expires; zero if it does not say so or is another token. Nothing
// is verified.
func lifetime(token []byte) (issued, expires time.Time) {
	parts := bytes.Split(token, []byte("."))
	if len(parts) != 3 {
		return time.Time{}, time.Time{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(string(parts[1]))
	var claims struct {
		Iat int64 `json:"iat"` // seconds since 1970, RFC 7519 section 4.1.6
		Exp int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp <= 0 || claims.Exp <= claims.Iat {
		return time.Time{}, time.Time{}
	}
	return time.Unix(claims.Iat, 0), time.Unix(claims.Exp, 0)
}
