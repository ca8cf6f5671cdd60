package daemon

import (
	"time"

	"github.com/netloom/netloom/pkg/controller"
	"github.com/netloom/netloom/pkg/source"
)

// NotingSecrets notes in r whether secrets may be read when CNFs are read back in this interval.
func NotingSecrets(secrets source.Secrets, r *controller.Refusals, interval time.Duration) source.Secrets {
	return &secretSource{secrets, r, secretsWhile(interval)}
}
