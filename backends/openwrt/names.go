package openwrt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/openwrt"
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

// key identifies an object of the device.
type key struct {
	kind openwrt.Kind
	name string
}

// String formats the key for display.
func (k key) String() string { return k.kind.String() + " " + k.name }

// compare orders keys by kind and name.
func (k key) compare(o key) int {
	if k.kind != o.kind {
		return int(k.kind) - int(o.kind)
	}
	return strings.Compare(k.name, o.name)
}

// space returns the namespace in which names are unique: a package of the device if names are those of sections,
// otherwise the kind.
func (k key) space() string {
	if !k.kind.Named() {
		return k.kind.String()
	}
	return k.module()
}

// module returns the package of the device that the key's kind belongs to. What an object refers to by name is in the
// same package.
func (k key) module() string {
	module, _, _ := strings.Cut(k.kind.String(), "/")
	return module
}

// namer makes the names of an owner's objects on the device. A name depends only on the owner, the kind and the ID.
type namer struct {
	owner string
	mark  string // what every name of the owner begins with: n and four digits of its hash
}

func newNamer(owner string) namer {
	return namer{owner: owner, mark: "n" + digits(ownerDigits, "owner", owner)}
}

// object names the object of kind k for id. Different IDs have different names unless their hashes are equal, which the
// caller has to check. Readable is the human-readable part; it is left out if names must be short.
func (n namer) object(k openwrt.Kind, id, readable string) string {
	if short := kindsByObject()[k].digits; short > 0 {
		return n.mark + digits(short, n.owner, k.String(), id)
	}
	return n.long(digits(idDigits, n.owner, k.String(), id), readable)
}

// connection names a connection of the tunnel for id. Connections share a namespace with remotes and proposals, which hash other words.
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

// mine reports whether an object of kind k has a name that object makes for this owner.
func (n namer) mine(k openwrt.Kind, name string) bool {
	rest, ok := strings.CutPrefix(name, n.mark)
	if !ok {
		return false
	}
	if short := kindsByObject()[k].digits; short > 0 {
		return len(rest) == short && areDigits(rest)
	}
	return len(rest) > idDigits && rest[0] == '_' && areDigits(rest[1:1+idDigits]) &&
		(len(rest) == 1+idDigits || rest[1+idDigits] == '_')
}

// Notes are proposals that nothing refers to and that exist for their names. See the package's documentation.

// pending names the note that something was written for a service that it has not loaded yet.
func (n namer) pending(service string) string { return n.mark + "_pending_" + service }

// seal names the note that the device showed this for a remote after these certificates were written.
func (n namer) seal(remote, written, shown string) string {
	return n.mark + "_seal_" + digits(sealDigits, n.owner, remote, written, shown)
}

// parts names the note that a remote has or had that many files with certificates and keys.
func (n namer) parts(of parts, remote string) string {
	return fmt.Sprintf("%s_parts_%d_%d_%d_%s", n.mark, of[0], of[1], of[2], remote)
}

// partsIn parses the name of such a note.
func (n namer) partsIn(note string) (of parts, remote string, ok bool) {
	rest, ok := strings.CutPrefix(note, n.mark+"_parts_")
	words := strings.SplitN(rest, "_", len(of)+1)
	if !ok || len(words) <= len(of) {
		return parts{}, "", false
	}
	for i := range of {
		count, err := strconv.Atoi(words[i])
		if err != nil || count < 0 {
			return parts{}, "", false
		}
		of[i] = min(count, mostParts)
	}
	return of, words[len(of)], true
}

// note reports whether name is that of a note of the owner.
func (n namer) note(name string) bool {
	return strings.HasPrefix(name, n.mark+"_pending_") || strings.HasPrefix(name, n.mark+"_seal_") ||
		strings.HasPrefix(name, n.mark+"_parts_")
}

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
