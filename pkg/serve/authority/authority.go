package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

// Year is how long an authority is valid that lasts as long as a process.
const Year = 365 * 24 * time.Hour

// skew is how far back certificates are valid: clocks of a machine and of its virtual machines differ.
const skew = time.Hour

// Authority is a certificate authority. Its key is never written anywhere. Make it with New.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority that is valid from now on, for some time, as all of its certificates are.
func New(name string, now time.Time, validity time.Duration) (*Authority, error) {
	a := &Authority{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(validity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	a.cert, a.key, err = sign(template, nil, nil)
	return a, err
}

// PEM is the certificate of the authority.
func (a *Authority) PEM() []byte { return block("CERTIFICATE", a.cert.Raw) }

// Pair is a certificate and its private key in PEM.
type Pair struct{ Cert, Key []byte }

// Server signs a certificate for a server with DNS names or IP addresses, at least one, of which the first is its common name.
func (a *Authority) Server(names ...string) (Pair, error) {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: names[0]}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return a.issue(template)
}

// Client signs a certificate for a user.
func (a *Authority) Client(user string) (Pair, error) {
	return a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: user}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// issue signs a certificate that is valid as long as the authority.
func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	template.NotBefore, template.NotAfter, template.KeyUsage = a.cert.NotBefore, a.cert.NotAfter, x509.KeyUsageDigitalSignature
	cert, private, err := sign(template, a.cert, a.key)
	if err != nil {
		return Pair{}, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Pair{}, fmt.Errorf("write the key: %w", err)
	}
	return Pair{Cert: block("CERTIFICATE", cert.Raw), Key: block("PRIVATE KEY", key)}, nil
}

// sign makes a key and signs a certificate for it; without a parent, with the key itself.
func sign(template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, fmt.Errorf("make a serial number: %w", err)
	}
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
