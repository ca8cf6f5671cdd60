package upstream

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// certificates are the credentials of a cluster, parsed.
type certificates struct {
	serving   *tls.Certificate // nil if there is none
	clientCAs *x509.CertPool   // nil if there are none
	client    *v1alpha1.ClientConfig
	connects  [sha256.Size]byte // the digest of client, as far as connections depend on it
}

// CheckCertificates reports all faults of the certificates, keys and tokens in spec.
func CheckCertificates(spec *v1alpha1.UpstreamClusterSpec) error {
	_, err := loadCertificates(spec)
	return err
}

// loadCertificates parses the certificates of spec, and reports all faults. No fault contains key material.
func loadCertificates(spec *v1alpha1.UpstreamClusterSpec) (*certificates, error) {
	client, serving := &spec.ClientConfig, &spec.SecureServing
	c := &certificates{client: client, connects: connects(client)}
	var faults []error
	note := func(field string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", field, err))
		}
	}
	note("spec.clientConfig.bearerToken", checkToken(client.BearerToken))
	_, err := keyPair(client.CertData, client.KeyData)
	note("spec.clientConfig.certData", err)
	_, err = certPool(client.CAData)
	note("spec.clientConfig.caData", err)
	c.serving, err = keyPair(serving.CertData, serving.KeyData)
	note("spec.secureServing.certData", err)
	c.clientCAs, err = certPool(serving.ClientCAData)
	note("spec.secureServing.clientCAData", err)
	return c, errors.Join(faults...)
}

func keyPair(cert, key []byte) (*tls.Certificate, error) {
	if len(cert) == 0 {
		return nil, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be used with keyData: %w", err)
	}
	return &pair, nil
}

func certPool(pem []byte) (*x509.CertPool, error) {
	if len(pem) == 0 {
		return nil, nil
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		return nil, errors.New("there is no certificate in PEM format")
	}
	return p, nil
}

// connects is the digest of what connections depend on.
func connects(c *v1alpha1.ClientConfig) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range [][]byte{c.BearerToken, c.KeyData, c.CertData, c.CAData, []byte(c.ServerName), {b(c.Insecure), b(c.Credentials != nil)}} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write(part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func b(v bool) byte {
	if v {
		return 1
	}
	return 0
}
