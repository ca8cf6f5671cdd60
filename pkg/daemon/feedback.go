package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/controller"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/report"
)

// Feedback says what people are told of NetworkPolicies and Services. The zero value tells nothing.
type Feedback struct {
	PolicyStatus bool // writes a PolicyStatus for each NetworkPolicy
	Events       bool // makes Events of NetworkPolicies and Services

	Dynamic  dynamic.Interface    // writes PolicyStatus objects; New makes one where it reads from an API
	Recorder record.EventRecorder // New makes one where it reads from an API

	endEvents func()               // ends what New made for Recorder; nil where it made nothing
	refused   *controller.Refusals // what it may not do; likewise
}

// How many requests for feedback an API gets: so many each second, and so many at once.
const (
	feedbackRate  = 40
	feedbackBurst = 80
)

// clients makes the clients of an API that the options do not have yet.
func (o *Feedback) clients(config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = feedbackRate, feedbackBurst
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
		o.refused = &controller.Refusals{}
		o.Recorder, o.endEvents = controller.NewRecorder(client, o.refused)
	}
	return nil
}

// newFeedback puts together what tells people of policies; nil where nothing is to be told.
func newFeedback(d *Daemon) (*feedback, error) {
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
	book := newBook()
	book.source, book.resting = d.source, true
	if d.opts.Node != "" {
		book.nodes = map[string]bool{}
	}
	book.policyOf = func(key object.Ref) *networkingv1.NetworkPolicy {
		return d.pipeline.Translator().Policy(key.Namespace, key.Name)
	}
	f := &feedback{
		book: book, latest: d.pipeline.Latest, cluster: d.opts.Cluster, node: d.opts.Node,
		events: opts.Recorder, refused: opts.refused, log: d.log,
	}
	if opts.PolicyStatus {
		f.objects = newPolicyObjects(opts.Dynamic, d.opts.Node, d.metrics, book.mark, d.log)
	}
	f.targets = func(began time.Time) []report.Target { return d.reportTargets(began, book) }
	d.observe = append(d.observe, book)
	d.coverage.changed = append(d.coverage.changed, book.covered)
	d.pipeline.OnPublish(func(p pipeline.Published) { book.published(p, p.Problems) })
	return f, nil
}

// run works in group until ctx ends.
func (f *feedback) run(ctx context.Context, group *errgroup.Group) {
	if f == nil {
		return
	}
	group.Go(func() error { return f.Run(ctx) })
	if f.objects != nil {
		group.Go(func() error { return f.objects.Run(ctx) })
	}
}

// degraded says for people what they are not told, and why; a line for each.
func (f *feedback) degraded() []string {
	if f == nil {
		return nil
	}
	lines := f.refused.Degraded()
	if f.objects != nil {
		lines = append(lines, f.objects.degraded()...)
	}
	return lines
}

// close ends what was made for feedback.
func (o *Feedback) close() {
	if o.endEvents != nil {
		o.endEvents()
	}
}

// staleAfter is for how long a target may be in trouble before what it holds is taken for unknown.
const staleAfter = 2 * time.Minute

// reportTargets tells how the targets stand, by what they have done since a time.
func (d *Daemon) reportTargets(began time.Time, b *book) []report.Target {
	var out []report.Target
	for _, t := range d.targets {
		s := t.loop.Status()
		one := report.Target{Name: reportName(t.Name, d.opts.Node)}
		if s.Synced() && !s.LastConverged.Before(began) {
			one.Revision, one.Skips = s.Revision, s.Skips
		}
		if !s.Converged {
			one.Trouble = "it has not answered yet"
			if s.Err != nil {
				one.Trouble = cause.Plain(errors.Unwrap(s.Err))
			}
		}
		if since, ok := b.troubleSince(t.Name, one.Revision == 0, began); ok {
			one.Stale = time.Since(since) >= staleAfter
		}
		coverage, _ := d.coverage.Coverage(t.Name)
		one.Missing = coverage.Missing
		if counter, ok := t.Backend.(backends.RowCounter); ok {
			one.Rows = counter.CountRows
		}
		out = append(out, one)
	}
	return out
}

// reportName is how a target is called in a PolicyStatus.
func reportName(name, node string) string {
	if node == "" {
		return name
	}
	return name + "/" + node
}
