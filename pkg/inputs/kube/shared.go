package kube

import (
	"runtime"
	"sync"
	"weak"
)

// shared holds values that many objects have in common: one of each, for as long as some object refers to it. It is safe for
// concurrent use.
type shared[T any] struct {
	mu    sync.Mutex
	byKey map[string]weak.Pointer[T]
}

func newShared[T any]() *shared[T] { return &shared[T]{byKey: map[string]weak.Pointer[T]{}} }

// get returns the value of a key, which is the result of create if no object refers to one.
func (s *shared[T]) get(key string, create func() *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.byKey[key].Value(); v != nil {
		return v
	}
	v := create()
	s.byKey[key] = weak.Make(v)
	runtime.AddCleanup(v, s.forget, key)
	return v
}

// forget removes a key whose value is gone, unless there is another by now.
func (s *shared[T]) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key].Value() == nil {
		delete(s.byKey, key)
	}
}
