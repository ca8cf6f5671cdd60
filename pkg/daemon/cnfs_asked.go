package daemon

import (
	"sync"

	"github.com/netloom/netloom/pkg/intent"
)

// unasked remembers which CNFs have neither been asked for anything nor changed by themselves since the process began to
// write. What was said of them before still stands. The zero value knows no CNFs yet: then it is all of them.
type unasked struct {
	mu    sync.Mutex
	known bool
	of    map[intent.CNFID]bool
}

// Begin makes it all CNFs, whichever they are.
func (u *unasked) Begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known, u.of = false, map[intent.CNFID]bool{}
}

// Are says which CNFs there are at the beginning. Whatever comes later is not among them.
func (u *unasked) Are(s *intent.Snapshot) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known {
		return
	}
	u.known = true
	for g := range s.CNFs() {
		u.of[g.ID] = true
	}
}

// Drop takes a CNF out.
func (u *unasked) Drop(id intent.CNFID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, id)
}

// Has says whether a CNF is among them.
func (u *unasked) Has(id intent.CNFID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.known || u.of[id]
}
