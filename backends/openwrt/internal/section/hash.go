package section

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
)

const (
	// How many digits of a hash are in a name: of the owner, of a zone, of any other object, and of what was sealed.
	ownerDigits = 4
	zoneDigits  = 6
	idDigits    = 10
	sealDigits  = 20
	// readableLength is the length of the human-readable part of a name.
	readableLength = 40
)

// word returns text without characters that a name cannot have, shortened to a readable length.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, text)
	return strings.Trim(text[:min(len(text), readableLength)], "_")
}

// digits returns the hash of words as n digits of base 36, 24 at most.
func digits(n int, words ...string) string {
	h := sha256.New()
	for _, w := range words {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(w))))
		h.Write([]byte(w))
	}
	sum := h.Sum(nil)
	out := ""
	for len(out) < n { // twelve digits hold less than eight bytes
		text := strconv.FormatUint(binary.BigEndian.Uint64(sum), 36)
		text = strings.Repeat("0", 12) + text
		out += text[len(text)-12:]
		sum = sum[8:]
	}
	return out[len(out)-n:]
}

func areDigits(s string) bool {
	return strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
