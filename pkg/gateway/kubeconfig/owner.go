package kubeconfig

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/pkg/serve/authority"
)

// Owner is the one client of a gateway, and what it needs to know the gateway. Both exist until the gateway ends.
type Owner struct {
	// Certificate is for clients that do not say which cluster they want.
	Certificate tls.Certificate

	ca   []byte
	pair authority.Pair
}

// ownerName is the name in the certificate. No API server sees it.
const ownerName = "owner"

// NewOwner makes an authority and has it sign a certificate for each cluster, and one for their owner. It changes secureServing of the
// objects: from then on they accept the owner's certificate and no other. The key of the authority is forgotten.
func NewOwner(contexts []Context, now time.Time) (*Owner, error) {
	signer, err := authority.New("netloom gateway", now, authority.Year)
	if err != nil {
		return nil, err
	}
	for _, c := range contexts {
		pair, err := signer.Server(c.Object.Name)
		if err != nil {
			return nil, err
		}
		serving := &c.Object.Spec.SecureServing
		serving.CertData, serving.KeyData, serving.ClientCAData = pair.Cert, pair.Key, signer.PEM()
	}
	o := &Owner{ca: signer.PEM()}
	if o.pair, err = signer.Client(ownerName); err != nil {
		return nil, err
	}
	local, err := signer.Server("localhost", "127.0.0.1", "::1")
	if err != nil {
		return nil, err
	}
	o.Certificate, err = tls.X509KeyPair(local.Cert, local.Key)
	return o, err
}

// Kubeconfig returns the owner's kubeconfig for a gateway that listens on an address. It has the names of the contexts and the context
// current, or the first one if that is not among them.
func (o *Owner) Kubeconfig(address net.Addr, contexts []Context, current string) ([]byte, error) {
	server, err := serverAt(address)
	if err != nil {
		return nil, err
	}
	config := api.NewConfig()
	config.AuthInfos[ownerOfGateway] = &api.AuthInfo{ClientCertificateData: o.pair.Cert, ClientKeyData: o.pair.Key}
	for i, c := range contexts {
		config.Clusters[c.Object.Name] = &api.Cluster{Server: server, TLSServerName: c.Object.Name, CertificateAuthorityData: o.ca}
		config.Contexts[c.Name] = &api.Context{Cluster: c.Object.Name, AuthInfo: ownerOfGateway, Namespace: c.Namespace}
		if i == 0 || c.Name == current {
			config.CurrentContext = c.Name
		}
	}
	text, err := clientcmd.Write(*config)
	return append([]byte(header), text...), err
}

const (
	ownerOfGateway = "netloom-gateway"
	header         = "# Written by netloom gateway. It is valid until the gateway stops. Whoever has it has your rights.\n"
)

// serverAt is the URL of a gateway that listens on an address, for clients on the same machine.
func serverAt(address net.Addr) (string, error) {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return "", fmt.Errorf("address %s: %w", address, err)
	}
	host := at.Addr().Unmap()
	if host.IsUnspecified() {
		host = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "https://" + netip.AddrPortFrom(host, at.Port()).String(), nil
}

// Write writes a kubeconfig to a file that only its owner can read. It replaces a file only if Write has written it, too.
func Write(path string, text []byte) error {
	if err := replaceable(path); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), ".netloom-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	_, err = draft.Write(text)
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		_ = os.Remove(draft.Name()) // the first error matters
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}

// replaceable returns why a file must not be replaced: it may be somebody's only copy of credentials.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("write a kubeconfig: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("write a kubeconfig: %s is not a regular file", path)
	}
	file, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	begin := make([]byte, len(header))
	if _, err := io.ReadFull(file, begin); err != nil || !bytes.Equal(begin, []byte(header)) {
		return fmt.Errorf("write a kubeconfig: %s exists, and is not one that netloom gateway has written", path)
	}
	return nil
}
