package kube

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// mirror holds the objects of one kind as the API has them. It does what an informer of client-go does, without the queue and the three
// goroutines between the watch and the handler: the goroutine that reads the watch stores each object and calls the handler.
// Reading is safe for concurrent use.
type mirror struct {
	cache.Store

	transform cache.TransformFunc
	handler   cache.ResourceEventHandler // must not block
	first     sync.Once
	synced    chan struct{} // closed once every object of the first list has been handled
}

func newMirror(transform cache.TransformFunc, handler cache.ResourceEventHandler) *mirror {
	return &mirror{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), transform: transform, handler: handler, synced: make(chan struct{})}
}

// hasSynced reports whether synced is closed.
func (m *mirror) hasSynced() bool {
	select {
	case <-m.synced:
		return true
	default:
		return false
	}
}

// The pauses between attempts to list, those of client-go's informers.
const (
	firstPause   = 800 * time.Millisecond
	longestPause = 30 * time.Second
	calmedAfter  = 2 * time.Minute // without an error, the next pause is a first one
)

// run lists and watches until ctx ends. Each error that ends an attempt is passed to failed.
func (m *mirror) run(ctx context.Context, lw cache.ListerWatcher, example runtime.Object, failed func(error)) {
	reflector := cache.NewReflectorWithOptions(lw, example, m, cache.ReflectorOptions{})
	pauses := wait.Backoff{
		Duration: firstPause, Cap: longestPause, Steps: int(math.Ceil(float64(longestPause) / float64(firstPause))), Factor: 2, Jitter: 1,
	}
	_ = pauses.DelayWithReset(clock.RealClock{}, calmedAfter).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			failed(err)
		}
		return false, nil
	}) // the error is that of ctx
}

// Transformer implements cache.TransformingStore: a list that is streamed is kept in its transformed form.
func (m *mirror) Transformer() cache.TransformFunc { return m.transform }

// Add implements cache.ReflectorStore.
func (m *mirror) Add(o any) error { return m.put(o, false) }

// Update implements cache.ReflectorStore.
func (m *mirror) Update(o any) error { return m.put(o, false) }

// put stores an object and handles it.
func (m *mirror) put(o any, listed bool) error {
	o, err := m.transform(o)
	if err != nil {
		return fmt.Errorf("transform: %w", err)
	}
	before, found, err := m.Get(o)
	if err != nil {
		return err
	}
	if err := m.Store.Update(o); err != nil {
		return err
	}
	if !found {
		m.handler.OnAdd(o, listed)
		return nil
	}
	m.handler.OnUpdate(before, o)
	return nil
}

// Delete implements cache.ReflectorStore. An object that a list lacked is handled as well: it was there until now.
func (m *mirror) Delete(o any) error {
	o, err := m.transform(o)
	if err != nil {
		return fmt.Errorf("transform: %w", err)
	}
	if err := m.Store.Delete(o); err != nil {
		return err
	}
	m.handler.OnDelete(o)
	return nil
}

// Replace implements cache.ReflectorStore: list is all objects there are. Those that are not in it went while nothing was watched.
func (m *mirror) Replace(list []any, _ string) error {
	var gone map[string]bool
	if keys := m.ListKeys(); len(keys) > 0 {
		gone = make(map[string]bool, len(keys))
		for _, key := range keys {
			gone[key] = true
		}
	}
	var errs []error
	for i, o := range list {
		list[i] = nil // of a large list, what was transformed is no longer needed
		if item, ok := o.(*keptItem); ok {
			o = item.kept
		}
		key, err := cache.MetaNamespaceKeyFunc(o)
		if err == nil {
			delete(gone, key)
			err = m.put(o, true)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for key := range gone {
		before, found, err := m.GetByKey(key)
		if err != nil || !found {
			continue
		}
		if err := m.Store.Delete(before); err != nil {
			return err
		}
		m.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: before})
	}
	m.first.Do(func() { close(m.synced) })
	return nil
}
