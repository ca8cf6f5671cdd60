package section

import (
	"strings"

	"github.com/netloom/netloom/pkg/openwrt"
)

// The device leaves files behind: of the certificates of a remote it deletes only the first, and strongSwan trusts every file of
// a CA. So before a remote has fewer parts than now, or is deleted, all its parts are overwritten with text that is not a certificate. The
// device does not show how many there are: a note says so, see Namer.Parts.

// MostParts is how many certificates a field may have. Each is a file on the device.
const MostParts = 32

// Sealed returns a digest of what was written into the fields that cannot be read back, "" if nothing was.
func Sealed(o openwrt.Object) string {
	var words []string
	for _, field := range WriteOnlyFields() {
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

// Shown returns a digest of what the device shows in those fields, "" if it shows nothing.
func Shown(o openwrt.Object) string {
	var words []string
	for _, field := range WriteOnlyFields() {
		if d, ok := o[field].(openwrt.Digest); ok {
			words = append(words, field, d.Sum())
		}
	}
	if len(words) == 0 {
		return ""
	}
	return digits(sealDigits, words...)
}

// WriteOnlyFields returns the fields of a remote that the device does not show as they were written.
func WriteOnlyFields() []string {
	return []string{"local_public_cert", "local_private_cert", "shared_ca"}
}

// Parts counts the certificates and keys of a remote, in the order of WriteOnlyFields.
type Parts [3]int

// PartsIn counts what is about to be written.
func PartsIn(o openwrt.Object) Parts {
	var out Parts
	for i, field := range WriteOnlyFields() {
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

// Withdrawal returns what overwrites the files of a remote if some would outlive those in next; nil if none would. Next has none if the
// remote is deleted.
func Withdrawal(remote string, on, next Parts) openwrt.Object {
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

// IsWithdrawn reports whether a device shows what a withdrawal wrote.
func IsWithdrawn(o openwrt.Object) bool {
	for _, field := range WriteOnlyFields() {
		if d, _ := o[field].(openwrt.Digest); !d.Withdrawn() {
			return false
		}
	}
	return true
}
