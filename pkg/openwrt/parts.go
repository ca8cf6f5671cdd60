package openwrt

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// PartSeparator separates the certificates in a field that holds several.
const PartSeparator = "___"

// Digest replaces a value that cannot be read back as it was written: the digest of what the device returns instead. It
// changes when that does, and reveals only whether the value is that of WithdrawnParts.
type Digest string

// withdrawn is what the device shows of a withdrawn part; the part itself is in base64, because the device decodes it.
const withdrawn = "withdrawn"

func digest(shown string) Digest {
	sum := sha256.Sum256([]byte(shown))
	out := "sha256:" + hex.EncodeToString(sum[:])
	if first, _, _ := strings.Cut(shown, "\n"); first == withdrawn { // of the others, the device shows no content
		out += " " + withdrawn
	}
	return Digest(out)
}

// Sum is the digest alone.
func (d Digest) Sum() string {
	sum, _, _ := strings.Cut(string(d), " ")
	return sum
}

// Withdrawn reports whether the value is that of WithdrawnParts.
func (d Digest) Withdrawn() bool { return strings.HasSuffix(string(d), " "+withdrawn) }

// WithdrawnParts is the value of a field that overwrites n certificates or keys, at least one, with text that is neither.
func WithdrawnParts(n int) string {
	inFile := base64.StdEncoding.EncodeToString([]byte(withdrawn))
	part := base64.StdEncoding.EncodeToString([]byte(inFile))
	return part + strings.Repeat(PartSeparator+part, max(n, 1)-1)
}
