package daemon

import (
	"time"

	"github.com/netloom/netloom/pkg/watch"
)

// Refusals are what the API does not let a daemon do.
type Refusals = refusals

// Note takes in what became of a request.
func (r *refusals) Note(what string, err error) { r.note(what, err) }

// Degraded says what is refused.
func (r *refusals) Degraded() []string { return r.degraded() }

// NotingSecrets notes in r whether secrets may be read when CNFs are read back in this interval.
func NotingSecrets(secrets watch.Secrets, r *Refusals, interval time.Duration) watch.Secrets {
	return &secretSource{secrets, r, secretsWhile(interval)}
}
