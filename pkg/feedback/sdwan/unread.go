package sdwan

import (
	"sync"

	"github.com/netloom/netloom/pkg/intent"
)

// unread is the set of CNFs that have neither been read nor changed by themselves since this process became the writer:
// what was reported on them before is still true. The zero value does not know the CNFs yet, and contains them all.
type unread struct {
	mu    sync.Mutex
	known bool
	of    map[intent.CNFID]bool
}

// Reset makes it contain all CNFs, whichever they are.
func (u *unread) Reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known, u.of = false, map[intent.CNFID]bool{}
}

// Begin sets which CNFs exist, the first time after a reset. CNFs that appear later are not in the set.
func (u *unread) Begin(s *intent.Snapshot) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known {
		return
	}
	u.known = true
	for c := range s.CNFs() {
		u.of[c.ID] = true
	}
}

// Remove removes a CNF.
func (u *unread) Remove(id intent.CNFID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, id)
}

// Has reports whether a CNF is in the set.
func (u *unread) Has(id intent.CNFID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.known || u.of[id]
}
