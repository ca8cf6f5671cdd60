package certs

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

	"github.com/netloom/netloom/pkg/serve/authority"
)

// pair is a certificate and its key, as PEM.
type pair struct{ cert, key []byte }

// newPair makes a certificate for names and the authority that signed it. The authority's key is discarded.
func newPair(names []string, now time.Time, validity time.Duration) (p pair, ca []byte, err error) {
	signer, err := authority.New("netloom webhook authority "+rand.Text(), now, validity) // two may be trusted
	if err != nil {
		return pair{}, nil, err
	}
	signed, err := signer.Server(names...)
	if err != nil {
		return pair{}, nil, err
	}
	return pair{cert: signed.Cert, key: signed.Key}, signer.PEM(), nil
}

// load reads a pair.
func (p pair) load() (*tls.Certificate, error) {
	if len(p.cert) == 0 {
		return nil, errors.New("there is no certificate")
	}
	c, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, err // it quotes neither
	}
	return &c, nil
}

// check returns why a pair cannot be served now under all names, to clients that trust the authorities; nil if it can.
func (p pair) check(authorities []byte, names []string, now time.Time) error {
	c, err := p.load()
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	for _, name := range names {
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			return err
		}
	}
	return nil
}

// end returns when a pair that can be loaded expires.
func (p pair) end() time.Time {
	c, err := p.load()
	if err != nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// unexpired removes authorities that have expired, and what is not a certificate.
func unexpired(authorities []byte, now time.Time) []byte {
	var out bytes.Buffer
	for block, rest := pem.Decode(authorities); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && now.Before(c.NotAfter) {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
		}
	}
	return out.Bytes()
}
