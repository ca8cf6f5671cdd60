package openwrt

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/openwrt"
)

const (
	// ownerDigits, zoneDigits and idDigits are how many digits of a hash are in a name: of the owner's, of a zone's, and of
	// that of any other object.
	ownerDigits = 4
	zoneDigits  = 6
	idDigits    = 10
	// readableLength is how many characters of a name are for people.
	readableLength = 40
)

// namer makes the names of an owner's objects on the device. A name depends on the owner, the kind and the ID alone.
type namer struct {
	owner string
	mark  string // what every name of the owner begins with: n and four digits of its hash
}

func newNamer(owner string) namer {
	return namer{owner: owner, mark: "n" + digits(ownerDigits, "owner", owner)}
}

// object names the object of kind k that stands for id. Different IDs have different names unless their hashes are equal,
// which is for the caller to find out. Readable is for people; where names are short it is left out: mwan3 passes over
// policies and rules of more than 15 characters, and a zone has 11.
func (n namer) object(k openwrt.Kind, id, readable string) string {
	switch k {
	case openwrt.Zones:
		return n.mark + digits(zoneDigits, n.owner, k.String(), id)
	case openwrt.Policies, openwrt.PolicyRules:
		return n.mark + digits(idDigits, n.owner, k.String(), id)
	default:
		return n.long(digits(idDigits, n.owner, k.String(), id), readable)
	}
}

// connection names a connection of the tunnel that stands for id. Connections share their names with remotes and
// proposals, whose hashes are of other words.
func (n namer) connection(id, name string) string {
	return n.long(digits(idDigits, n.owner, "connection", id, name), name)
}

func (n namer) long(hash, readable string) string {
	name := n.mark + "_" + hash
	if readable = word(readable); readable != "" {
		name += "_" + readable
	}
	return name
}

// mine says whether an object of kind k has a name that object makes for this owner.
func (n namer) mine(k openwrt.Kind, name string) bool {
	rest, ok := strings.CutPrefix(name, n.mark)
	if !ok {
		return false
	}
	switch k {
	case openwrt.Zones:
		return len(rest) == zoneDigits && areDigits(rest)
	case openwrt.Policies, openwrt.PolicyRules:
		return len(rest) == idDigits && areDigits(rest)
	default:
		return len(rest) > idDigits && rest[0] == '_' && areDigits(rest[1:1+idDigits]) &&
			(len(rest) == 1+idDigits || rest[1+idDigits] == '_')
	}
}

// word is text without what a name cannot hold, and not longer than people need.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, text)
	return strings.Trim(text[:min(len(text), readableLength)], "_")
}

// digits is the hash of words as n digits of base 36.
func digits(n int, words ...string) string {
	h := sha256.New()
	for _, w := range words {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(w)))
		h.Write(size[:])
		h.Write([]byte(w))
	}
	sum := h.Sum(nil)
	out := ""
	for len(out) < n { // eight bytes are twelve digits
		text := strconv.FormatUint(binary.BigEndian.Uint64(sum), 36)
		out += strings.Repeat("0", 13-len(text)) + text[:len(text)]
		sum = sum[8:]
	}
	return out[len(out)-n:]
}

func areDigits(s string) bool {
	return strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
