package ovsdb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// fingerprint distinguishes states of the TLS files without reading them.
type fingerprint [3]fileStamp

type fileStamp struct {
	modified int64 // nanoseconds
	size     int64
}

// stamp returns the current state of the files. A file that cannot be examined has the zero stamp.
func (t TLSFiles) stamp() fingerprint {
	var f fingerprint
	for i, name := range []string{t.CA, t.Cert, t.Key} {
		if name == "" {
			continue
		}
		if info, err := os.Stat(name); err == nil {
			f[i] = fileStamp{info.ModTime().UnixNano(), info.Size()}
		}
	}
	return f
}

// config reads the files.
func (t TLSFiles) config() (*tls.Config, error) {
	pem, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, fmt.Errorf("read CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read CA %s: no certificate in it", t.CA)
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks the chain; only the host name may go unchecked.
		VerifyConnection:   t.verify(roots),
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("read certificate and key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// verify checks that a server's certificate chains to roots and has the required name, if any.
func (t TLSFiles) verify(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the server showed no certificate")
		}
		intermediates := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			intermediates.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
			Roots:         roots,
			Intermediates: intermediates,
			DNSName:       t.ServerName,
			KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		return err
	}
}
