package webhook

import (
	"crypto/tls"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/serve/webhook/bucket"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
)

// Mode is what a finding leads to. The zero value is Off.
type Mode string

// The modes.
const (
	Off  Mode = ""     // it is not checked
	Warn Mode = "warn" // the user gets a warning
	Deny Mode = "deny" // the change is refused, unless it was as bad before
)

// Options configures which reviews are answered, and how.
type Options struct {
	Listen       string // where reviews are answered, over TLS
	HealthListen string // where health and metrics are served; "" serves none
	// Certificate is called at every handshake, and by /readyz.
	Certificate func() (*tls.Certificate, error)
	// Trouble returns what is wrong with the certificate even if one is served; nil reports nothing.
	Trouble func() error
	// ShutdownDelay is how long reviews are still answered after ctx of Run has ended, so that the API server learns of it
	// before the server is gone.
	ShutdownDelay time.Duration

	Bucket bucket.Policy              // who may write what; exempt users are not checked at all
	Checks map[consistency.Check]Mode // a check that is not in it is off
	Advice *lint.Costs                // nil gives none, and reads no pods
	Gate   corev1.PodConditionType    // the readiness gate that pods get at PathGate; "" gives them none
}
