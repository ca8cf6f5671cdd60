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

	"github.com/netloom/netloom/pkg/source"
)

var _ source.Secrets = (*Secrets)(nil)

// Secrets reads Secrets from a Kubernetes API, one at a time, which takes no right but to get those. NewSecrets
// makes one.
type Secrets struct {
	client kubernetes.Interface
	ttl    time.Duration

	mu    sync.Mutex
	known map[types.NamespacedName]*secretAnswer
}

// secretAnswer is what the API said of one Secret, or is about to say.
type secretAnswer struct {
	done  chan struct{} // closed when the API has said it
	until time.Time
	data  map[string][]byte
	err   error
}

// isStale says whether the API has to be asked anew. The caller holds the lock.
func (a *secretAnswer) isStale() bool { return !a.until.IsZero() && !time.Now().Before(a.until) }

// NewSecrets makes a reader that asks client for a Secret at most once every ttl, whether there is one or not. An
// answer that is neither is not kept.
func NewSecrets(client kubernetes.Interface, ttl time.Duration) *Secrets {
	return &Secrets{client: client, ttl: ttl, known: map[types.NamespacedName]*secretAnswer{}}
}

// Secret asks the API, or says what the API said lately. Who asks for one while it is being asked for waits for the same
// answer.
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
			continue // it was another caller who had no more time
		}
		return source.CopyData(a.data), a.err
	}
}

// answer is what is known of a Secret, or the place for what will be; mine says that the caller has to ask.
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

// isOver says whether err is that of a context that ended.
func isOver(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
