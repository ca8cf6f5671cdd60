package daemon

import (
	"sync"

	"github.com/netloom/netloom/translator"
)

// tasks are what others want done with the translator, which one goroutine may touch.
type tasks struct {
	wake chan struct{} // of size 1

	mu   sync.Mutex
	list []func(*translator.Translator)
}

func newTasks() *tasks { return &tasks{wake: make(chan struct{}, 1)} }

// add takes f in and rings.
func (t *tasks) add(f func(*translator.Translator)) {
	t.mu.Lock()
	t.list = append(t.list, f)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run does what was added so far, in order.
func (t *tasks) run(with *translator.Translator) {
	t.mu.Lock()
	list := t.list
	t.list = nil
	t.mu.Unlock()
	for _, f := range list {
		f(with)
	}
}

// Do has f called with the translator, by the pipeline's goroutine, and a snapshot made of what f did. It does not wait for
// that. Anybody may call it at any time.
func (p *Pipeline) Do(f func(*translator.Translator)) { p.tasks.add(f) }
