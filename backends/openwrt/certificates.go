package openwrt

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// shortestCertificate is the minimum number of bytes of a certificate: a shorter file breaks every response about its remote.
const shortestCertificate = 4

// mostParts is how many certificates a field may have. Each is a file on the device.
const mostParts = 32

// certificate renders certificates or a key as the device reads them: base64 of PEM, several joined by three underscores. Check
// looks at the parts; nil accepts any.
func (r *renderer) certificate(field string, v intent.SecretValue, check func(parts [][]byte) error) (string, error) {
	text, err := r.secretValue(field, v)
	if err != nil {
		return "", err
	}
	parts, fault := partsOf(text, v.Value != "")
	if fault == nil && len(parts) > mostParts {
		fault = fmt.Errorf("more than %d certificates", mostParts)
	}
	if fault == nil && check != nil {
		fault = check(parts)
	}
	switch {
	case fault == nil:
		return joined(parts), nil
	case v.Value != "":
		return "", fmt.Errorf("%s: %w", field, fault)
	default:
		return "", &errKeep{fmt.Sprintf("%s: Secret %s/%s, key %s: %v", field, v.From.Namespace, v.From.Name, v.From.Key, fault)}
	}
}

// partsOf splits certificates or a key: those of an object are base64, those of a Secret PEM.
func partsOf(text string, inBase64 bool) ([][]byte, error) {
	var out [][]byte
	if !inBase64 {
		for rest := []byte(text); ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			out = append(out, pem.EncodeToMemory(block))
		}
		if len(out) == 0 {
			return nil, errors.New("not PEM")
		}
		return out, nil
	}
	for one := range strings.SplitSeq(text, openwrt.PartSeparator) {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(one), ""))
		if err != nil || len(raw) < shortestCertificate {
			return nil, errors.New("not base64 of PEM, several joined by three underscores")
		}
		out = append(out, raw)
	}
	return out, nil
}

func joined(parts [][]byte) string {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, base64.StdEncoding.EncodeToString(p))
	}
	return strings.Join(texts, openwrt.PartSeparator)
}

// onePrivateKey returns an error unless there is one RSA key and nothing else: the device declares all parts together as one RSA
// key, and strongSwan then loads no other kind, no key with parameters before it, and none with a passphrase.
func onePrivateKey(parts [][]byte) error {
	if len(parts) != 1 {
		return fmt.Errorf("expected one RSA key, found %d blocks of PEM", len(parts))
	}
	block, rest := pem.Decode(parts[0])
	if block == nil || strings.TrimSpace(string(rest)) != "" {
		return errors.New("expected one block of PEM with an RSA key")
	}
	switch {
	case len(block.Headers) > 0:
		return errors.New("the device does not support a key with a passphrase")
	case block.Type == "RSA PRIVATE KEY":
		if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			return errors.New("the RSA key cannot be parsed")
		}
		return nil
	case block.Type == "PRIVATE KEY":
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return errors.New("the key cannot be parsed")
		}
		if _, ok := key.(*rsa.PrivateKey); !ok {
			return errors.New("the device loads only RSA keys")
		}
		return nil
	default:
		return fmt.Errorf("%s: the device loads only RSA keys, as PRIVATE KEY or RSA PRIVATE KEY", block.Type)
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
			words = append(words, field, d.Sum())
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

// The device leaves files behind: of the certificates of a remote it deletes only the first, and strongSwan trusts every file of
// a CA. So before a remote has fewer parts than now, or is deleted, all its parts are overwritten with text that is not a certificate. The
// device does not show how many there are: a note says so, see namer.parts.

// parts counts the certificates and keys of a remote, in the order of writeOnlyFields.
type parts [3]int

// partsIn counts what is about to be written.
func partsIn(o openwrt.Object) parts {
	var out parts
	for i, field := range writeOnlyFields() {
		text := ""
		switch v := o[field].(type) {
		case string:
			text = v
		case openwrt.Secret:
			text = string(v)
		}
		if text != "" {
			out[i] = 1 + strings.Count(text, openwrt.PartSeparator)
		}
	}
	return out
}

// partsOf counts the files of a remote that may be on the device. Without a note there may be any number of each that it shows.
func (h *inventory) partsOf(names namer, remote string) parts {
	var out parts
	known := false
	for note := range h.notes {
		if n, of, ok := names.partsIn(note); ok && of == remote {
			known = true
			for i := range out {
				out[i] = max(out[i], n[i])
			}
		}
	}
	on := h.objects[key{openwrt.Remotes, remote}]
	if known || on == nil {
		return out
	}
	for i, field := range writeOnlyFields() {
		if d, ok := on.object[field].(openwrt.Digest); ok && !d.Withdrawn() {
			out[i] = mostParts
		}
	}
	return out
}

// withdrawal returns what overwrites the files of a remote if some would outlive those in next; nil if none would. Next has none if the
// remote is deleted.
func withdrawal(remote string, on, next parts) openwrt.Object {
	needed := false
	for i := range on {
		needed = needed || on[i] > max(next[i], 1)
	}
	if !needed {
		return nil
	}
	return openwrt.ObjectOf(openwrt.Remote{
		Name: remote, Enabled: "0", Authentication: "pubkey", PublicCert: openwrt.WithdrawnParts(on[0]),
		PrivateKey: openwrt.Secret(openwrt.WithdrawnParts(on[1])), SharedCA: openwrt.WithdrawnParts(on[2]),
	})
}

// isWithdrawn reports whether a device shows what a withdrawal wrote.
func isWithdrawn(o openwrt.Object) bool {
	for _, field := range writeOnlyFields() {
		if d, _ := o[field].(openwrt.Digest); !d.Withdrawn() {
			return false
		}
	}
	return true
}
