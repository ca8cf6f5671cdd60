package render

import (
	"errors"
	"fmt"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

func (*renderer) proposal(w *Wanted, s *intent.Proposal) (openwrt.Resource, error) {
	return openwrt.Proposal{Name: w.Name, Encryption: s.Encryption, Hash: s.Hash, DHGroup: s.DHGroup}, nil
}

func (r *renderer) tunnel(w *Wanted, s *intent.Tunnel) (openwrt.Resource, error) {
	t := openwrt.Remote{
		Name: w.Name, Type: s.Type, Gateway: s.Remote, LocalIdentifier: s.LocalID, RemoteIdentifier: s.RemoteID,
	}
	var err, errForce error
	t.CryptoProposal, err = r.proposals(w, s.Proposals)
	t.ForceProposal, errForce = toggle(s.ForceProposals)
	psk := s.Authentication == intent.PreSharedKey
	if err = errors.Join(err, errForce, identifierWords(s.Remote, s.LocalID, s.RemoteID, psk)); err != nil {
		return nil, err
	}
	for i := range s.Connections {
		c, err := r.connection(w, &s.Connections[i])
		if err != nil {
			return nil, fmt.Errorf("connection %q: %w", s.Connections[i].Name, err)
		}
		t.Connections = append(t.Connections, c)
	}
	switch s.Authentication {
	case intent.PreSharedKey:
		t.Authentication = "psk"
		key, err := r.preSharedKey(s.Key)
		t.PreSharedKey = openwrt.Secret(key)
		return t, err
	case intent.PublicKey:
		t.Authentication = "pubkey"
		var private string
		var errs [3]error
		t.PublicCert, errs[0] = r.certificate("certificate", s.Certificate, nil)
		private, errs[1] = r.certificate("private key", s.PrivateKey, onePrivateKey)
		t.SharedCA, errs[2] = r.certificate("CA", s.CA, nil)
		t.PrivateKey = openwrt.Secret(private)
		return t, errors.Join(errs[:]...)
	default:
		return nil, errors.New("authentication: not set")
	}
}

func (r *renderer) proposals(w *Wanted, refs []intent.DeviceRef) ([]string, error) {
	var out []string
	for _, ref := range refs {
		name, err := r.refer(w, openwrt.Proposals, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

func (r *renderer) connection(w *Wanted, s *intent.Connection) (openwrt.Connection, error) {
	if s.Name == "" {
		return openwrt.Connection{}, errors.New("it has no name")
	}
	c := openwrt.Connection{
		Name: r.names.Connection(w.Intent, s.Name), Type: "tunnel", Mode: s.Start,
		LocalSubnet: s.LocalSubnet, LocalSourceIP: s.LocalSource, LocalUpDown: s.LocalUpDown, LocalFirewall: s.LocalFirewall,
		RemoteSubnet: s.RemoteSubnet, RemoteSourceIP: s.RemoteSource, RemoteUpDown: s.RemoteUpDown, RemoteFirewall: s.RemoteFirewall,
		Mark: s.Mark,
	}
	if s.Transport {
		c.Type = "transport"
	}
	var err error
	c.CryptoProposal, err = r.proposals(w, s.Proposals)
	return c, errors.Join(err, markWord("mark", s.Mark))
}

// preSharedKey returns a key as the device can write it.
func (r *renderer) preSharedKey(v intent.SecretValue) (string, error) {
	const field = "pre-shared key"
	key, err := r.secretValue(field, v)
	if err != nil {
		return "", err
	}
	word, err := keyWord(field, key)
	if err != nil && v.Value == "" {
		return "", &errKeep{fmt.Sprintf("%v, in Secret %s/%s, key %s", err, v.From.Namespace, v.From.Name, v.From.Key)}
	}
	return word, err
}
