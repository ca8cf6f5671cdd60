package gateway

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"iter"
	"time"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// tokenField is the field with the token.
const tokenField = "spec.clientConfig.bearerToken" //nolint:gosec // the name of a field

// validity is when a certificate or token of an object can be used.
type validity struct {
	field, what string
	from, until time.Time // zero has no such end
}

// check returns a fault if it cannot be used at now.
func (v *validity) check(now time.Time) error {
	switch {
	case !v.until.IsZero() && now.After(v.until):
		return fmt.Errorf("%s: %s has expired at %s", v.field, v.what, v.until.UTC().Format(time.RFC3339))
	case now.Before(v.from):
		return fmt.Errorf("%s: %s is not valid before %s", v.field, v.what, v.from.UTC().Format(time.RFC3339))
	}
	return nil
}

// certificatesOf yields the fields of certificates with what they have, in order.
func certificatesOf(spec *v1alpha1.UpstreamClusterSpec) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		_ = yield("spec.clientConfig.certData", spec.ClientConfig.CertData) &&
			yield("spec.clientConfig.caData", spec.ClientConfig.CAData) &&
			yield("spec.secureServing.certData", spec.SecureServing.CertData) &&
			yield("spec.secureServing.clientCAData", spec.SecureServing.ClientCAData)
	}
}

// blocks yields the certificates of a text in PEM format, and errors for those that are none.
func blocks(text []byte) iter.Seq2[*x509.Certificate, error] {
	return func(yield func(*x509.Certificate, error) bool) {
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if !yield(x509.ParseCertificate(block.Bytes)) {
				return
			}
		}
	}
}

// validities returns when the certificates and the token of an object can be used. Of the CAs in a field one is enough, as while they are
// replaced: the one that ends last.
func validities(object *v1alpha1.UpstreamCluster) []validity {
	var out []validity
	for field, text := range certificatesOf(&object.Spec) {
		var last *validity
		for cert, err := range blocks(text) {
			if err != nil {
				continue
			}
			v := validity{field, fmt.Sprintf("the certificate of %q", cert.Subject), cert.NotBefore, cert.NotAfter}
			if last == nil || isCAs(field) == v.until.After(last.until) { // a chain ends with its first link
				last = &v
			}
		}
		if last != nil {
			out = append(out, *last)
		}
	}
	if until := tokenExpiry(object.Spec.ClientConfig.BearerToken); !until.IsZero() {
		out = append(out, validity{field: tokenField, what: "the token", until: until})
	}
	return out
}

// isCAs reports whether a field has CAs that are trusted, and not one certificate with those that signed it.
func isCAs(field string) bool {
	return field == "spec.clientConfig.caData" || field == "spec.secureServing.clientCAData"
}

// unreadable returns the faults of certificates that cannot be read.
func unreadable(object *v1alpha1.UpstreamCluster) []error {
	var faults []error
	for field, text := range certificatesOf(&object.Spec) {
		for _, err := range blocks(text) {
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", field, err))
			}
		}
	}
	return faults
}

// FirstExpiry returns the field of the certificate or token in an object that expires first, and when; "" if none says so.
func FirstExpiry(object *v1alpha1.UpstreamCluster) (name string, at time.Time) {
	for _, v := range validities(object) {
		if !v.until.IsZero() && (name == "" || v.until.Before(at)) {
			name, at = v.field, v.until
		}
	}
	return name, at
}

// tokenExpiry returns when a JSON Web Token says that it expires; zero if it does not say so or is another token. Nothing is verified.
func tokenExpiry(token []byte) time.Time {
	parts := bytes.Split(token, []byte("."))
	if len(parts) != 3 {
		return time.Time{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(string(parts[1]))
	var claims struct {
		Exp int64 `json:"exp"` // seconds since 1970, RFC 7519 section 4.1.4
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(claims.Exp, 0)
}
