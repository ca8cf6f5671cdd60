package daemon

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/netloom/netloom/pkg/controller"
	"github.com/netloom/netloom/pkg/source"
)

// secretSource notes whether Secrets may be read, by namespace, as rights may be given for some. A refusal is forgotten when
// nothing of the namespace has been requested in a while: its CNFs may be gone.
type secretSource struct {
	source.Secrets
	refused *controller.Refusals
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
	if errors.Is(err, source.ErrNoSecret) {
		s.refused.Forget(what)
	}
	s.refused.NoteUntil(time.Now().Add(s.while), what, err)
	return data, err
}
