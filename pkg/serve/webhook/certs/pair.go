package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// skew is how far back certificates are valid, for clocks that are behind.
const skew = time.Hour

// pair is a certificate and its key, as PEM.
type pair struct{ cert, key []byte }

// newPair makes a certificate for names and the authority that signed it. The authority's key is discarded.
func newPair(names []string, now time.Time, validity time.Duration) (p pair, ca []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, nil, fmt.Errorf("make a key: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, nil, fmt.Errorf("make a serial number: %w", err)
	}
	authority := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: fmt.Sprintf("netloom webhook authority %x", serial)}, // two may be trusted
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	}
	leaf := &x509.Certificate{
		SerialNumber: new(big.Int).Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	if err != nil {
		return pair{}, nil, fmt.Errorf("sign the authority: %w", err)
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, leafKey.Public(), caKey)
	if err != nil {
		return pair{}, nil, fmt.Errorf("sign the certificate: %w", err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return pair{}, nil, fmt.Errorf("write the key: %w", err)
	}
	p = pair{cert: pemBlock("CERTIFICATE", leafDER), key: pemBlock("PRIVATE KEY", key)}
	return p, pemBlock("CERTIFICATE", caDER), nil
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
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
			out.Write(pemBlock("CERTIFICATE", c.Raw))
		}
	}
	return out.Bytes()
}
