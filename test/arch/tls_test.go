package arch_test

import (
	"testing"

	"github.com/netloom/netloom/test/arch"
)

func TestTLSConfigs(t *testing.T) {
	const old, unchecked, later = "MinVersion has to be", "InsecureSkipVerify needs", "belongs into the literal"
	for _, tc := range []struct{ name, body, want string }{
		{"a version is named", "var _ = tls.Config{MinVersion: tls.VersionTLS12}", ""},
		{"a newer one", "var _ = &tls.Config{MinVersion: tls.VersionTLS13}", ""},
		{"none is", "var _ = &tls.Config{}", old},
		{"an old one", "var _ = &tls.Config{MinVersion: tls.VersionTLS11}", old},
		{"a number", "var _ = &tls.Config{MinVersion: 0x303}", old},
		{"something is beside it", "var _ = &tls.Config{ServerName: \"x\"}", old},
		{"certificates are not checked", "var _ = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}", unchecked},
		{"perhaps they are", "var _ = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: some}", unchecked},
		{"they are", "var _ = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: false}", ""},
		{"they are by hand", "var _ = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, VerifyConnection: f}", ""},
		{"without a literal", "var c tls.Config", "write a literal"},
		{"by new", "var c = new(tls.Config)", "write a literal"},
		{"a pointer to one", "var c *tls.Config", ""},
		{"later", "func f(c *tls.Config) { c.InsecureSkipVerify = true }", later},
		{"a version later", "func f(c *tls.Config) { c.MinVersion = tls.VersionTLS10 }", later},
		{"another later", "func f(c *tls.Config) { c.ServerName = \"x\" }", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := "// Package version is an example.\npackage version\n\nimport \"crypto/tls\"\n\n" + tc.body + "\n"
			requireFault(t, tc.want, arch.Source{Path: "pkg/version/version.go", Text: []byte(text)})
			requireFault(t, "", arch.Source{Path: "pkg/version/version_test.go", Text: []byte("package version\n\nimport \"crypto/tls\"\n\n" + tc.body + "\n")})
		})
	}
	t.Run("under another name", func(t *testing.T) {
		text := "// Package version is an example.\npackage version\n\nimport secret \"crypto/tls\"\n\nvar _ = &secret.Config{}\n"
		requireFault(t, old, arch.Source{Path: "pkg/version/version.go", Text: []byte(text)})
	})
}
