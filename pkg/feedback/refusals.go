package feedback

import (
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refusals are the requests that the API forbade when they were last tried. The zero value is ready to use; nil records
// nothing.
type Refusals struct {
	mu  sync.Mutex
	not map[string]refusal // by request
}

// refusal is an answer that forbade a request. It expires at a time; zero means never.
type refusal struct {
	answer  string
	expires time.Time
}

// Note records the result of a request. Any response but a refusal shows that the permission exists.
func (r *Refusals) Note(request string, err error) { r.NoteUntil(time.Time{}, request, err) }

// NoteUntil is like Note, with a refusal that expires, for requests that may never be repeated.
func (r *Refusals) NoteUntil(expires time.Time, request string, err error) {
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
		r.not[request] = refusal{err.Error(), expires}
	case err == nil || apierrors.ReasonForError(err) != "":
		delete(r.not, request)
	}
}

// Forget drops requests that are not needed any more.
func (r *Refusals) Forget(requests ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range requests {
		delete(r.not, request)
	}
}

// Degraded lists what is forbidden, a line for each request.
func (r *Refusals) Degraded() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.not, func(_ string, not refusal) bool { return !not.expires.IsZero() && !time.Now().Before(not.expires) })
	var lines []string
	for _, request := range slices.Sorted(maps.Keys(r.not)) {
		lines = append(lines, "degraded: when it last tried, netloom was not allowed to "+request+": "+r.not[request].answer)
	}
	return lines
}
