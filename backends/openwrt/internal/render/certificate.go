package render

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// shortestCertificate is the minimum number of bytes of a certificate: a shorter file breaks every response about its remote.
const shortestCertificate = 4

// certificate renders certificates or a key as the device reads them: base64 of PEM, several joined by three underscores. Check
// looks at the parts; nil accepts any.
func (r *renderer) certificate(field string, v intent.SecretValue, check func(parts [][]byte) error) (string, error) {
	text, err := r.secretValue(field, v)
	if err != nil {
		return "", err
	}
	parts, fault := partsOf(text, v.Value != "")
	if fault == nil && len(parts) > section.MostParts {
		fault = fmt.Errorf("more than %d certificates", section.MostParts)
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

// PartsOf splits certificates or a key: those of an object are base64, those of a Secret PEM.
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
