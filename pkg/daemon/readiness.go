package daemon

import (
	"fmt"
	"time"

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/readiness"
)

// Readiness configures which pods become ready. The gate is that of source.Options; the zero value only reports pods that have it.
type Readiness struct {
	Enabled bool          // sets conditions
	Written bool          // does not wait until rows are installed
	Grace   time.Duration // see readiness.Options

	Client metadata.Interface // writes conditions; New makes one if it reads from an API
}

// newReadiness makes the controller that sets the conditions of the readiness gate; nil if no gate is read.
func newReadiness(d *Daemon) (*readiness.Controller, error) {
	opts := &d.opts.Feedback.Readiness
	if d.opts.Read.Gate == "" || d.clients == nil && opts.Client == nil {
		return nil, nil //nolint:nilnil // It is switched off.
	}
	settings := readiness.Options{
		State: readinessState{policyState{d}}, Gate: d.opts.Read.Gate, Cluster: d.opts.Cluster, Node: d.opts.Node, Grace: opts.Grace,
		MaxFraction: d.opts.Reconcile.MaxDeleteFraction, Metrics: d.metrics, Log: d.log,
	}
	if opts.Enabled {
		if err := opts.connect(d.clients.rest()); err != nil {
			return nil, err
		}
		settings.Client = opts.Client
	}
	c := readiness.New(settings)
	d.observe = append(d.observe, c.Observer())
	d.coverage.OnChange(c.Covered)
	return c, nil
}

// connect makes the client of an API, if there is none yet.
func (o *Readiness) connect(config *rest.Config) error {
	if o.Client != nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = readiness.WriteRate, readiness.WriteBurst
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	o.Client = client
	return nil
}

// readinessState is the state of the daemon for the readiness controller.
type readinessState struct{ policyState }

// Targets lists the targets as they are now. An embedded database has no chassis that could report what is installed.
func (s readinessState) Targets() []readiness.Target {
	all := s.policyState.Targets()
	out := make([]readiness.Target, len(all))
	for i := range all {
		out[i].Target = all[i]
		if !s.opts.Feedback.Readiness.Written && s.embedded == nil {
			out[i].Marker, _ = s.targets[i].Backend.(backends.Marker)
		}
	}
	return out
}
