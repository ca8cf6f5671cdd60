package daemon

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/pkg/watch"
)

// refusals remember what the API does not let netloom do at present, for people. The zero value is ready, and nil remembers
// nothing.
type refusals struct {
	mu  sync.Mutex
	not map[string]refusal // by what was asked for
}

// refusal is an answer that said no. It is forgotten at a time; the zero time is never.
type refusal struct {
	answer string
	until  time.Time
}

// note takes in what became of a request. Any answer but a refusal shows that the right is there.
func (r *refusals) note(what string, err error) { r.noteUntil(time.Time{}, what, err) }

// noteUntil is like note, and forgets a refusal at a time, for what may be asked no more without anybody telling.
func (r *refusals) noteUntil(until time.Time, what string, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case apierrors.IsForbidden(err):
		if r.not == nil {
			r.not = map[string]refusal{}
		}
		r.not[what] = refusal{err.Error(), until}
	case err == nil || apierrors.ReasonForError(err) != "":
		delete(r.not, what)
	}
}

// forget drops what needs not be done any more.
func (r *refusals) forget(all ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, what := range all {
		delete(r.not, what)
	}
}

// degraded says what is refused, a line for each.
func (r *refusals) degraded() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.not, func(_ string, not refusal) bool { return !not.until.IsZero() && !time.Now().Before(not.until) })
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(r.not)) {
		lines = append(lines, "degraded: when it last tried, netloom was not allowed to "+what+": "+r.not[what].answer)
	}
	return lines
}

// eventSink notes whether Events may be made.
type eventSink struct {
	record.EventSink
	refused *refusals
}

// Create makes an Event.
func (s *eventSink) Create(e *corev1.Event) (*corev1.Event, error) {
	made, err := s.EventSink.Create(e)
	s.refused.note("create events", err)
	return made, err
}

// Patch counts an Event up.
func (s *eventSink) Patch(e *corev1.Event, data []byte) (*corev1.Event, error) {
	made, err := s.EventSink.Patch(e, data)
	s.refused.note("patch events", err)
	return made, err
}

// secretSource notes whether Secrets may be read, by namespace, as rights may be given for some. A refusal is forgotten when
// nothing of the namespace has been asked for in a while: its CNFs may be gone.
type secretSource struct {
	watch.Secrets
	refused *refusals
	while   time.Duration
}

// secretsWhile is for how long a refusal stands when CNFs are read back in this interval: what they name is read each time.
func secretsWhile(interval time.Duration) time.Duration {
	return max(3*cmp.Or(interval, DefaultSDWANInterval), time.Minute)
}

// Secret reads one.
func (s *secretSource) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	data, err := s.Secrets.Secret(ctx, namespace, name)
	what := "get secrets in " + namespace
	if watch.IsSecretMissing(err) {
		s.refused.forget(what)
	}
	s.refused.noteUntil(time.Now().Add(s.while), what, err)
	return data, err
}
