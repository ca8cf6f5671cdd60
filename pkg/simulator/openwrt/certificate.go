package openwrt

import (
	"crypto/tls"
	"time"

	"github.com/netloom/netloom/pkg/serve/authority"
)

// certificate is the certificate of a device, and its CA.
type certificate struct {
	config *tls.Config
	ca     []byte // PEM
}

// newCertificate makes a CA and a certificate signed by it, valid for this century.
func newCertificate(names []string) (*certificate, error) {
	from, until := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	signer, err := authority.New("simulator", from, until.Sub(from))
	if err != nil {
		return nil, err
	}
	signed, err := signer.Server(append([]string{"localhost", "127.0.0.1"}, names...)...)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(signed.Cert, signed.Key)
	if err != nil {
		return nil, err
	}
	return &certificate{config: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, ca: signer.PEM()}, nil
}
