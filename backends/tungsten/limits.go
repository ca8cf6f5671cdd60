package tungsten

import (
	"strings"

	"github.com/netloom/netloom/pkg/tungsten"
)

// A controller has 32,768 IDs for the tags of a type. Once it has refused one, no other tag of the type is asked for: what needs it is
// denied. The policy set of ingress notes the type, so that a restarted process knows it. Each read-back but the first tries one tag
// again, and so does a plan after one that deleted a tag of the type.

const (
	noTag         = "the controller has no tag IDs left"
	isolatedTitle = "endpoints that NetworkPolicies isolate for "
)

// limits is which tags cannot be created. The zero value is none.
type limits struct {
	full   map[string]bool // types of tags that no ID is left for
	exists map[string]*tungsten.Object
}

// refuses reports whether a tag does not exist and cannot be created.
func (l limits) refuses(names namer, tag string) bool {
	return l.full[typeOf(tag)] && l.exists[names.uuid(tungsten.KindTag, tag)] == nil
}

func typeOf(tag string) string {
	kind, _, _ := strings.Cut(tag, "=")
	return kind
}

// maxOrdered is how many rules of one ordered stage a policy may refer to: its references are replaced by one request, whose size
// the server limits to about 1 MB.
const maxOrdered = 4000

// maxRaised is how many rules may take the place of those that pass, see intent.Lowering.
const maxRaised = maxOrdered / 2

// maxPrefixes is how many prefixes fit into a request.
const maxPrefixes = 15_000
