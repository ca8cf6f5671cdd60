package daemon

import (
	"sync"

	"github.com/netloom/netloom/pkg/intent"
)

// unasked remembers which gateways have neither been asked for anything nor changed by themselves since the process began to
// write. What was said of them before still stands. The zero value knows no gateways yet: then it is all of them.
type unasked struct {
	mu    sync.Mutex
	known bool
	of    map[intent.GatewayID]bool
}

// Begin makes it all gateways, whichever they are.
func (u *unasked) Begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known, u.of = false, map[intent.GatewayID]bool{}
}

// Are says which gateways there are at the beginning. Whatever comes later is not among them.
func (u *unasked) Are(s *intent.Snapshot) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known {
		return
	}
	u.known = true
	for g := range s.Gateways() {
		u.of[g.ID] = true
	}
}

// Drop takes a gateway out.
func (u *unasked) Drop(id intent.GatewayID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, id)
}

// Has says whether a gateway is among them.
func (u *unasked) Has(id intent.GatewayID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.known || u.of[id]
}
