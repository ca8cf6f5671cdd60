package section

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/openwrt"
)

// Namer makes the names of an owner's objects on the device. A name depends only on the owner, the kind and the ID.
type Namer struct {
	owner string
	Mark  string // what every name of the owner begins with: n and four digits of its hash
}

// NewNamer returns the namer of an owner, see openwrt.Options.
func NewNamer(owner string) Namer {
	return Namer{owner: owner, Mark: "n" + digits(ownerDigits, "owner", owner)}
}

// Object names the object of kind k for id. Different IDs have different names unless their hashes are equal, which the
// caller has to check. Readable is the human-readable part; it is left out if names must be short.
func (n Namer) Object(k openwrt.Kind, id, readable string) string {
	if short := kinds()[k].digits; short > 0 {
		return n.Mark + digits(short, n.owner, k.String(), id)
	}
	return n.long(digits(idDigits, n.owner, k.String(), id), readable)
}

// Connection names a connection of the tunnel for id. Connections share a namespace with remotes and proposals, which hash other words.
func (n Namer) Connection(id, name string) string {
	return n.long(digits(idDigits, n.owner, "connection", id, name), name)
}

func (n Namer) long(hash, readable string) string {
	name := n.Mark + "_" + hash
	if readable = word(readable); readable != "" {
		name += "_" + readable
	}
	return name
}

// Mine reports whether an object of kind k has a name that Object makes for this owner.
func (n Namer) Mine(k openwrt.Kind, name string) bool {
	rest, ok := strings.CutPrefix(name, n.Mark)
	if !ok {
		return false
	}
	if short := kinds()[k].digits; short > 0 {
		return len(rest) == short && areDigits(rest)
	}
	return len(rest) > idDigits && rest[0] == '_' && areDigits(rest[1:1+idDigits]) &&
		(len(rest) == 1+idDigits || rest[1+idDigits] == '_')
}

// Notes are proposals that nothing refers to and that exist for their names. See the backend's documentation.

// Pending names the note that something was written for a service that it has not loaded yet.
func (n Namer) Pending(service string) string { return n.Mark + "_pending_" + service }

// Seal names the note that the device showed this for a remote after these certificates were written.
func (n Namer) Seal(remote, written, shown string) string {
	return n.Mark + "_seal_" + digits(sealDigits, n.owner, remote, written, shown)
}

// Parts names the note that a remote has or had that many files with certificates and keys.
func (n Namer) Parts(of Parts, remote string) string {
	return fmt.Sprintf("%s_parts_%d_%d_%d_%s", n.Mark, of[0], of[1], of[2], remote)
}

// PartsIn parses the name of such a note.
func (n Namer) PartsIn(note string) (of Parts, remote string, ok bool) {
	rest, ok := strings.CutPrefix(note, n.Mark+"_parts_")
	words := strings.SplitN(rest, "_", len(of)+1)
	if !ok || len(words) <= len(of) {
		return Parts{}, "", false
	}
	for i := range of {
		count, err := strconv.Atoi(words[i])
		if err != nil || count < 0 {
			return Parts{}, "", false
		}
		of[i] = min(count, MostParts)
	}
	return of, words[len(of)], true
}

// Note reports whether name is that of a note of the owner.
func (n Namer) Note(name string) bool {
	return strings.HasPrefix(name, n.Mark+"_pending_") || strings.HasPrefix(name, n.Mark+"_seal_") ||
		strings.HasPrefix(name, n.Mark+"_parts_")
}

// IsZoneName reports whether Object makes such a name for a zone of some owner.
func IsZoneName(name string) bool {
	return len(name) == 1+ownerDigits+zoneDigits && name[0] == 'n' && areDigits(name)
}
