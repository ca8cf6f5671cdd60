package openwrt

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// shortestCertificate is how many bytes a certificate must have: a shorter file breaks every answer about its remote.
const shortestCertificate = 4

func (*renderer) proposal(w *wanted, s *intent.Proposal) (openwrt.Resource, error) {
	return openwrt.Proposal{Name: w.name, Encryption: s.Encryption, Hash: s.Hash, DHGroup: s.DHGroup}, nil
}

func (r *renderer) tunnel(w *wanted, s *intent.Tunnel) (openwrt.Resource, error) {
	t := openwrt.Remote{
		Name: w.name, Type: s.Type, Gateway: s.Remote, LocalIdentifier: s.LocalID, RemoteIdentifier: s.RemoteID,
	}
	var err, errForce error
	t.CryptoProposal, err = r.proposals(w, s.Proposals)
	t.ForceProposal, errForce = toggle(s.ForceProposals)
	if err = errors.Join(err, errForce); err != nil {
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
		key, err := r.secretValue("pre-shared key", s.Key)
		t.PreSharedKey = openwrt.Secret(key)
		return t, err
	case intent.PublicKey:
		t.Authentication = "pubkey"
		var private string
		var errs [3]error
		t.PublicCert, errs[0] = r.certificate("certificate", s.Certificate)
		private, errs[1] = r.certificate("private key", s.PrivateKey)
		t.SharedCA, errs[2] = r.certificate("CA", s.CA)
		t.PrivateKey = openwrt.Secret(private)
		return t, errors.Join(errs[:]...)
	default:
		return nil, errors.New("authentication: not set")
	}
}

func (r *renderer) proposals(w *wanted, refs []intent.DeviceRef) ([]string, error) {
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

func (r *renderer) connection(w *wanted, s *intent.Connection) (openwrt.Connection, error) {
	if s.Name == "" {
		return openwrt.Connection{}, errors.New("it has no name")
	}
	c := openwrt.Connection{
		Name: r.names.connection(w.intent, s.Name), Type: "tunnel", Mode: s.Start,
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

// secretValue returns a secret in clear. If it is in a Secret that could not be read, the error is an *errKeep.
func (r *renderer) secretValue(field string, v intent.SecretValue) (string, error) {
	if v.Value != "" {
		return string(v.Value), nil
	}
	if v.From == (intent.SecretRef{}) {
		return "", fmt.Errorf("%s: not set", field)
	}
	s, name := r.secrets[v.From], v.From.Namespace+"/"+v.From.Name
	switch {
	case s.err != nil:
		return "", &errKeep{fmt.Sprintf("%s: Secret %s, key %s: %v", field, name, v.From.Key, s.err)}
	case strings.TrimSpace(string(s.value)) == "":
		return "", &errKeep{fmt.Sprintf("%s: Secret %s: no key %s", field, name, v.From.Key)}
	default:
		return strings.TrimSpace(string(s.value)), nil
	}
}

// certificate renders a certificate or key as the device reads it: base64 of PEM, several joined by three underscores.
func (r *renderer) certificate(field string, v intent.SecretValue) (string, error) {
	text, err := r.secretValue(field, v)
	if err != nil {
		return "", err
	}
	if v.Value == "" {
		if text = fromPEM(text); text == "" {
			return "", &errKeep{fmt.Sprintf("%s: Secret %s/%s, key %s: not PEM", field, v.From.Namespace, v.From.Name, v.From.Key)}
		}
		return text, nil
	}
	for _, one := range strings.Split(text, "___") {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(one), ""))
		if err != nil || len(raw) < shortestCertificate {
			return "", fmt.Errorf("%s: not base64 of PEM, several joined by three underscores", field)
		}
	}
	return strings.Join(strings.Fields(text), ""), nil
}

// fromPEM returns each block of PEM in text as base64, joined by three underscores; "" when there is none.
func fromPEM(text string) string {
	var out []string
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return strings.Join(out, "___")
		}
		out = append(out, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(block)))
	}
}

// sealed returns a digest of what was written into the fields that cannot be read back, "" if nothing was.
func sealed(o openwrt.Object) string {
	var words []string
	for _, field := range writeOnlyFields() {
		switch v := o[field].(type) {
		case string:
			words = append(words, field, v)
		case openwrt.Secret:
			words = append(words, field, string(v))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return digits(sealDigits, words...)
}

// shown returns a digest of what the device shows in those fields, "" if it shows nothing.
func shown(o openwrt.Object) string {
	var words []string
	for _, field := range writeOnlyFields() {
		if d, ok := o[field].(openwrt.Digest); ok {
			words = append(words, field, string(d))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return digits(sealDigits, words...)
}

// writeOnlyFields returns the fields of a remote that the device does not show as they were written.
func writeOnlyFields() []string {
	return []string{"local_public_cert", "local_private_cert", "shared_ca"}
}
