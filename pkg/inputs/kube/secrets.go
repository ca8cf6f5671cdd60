package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/inputs/source"
)

var _ source.Secrets = (*Secrets)(nil)

// Secrets reads Secrets from a Kubernetes API, one at a time, which requires only permission to get those. NewSecrets makes
// one.
type Secrets struct {
	client kubernetes.Interface
	ttl    time.Duration

	mu    sync.Mutex
	known map[types.NamespacedName]*secretAnswer
}

// secretAnswer is the answer of the API for one Secret, possibly pending.
type secretAnswer struct {
	done  chan struct{} // closed when the answer is there
	until time.Time
	data  map[string][]byte
	err   error
}

// isStale reports whether the API has to be asked again. The caller holds the lock.
func (a *secretAnswer) isStale() bool { return !a.until.IsZero() && !time.Now().Before(a.until) }

// NewSecrets makes a reader that requests each Secret from client at most once every ttl, whether it exists or not. Other
// errors are not cached.
func NewSecrets(client kubernetes.Interface, ttl time.Duration) *Secrets {
	return &Secrets{client: client, ttl: ttl, known: map[types.NamespacedName]*secretAnswer{}}
}

// Secret requests a Secret from the API, or returns a recent answer. A second caller for a pending Secret waits for the
// same answer.
func (r *Secrets) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	for {
		a, mine := r.answer(key)
		if mine {
			r.ask(ctx, key, a)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("read Secret %s: %w", key, ctx.Err())
		case <-a.done:
		}
		if !mine && isOver(a.err) && ctx.Err() == nil {
			continue // another caller ran out of time
		}
		return source.CopyData(a.data), a.err
	}
}

// answer returns what is known of a Secret, or a new pending answer; if mine is true, the caller has to fill it in.
func (r *Secrets) answer(key types.NamespacedName) (a *secretAnswer, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a = r.known[key]; a != nil && !a.isStale() {
		return a, false
	}
	maps.DeleteFunc(r.known, func(_ types.NamespacedName, old *secretAnswer) bool { return old.isStale() })
	a = &secretAnswer{done: make(chan struct{})}
	r.known[key] = a
	return a, true
}

// ask fills a in.
func (r *Secrets) ask(ctx context.Context, key types.NamespacedName, a *secretAnswer) {
	s, err := r.client.CoreV1().Secrets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(a.done)
	a.until = time.Now().Add(r.ttl)
	switch {
	case err == nil:
		a.data = s.Data
	case apierrors.IsNotFound(err):
		a.err = fmt.Errorf("read Secret %s: %w", key, source.ErrNoSecret)
	default:
		a.err = fmt.Errorf("read Secret %s: %w", key, err)
		delete(r.known, key)
	}
}

// isOver reports whether err comes from a context that ended.
func isOver(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
