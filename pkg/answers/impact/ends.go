package impact

import (
	"net/netip"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

func endpointsOf(v labelcache.View) map[object.Key]*labelcache.Endpoint {
	out := map[object.Key]*labelcache.Endpoint{}
	for e := range v.Endpoints() {
		out[e.Key] = e
	}
	return out
}

// assignedIn reports whether a pod of either state has an address.
func assignedIn(states ...map[object.Key]*labelcache.Endpoint) func(netip.Addr) bool {
	held := map[netip.Addr]bool{}
	for _, s := range states {
		for _, e := range s {
			for _, a := range e.Addrs {
				held[a] = true
			}
		}
	}
	return func(a netip.Addr) bool { return held[a] }
}
