package daemon

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/daemon/pages"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// memoryPause is the time between two returns of memory: each collects all garbage, which takes CPU time.
const memoryPause = time.Minute

// longestStart is after how long a start counts as ended if no target is in sync, as on a standby.
const longestStart = time.Minute

// memoryReturner returns memory to the system after read-backs. A read-back, above all the first, takes several times the memory that
// is needed afterwards, and Go keeps up to twice what is in use. The first also follows the start, most of whose code runs only then.
type memoryReturner struct {
	reconcile.Observers // nil: events that are not overridden are ignored

	free    func()
	garbage *garbage      // of the start
	wake    chan struct{} // of size 1

	mu       sync.Mutex
	readBack map[string]bool // targets that are not in sync yet after a read-back
}

func newMemoryReturner(log logrus.FieldLogger) *memoryReturner {
	free := func() {
		debug.FreeOSMemory()
		if err := pages.Return(); err != nil { // only the memory is larger
			log.WithError(err).Debug("could not return memory")
		}
	}
	return &memoryReturner{free: free, garbage: newGarbage(), wake: make(chan struct{}, 1), readBack: map[string]bool{}}
}

// Planned notes a read-back.
func (m *memoryReturner) Planned(target string, p *backends.Plan, _ time.Duration) {
	if !p.Full {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readBack[target] = true
}

// Converged ends a read-back: its plan has been applied.
func (m *memoryReturner) Converged(target string, _ intent.Revision, _ int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.readBack[target] {
		return
	}
	delete(m.readBack, target)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run has garbage collected less often until a target is in sync, and returns memory after read-backs until ctx ends.
func (m *memoryReturner) run(ctx context.Context) {
	m.garbage.begin()
	defer m.garbage.end()
	tooLong := time.After(longestStart)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tooLong:
			m.garbage.end()
			continue
		case <-m.wake:
		}
		m.garbage.end()
		m.free()
		select {
		case <-ctx.Done():
			return
		case <-time.After(memoryPause):
		}
	}
}
