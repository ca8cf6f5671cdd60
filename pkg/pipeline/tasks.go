package pipeline

import (
	"sync"

	"github.com/netloom/netloom/translator"
)

// tasks are functions to call with the translator, which only one goroutine may use.
type tasks struct {
	wake chan struct{} // of size 1

	mu   sync.Mutex
	list []func(*translator.Translator)
}

func newTasks() *tasks { return &tasks{wake: make(chan struct{}, 1)} }

// add appends f and wakes the pipeline.
func (t *tasks) add(f func(*translator.Translator)) {
	t.mu.Lock()
	t.list = append(t.list, f)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run calls the functions added so far, in order.
func (t *tasks) run(with *translator.Translator) {
	t.mu.Lock()
	list := t.list
	t.list = nil
	t.mu.Unlock()
	for _, f := range list {
		f(with)
	}
}

// Do arranges for f to be called with the translator, by the pipeline's goroutine, before a new snapshot is made. It does
// not wait for that, and is safe for concurrent use.
func (p *Pipeline) Do(f func(*translator.Translator)) { p.tasks.add(f) }
