package sdwan

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// NoteRefusals records in refused whether Secrets may be read, by namespace, because permission may be given for some. A
// refusal expires if no Secret of the namespace is requested for a while: its CNFs may be gone. Devices are read back at
// the given interval, and what they refer to is read each time; 0 means the default.
func NoteRefusals(secrets source.Secrets, refused *feedback.Refusals, interval time.Duration) source.Secrets {
	return &notedSecrets{secrets, refused, max(3*cmp.Or(interval, DefaultInterval), time.Minute)}
}

type notedSecrets struct {
	source.Secrets
	refused *feedback.Refusals
	expiry  time.Duration
}

// Secret reads a Secret.
func (s *notedSecrets) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	data, err := s.Secrets.Secret(ctx, namespace, name)
	request := "get secrets in " + namespace
	if errors.Is(err, source.ErrNoSecret) {
		s.refused.Forget(request)
	}
	s.refused.NoteUntil(time.Now().Add(s.expiry), request, err)
	return data, err
}
