package suggest

import (
	"net/netip"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// cluster is the pods that selectors are chosen for.
type cluster struct {
	state       world.State
	pods        map[object.Key]*labelcache.Endpoint
	byNamespace map[string][]*labelcache.Endpoint
	holders     map[netip.Addr]int // how many pods have an address
	existing    map[string]bool    // names of policies, as namespace/name
	taken       map[string]bool    // the same, with those of suggested ones
}
