package httpcall

import (
	"context"
	"sync"
)

// Login keeps the result of the last login. It is safe for concurrent use.
type Login[T any] struct {
	turn Turns // of one, for a login

	mu  sync.Mutex
	now Result[T]
}

// Result is the result of a login; the zero value is that of none.
type Result[T any] struct {
	Value  T
	Number int // of logins so far
}

// NewLogin is before the first login.
func NewLogin[T any]() *Login[T] { return &Login[T]{turn: NewTurns(1)} }

// Current returns the result of the last login.
func (l *Login[T]) Current() Result[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Renew logs in, unless another caller did so since old, and returns the current result. An error of login changes nothing.
func (l *Login[T]) Renew(ctx context.Context, old Result[T], login func(context.Context) (T, error)) (Result[T], error) {
	done, err := l.turn.Wait(ctx)
	if err != nil {
		return Result[T]{}, err
	}
	defer done()
	if now := l.Current(); now.Number != old.Number {
		return now, nil
	}
	value, err := login(ctx)
	if err != nil {
		return Result[T]{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = Result[T]{Value: value, Number: l.now.Number + 1}
	return l.now, nil
}
