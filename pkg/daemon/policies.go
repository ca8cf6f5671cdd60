package daemon

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/policy"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Feedback configures how policies and Services are reported on. The zero value reports nothing.
type Feedback struct {
	PolicyStatus bool // writes a PolicyStatus for each NetworkPolicy, and conditions of cluster-wide policies
	Events       bool // makes Events of policies and Services
	Readiness    Readiness

	Dynamic  dynamic.Interface    // writes PolicyStatus objects; New makes one if it reads from an API
	Recorder record.EventRecorder // New makes one if it reads from an API

	endEvents func()             // ends what New made for Recorder; nil if it made nothing
	refused   *feedback.Refusals // of Recorder; likewise
}

// clients makes the clients of an API that the options do not have yet.
func (o *Feedback) clients(config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = policy.WriteRate, policy.WriteBurst
	if o.PolicyStatus && o.Dynamic == nil {
		made, err := dynamic.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("connect to Kubernetes: %w", err)
		}
		o.Dynamic = made
	}
	if o.Events && o.Recorder == nil {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("connect to Kubernetes: %w", err)
		}
		o.refused = &feedback.Refusals{}
		o.Recorder, o.endEvents = feedback.NewRecorder(client, o.refused)
	}
	return nil
}

// close ends what was made for feedback.
func (o *Feedback) close() {
	if o.endEvents != nil {
		o.endEvents()
	}
}

// newPolicies makes the controller that reports on policies; nil if nothing is reported.
func newPolicies(d *Daemon) (*policy.Controller, error) {
	opts := &d.opts.Feedback
	if !opts.PolicyStatus && !opts.Events {
		return nil, nil //nolint:nilnil // It is switched off.
	}
	if d.clients != nil {
		if err := opts.clients(d.clients.config); err != nil {
			return nil, err
		}
	}
	if opts.PolicyStatus && opts.Dynamic == nil || opts.Events && opts.Recorder == nil {
		return nil, errors.New("policy-status and policy-events: expected a Kubernetes API to write to, not a directory of manifests")
	}
	settings := policy.Options{
		State: policyState{d}, Cluster: d.opts.Cluster, Node: d.opts.Node, Refused: opts.refused, Metrics: d.metrics, Log: d.log,
		ConfirmInterval: d.opts.ConfirmInterval,
	}
	if opts.PolicyStatus {
		settings.Client = opts.Dynamic
	}
	if opts.Events {
		settings.Events = opts.Recorder
	}
	c := policy.New(settings)
	d.observe = append(d.observe, c.Observer())
	d.coverage.OnChange(c.Covered)
	return c, nil
}

// policyState is the state of the daemon for the policy controller.
type policyState struct{ *Daemon }

// Latest returns the newest snapshot.
func (s policyState) Latest() *intent.Snapshot { return s.pipeline.Latest() }

// Policy returns a policy as last translated.
func (s policyState) Policy(ref object.Ref) (metav1.Object, bool) {
	return s.pipeline.Translator().Policy(ref)
}

// Targets lists the targets as they are now.
func (s policyState) Targets() []policy.Target {
	out := make([]policy.Target, len(s.targets))
	for i, t := range s.targets {
		coverage, _ := s.coverage.Of(t.Name)
		out[i] = policy.Target{Name: t.Name, Status: t.loop.Status(), Missing: coverage.Missing}
		if counter, ok := t.Backend.(backends.RowCounter); ok {
			out[i].Rows = counter.CountRows
		}
	}
	return out
}
