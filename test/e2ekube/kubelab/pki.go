//go:build e2e

package kubelab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificates of one lab.
type authority struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

// newAuthority makes an authority whose certificate is dir/ca.crt.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of the authority: %w", err)
	}
	a.key = key
	template := a.template(pkix.Name{CommonName: "kubelab"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	a.cert = template
	der, err := a.write("ca", template, key)
	if err != nil {
		return nil, err
	}
	a.cert, err = x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	return a, nil
}

func (a *authority) template(subject pkix.Name) *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(7 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// issue writes name.crt and name.key, for a server on loopback that is also a client.
func (a *authority) issue(name string, subject pkix.Name) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("key of %s: %w", name, err)
	}
	template := a.template(subject)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	_, err = a.write(name, template, key)
	return err
}

func (a *authority) write(name string, template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", name, err)
	}
	if err := a.writePEM(name+".crt", "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return der, a.writeKey(name+".key", key)
}

// writeKey writes a key in the format that an API server accepts for service accounts too.
func (a *authority) writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return a.writePEM(file, "EC PRIVATE KEY", der)
}

func (a *authority) writePEM(file, kind string, der []byte) error {
	return os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// makeFiles writes every certificate and key for the programs of a lab.
func makeFiles(dir string) error {
	a, err := newAuthority(dir)
	if err != nil {
		return err
	}
	for name, subject := range map[string]pkix.Name{
		"server":         {CommonName: "kube-apiserver"},
		"etcd":           {CommonName: "etcd"},
		"admin":          {CommonName: "admin", Organization: []string{"system:masters"}},
		"manager":        {CommonName: "system:kube-controller-manager"},
		"kubelet":        {CommonName: "kubelet"},
		"kubelet-client": {CommonName: "kube-apiserver-kubelet-client"},
	} {
		if err := a.issue(name, subject); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("key of service accounts: %w", err)
	}
	return a.writeKey("sa.key", key)
}
