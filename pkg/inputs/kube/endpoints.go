package kube

import (
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// adapter keeps the slices made of the Endpoints of a Kubernetes API.
type adapter struct {
	mu     sync.RWMutex
	slices map[object.Ref]*discoveryv1.EndpointSlice
	made   map[string][]object.Ref // of each Endpoints, by its key in the store
}

func newAdapter() *adapter {
	return &adapter{slices: map[object.Ref]*discoveryv1.EndpointSlice{}, made: map[string][]object.Ref{}}
}

// get returns the slice of that name.
func (a *adapter) get(ref object.Ref) (*discoveryv1.EndpointSlice, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	s, ok := a.slices[ref]
	return s, ok
}

// put replaces the slices of the Endpoints called key and returns those that appeared, changed or went.
func (a *adapter) put(key string, now []*discoveryv1.EndpointSlice) []object.Ref {
	a.mu.Lock()
	defer a.mu.Unlock()
	var dirty, made []object.Ref
	stays := map[object.Ref]bool{}
	for _, s := range now {
		ref := source.SliceRef(s)
		stays[ref] = true
		made = append(made, ref)
		if was, ok := a.slices[ref]; !ok || !source.Equal(was, s) {
			a.slices[ref] = s
			dirty = append(dirty, ref)
		}
	}
	for _, ref := range a.made[key] {
		if !stays[ref] {
			delete(a.slices, ref)
			dirty = append(dirty, ref)
		}
	}
	if a.made[key] = made; len(made) == 0 {
		delete(a.made, key)
	}
	return dirty
}

// handler keeps the slices in sync with the Endpoints and marks those that change. Slices that go while their
// Endpoints still exist count as deleted.
func (a *adapter) handler(mark, markDeleted func(...object.Ref)) cache.ResourceEventHandler {
	put := func(o any) {
		if e, ok := o.(*source.Endpoints); ok {
			markDeleted(a.put(e.Namespace+"/"+e.Name, source.SlicesOf(e))...)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, after any) { put(after) },
		DeleteFunc: func(o any) {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
			if err != nil {
				return
			}
			went := markDeleted
			if _, missing := o.(cache.DeletedFinalStateUnknown); missing {
				went = mark
			}
			went(a.put(key, nil)...)
		},
	}
}
