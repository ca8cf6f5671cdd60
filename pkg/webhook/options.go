package webhook

import (
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

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

// ParseMode reads a Mode: off, warn or deny.
func ParseMode(text string) (Mode, error) {
	switch text {
	case "off":
		return Off, nil
	case string(Warn), string(Deny):
		return Mode(text), nil
	default:
		return Off, fmt.Errorf("%q: expected deny, warn or off", text)
	}
}

// Options say what is judged, and how.
type Options struct {
	Listen       string // where reviews are answered, over TLS
	HealthListen string // where health and metrics are served; "" serves none
	// Certificate is asked at every handshake, and by /readyz.
	Certificate func() (*tls.Certificate, error)
	// ShutdownDelay is how long reviews are still answered after Run was told to stop, so that the API server hears of it
	// before there is nobody to ask.
	ShutdownDelay time.Duration

	Bucket bucket.Policy              // who may write what; those whom it exempts, nothing is checked of
	Checks map[consistency.Check]Mode // what is not in it is off
	Advice *advice.Options            // nil gives none, and reads no pods
}

// Clients are connections to the API whose reviews are answered.
type Clients struct {
	Kubernetes kubernetes.Interface
	Dynamic    dynamic.Interface
	Metadata   metadata.Interface
}
