//go:build e2e

package kubelab

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgedToken returns a token of a service account that was issued some time ago, and is valid for a while. The API server issues none that is
// not new.
func (l *Lab) AgedToken(namespace, name string, age, left time.Duration) string {
	l.tb.Helper()
	account, err := l.client.CoreV1().ServiceAccounts(namespace).Get(l.tb.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.tb.Fatal(err)
	}
	const issuer = "https://kubernetes.default.svc"
	now := time.Now()
	return l.sign(map[string]any{"alg": "ES256"}, map[string]any{
		"iss": issuer, "aud": []string{issuer}, "sub": "system:serviceaccount:" + namespace + ":" + name,
		"iat": now.Add(-age).Unix(), "nbf": now.Add(-age).Unix(), "exp": now.Add(left).Unix(),
		"kubernetes.io": map[string]any{"namespace": namespace, "serviceaccount": map[string]any{"name": name, "uid": account.UID}},
	})
}

// sign returns a JSON Web Token (RFC 7515) with the key of service accounts.
func (l *Lab) sign(header, claims map[string]any) string {
	l.tb.Helper()
	raw, err := os.ReadFile(l.path("sa.key"))
	if err != nil {
		l.tb.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		l.tb.Fatal(err)
	}
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			l.tb.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(header) + "." + part(claims)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		l.tb.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}
