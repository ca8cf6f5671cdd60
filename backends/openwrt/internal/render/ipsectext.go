package render

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The device writes keys and identifiers as they are into ipsec.secrets, one line for each connection:
//
//	LOCAL REMOTE : PSK KEY
//
// There a blank ends a word, and a quotation mark or an apostrophe at its start begins a text that must end: otherwise
// strongSwan reads none of the lines that follow, those of other tunnels included.

// longestKey is the maximum length of a pre-shared key, in bytes, as in the CRD.
const longestKey = 1024

// bareKey is what strongSwan reads as it is written.
var bareKey = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]+$`)

// encodedKey is a key that strongSwan decodes: hexadecimal after 0x, base64 after 0s.
var encodedKey = regexp.MustCompile(`^0([xX][0-9A-Fa-f]+|[sS][A-Za-z0-9+/]+=*)$`)

// keyWord formats a pre-shared key. One that starts with 0x or 0s is encoded already, as it is for strongSwan; any other that
// cannot be written as it is becomes base64.
func keyWord(field, key string) (string, error) {
	lower := strings.ToLower(key[:min(len(key), 2)])
	switch {
	case len(key) > longestKey:
		return "", fmt.Errorf("%s: longer than %d bytes", field, longestKey)
	case lower == "0x" || lower == "0s":
		if !encodedKey.MatchString(key) {
			return "", fmt.Errorf("%s: after 0x, IPsec expects a hexadecimal number, and after 0s base64", field)
		}
		return key, nil
	case bareKey.MatchString(key):
		return key, nil
	default:
		return "0s" + base64.StdEncoding.EncodeToString([]byte(key)), nil
	}
}

// bareIdentifier is what strongSwan reads as one word wherever it is in a line: an address, a DNS name, user@host, %any, or a
// distinguished name without blanks.
var bareIdentifier = regexp.MustCompile(`^(::)?[A-Za-z0-9@%*/._][A-Za-z0-9._~+/=@%:,*#-]*$`)

var (
	errNotOneWord = errors.New("with a pre-shared key it has to be one word: letters, digits and ._~+/=@%:,*#- without blanks")
	errNotALine   = errors.New("IPsec would misread it: expected no quotation marks, no colon between blanks, and no # or include at the start")
)

// identifierWord returns an error if an identifier would break ipsec.secrets. Keys are found by their identifiers, so there
// they have to be single words. Certificates and private keys are not.
func identifierWord(field, text string, psk bool) error {
	switch {
	case text == "":
		return nil
	case strings.Contains(text, "\"") || strings.HasPrefix(text, "'") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, ": ") || strings.Contains(text, " : "),
		text == "include" || strings.HasPrefix(text, "include "):
		return fmt.Errorf("%s: %w", field, errNotALine)
	case psk && !bareIdentifier.MatchString(text):
		return fmt.Errorf("%s: %w", field, errNotOneWord)
	default:
		return nil
	}
}

// identifierWords checks what a tunnel is known by, and its peer: without identifiers the device writes the address.
func identifierWords(remote, local, peer string, psk bool) error {
	var errGateway error
	if remote != "" && !bareIdentifier.MatchString(remote) {
		errGateway = fmt.Errorf("remote: %q is not an address, a DNS name or %%any", remote)
	}
	return errors.Join(errGateway, identifierWord("local identifier", local, psk), identifierWord("remote identifier", peer, psk))
}
