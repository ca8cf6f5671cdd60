package webhook

import (
	"crypto/tls"
	"time"

	"github.com/netloom/netloom/pkg/webhook/advice"
	"github.com/netloom/netloom/pkg/webhook/bucket"
	"github.com/netloom/netloom/pkg/webhook/consistency"
)

// Mode is what becomes of a finding. The zero value is Off.
type Mode string

// The modes.
const (
	Off  Mode = ""     // nobody looks
	Warn Mode = "warn" // whoever makes the change is told
	Deny Mode = "deny" // the change is refused, unless it was as bad before
)

// Options say what is judged, and how.
type Options struct {
	Listen       string // where reviews are answered, over TLS
	HealthListen string // where health and metrics are served; "" serves none
	// Certificate is asked at every handshake, and by /readyz.
	Certificate func() (*tls.Certificate, error)
	// Trouble says what is wrong with the certificate though one may be served, for people; nil has nothing to say.
	Trouble func() error
	// ShutdownDelay is how long reviews are still answered after Run was told to stop, so that the API server hears of it
	// before there is nobody to ask.
	ShutdownDelay time.Duration

	Bucket bucket.Policy              // who may write what; those whom it exempts, nothing is checked of
	Checks map[consistency.Check]Mode // what is not in it is off
	Advice *advice.Options            // nil gives none, and reads no pods
}
