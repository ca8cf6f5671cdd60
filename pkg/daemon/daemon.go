package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/policy"
	"github.com/netloom/netloom/pkg/feedback/readiness"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/feedback/target"
	"github.com/netloom/netloom/pkg/inputs/clusters"
	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve"
	resources "github.com/netloom/netloom/translator/sdwan"
)

// Daemon keeps targets in sync with a source. Make it with New.
type Daemon struct {
	opts     Options
	log      logrus.FieldLogger
	source   source.Source
	pipeline *pipeline.Pipeline
	others   *clusters.Set // nil if there is one cluster
	metrics  *metrics.Metrics
	embedded *Embedded
	fabric   *EmbeddedController
	targets  []*running
	observe  reconcile.Observers
	memory   *memoryReturner
	coverage *target.Coverage      // of one of them
	page     *page                 // nil if no web page is served
	resolver *resolver.Resolver    // of the DNS names in objects
	sdwan    *sdwan.Controller     // nil if it is switched off
	clients  *clients              // nil if nothing is read from a Kubernetes API
	webhook  *admission            // nil if no admission reviews are answered
	policies *policy.Controller    // nil if policies are not reported on
	ready    *readiness.Controller // nil if no readiness gate is read
	prover   source.Prover         // confirms what the source holds; nil if it cannot
	started  time.Time             // when the daemon was made
	beyond   *beyond               // nil if what the source does not deliver is not looked for
	unlisted func(string) bool     // reports whether a kind has not been listed since the start; nil if all are
	door     *serve.Door           // accepts requests
	election *election.Election    // nil if this is the only instance that writes

	watchers []func(pipeline.Published)      // see OnPublish
	staged   atomic.Pointer[intent.Snapshot] // the last snapshot that has been through all stages: targets get this one
	keptMu   sync.Mutex
	reported retention.Kept // the last kept objects that were logged
}

// running is a target with its loop.
type running struct {
	*builtin.Target
	loop  *reconcile.Loop
	fence *election.Fence // nil if it writes unfenced
}

// New makes a daemon. Nothing is read or written before Run; Close has to be called.
func New(opts Options, log logrus.FieldLogger) (*Daemon, error) {
	if _, err := resources.ParseServiceRules(opts.SDWAN.ServiceRules); err != nil {
		return nil, fmt.Errorf("service rules %w", err)
	}
	read, clients, err := newSource(&opts, log)
	if err != nil {
		return nil, err
	}
	var unlisted func(string) bool
	if lister, ok := read.(interface{ Unlisted(kind string) bool }); ok {
		unlisted = lister.Unlisted
	}
	prover, _ := read.(source.Prover)
	found := read
	read = retention.NewSource(read, retention.Options{
		Fraction: opts.Reconcile.MaxDeleteFraction, Least: cmp.Or(opts.Reconcile.MinDeleteGuard, reconcile.DefaultMinDeleteGuard),
	})
	d := &Daemon{opts: opts, log: log, source: read, clients: clients, metrics: metrics.New(), prover: prover, started: time.Now(), unlisted: unlisted}
	d.pipeline = pipeline.New(read, opts.translation(), log)
	if d.others, err = newOthers(&opts, log); err != nil {
		return nil, err
	}
	if d.others != nil {
		d.pipeline.Join(d.others)
		d.metrics.OtherClusters(d.otherClusters)
	}
	d.resolver = resolver.New(opts.Resolver, d.pipeline, d.metrics, log)
	d.coverage = target.NewCoverage(d.metrics, log)
	d.memory = newMemoryReturner(log)
	d.observe = reconcile.Observers{d.metrics, d.coverage, &keptObserver{report: d.reportKept}, d.memory, &sliceObserver{nudge: d.pipeline.Nudge}}
	d.pipeline.Follow(d.follows)
	d.pipeline.KeptInTargets(d.keptInTargets)
	d.pipeline.OnPublish(d.publish)
	d.metrics.Unenforced(d.unenforced)
	d.metrics.Views(d.confirmations)
	if clients != nil {
		clients.wentBack = d.wentBack
	}
	d.metrics.Kept(func() map[string]int { return d.kept().ByKind() })
	if d.door, err = serve.New(opts.Serving, clients.rest(), d.metrics.Judged, log); err != nil {
		return nil, err
	}
	if opts.UIListen != "" {
		if d.page, err = newPage(d); err != nil {
			return nil, err
		}
	}
	d.beyond = newBeyond(d, found)
	if err := d.embed(); err != nil {
		d.Close()
		return nil, err
	}
	if err := d.admit(); err != nil {
		d.Close()
		return nil, err
	}
	if opts.SDWAN.Enabled {
		d.sdwan = newSDWAN(d)
	}
	if err := d.elect(); err != nil {
		d.Close()
		return nil, err
	}
	d.opts.Target.Log = log
	targets, err := builtin.Configured(d.opts.Target)
	if errors.Is(err, builtin.ErrNoTarget) && opts.SDWAN.Enabled {
		return d, nil // there are only CNFs
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	for _, target := range targets {
		d.add(target)
	}
	if d.policies, err = newPolicies(d); err != nil {
		d.Close()
		return nil, err
	}
	if d.ready, err = newReadiness(d); err != nil {
		d.Close()
		return nil, err
	}
	if gated, ok := found.(source.Gated); ok && d.ready != nil {
		gated.OnCondition(d.ready.Conditioned)
	}
	return d, nil
}

// add gives a target its loop.
func (d *Daemon) add(target *builtin.Target) {
	t := &running{Target: target}
	opts := d.loopOptions()
	opts.Target, opts.Log, opts.Observer = target.Name, d.log, &d.observe
	if t.fence = d.fence(t); t.fence != nil {
		opts.Observer = reconcile.Observers{&d.observe, t.fence}
	}
	t.loop = reconcile.New(target.Backend, d.staged.Load, opts)
	if d.election == nil {
		d.metrics.Target(target.Name)
		if d.opts.Force {
			t.loop.Force()
		}
	}
	d.coverage.Add(target.Name, target.Backend)
	d.targets = append(d.targets, t)
}

// embed starts the embedded targets that the options select.
func (d *Daemon) embed() error { return cmp.Or(d.embedDatabase(), d.embedController()) }

func (d *Daemon) embedController() error {
	if !d.opts.Target.Tungsten.Embedded() {
		return nil
	}
	fabric, err := StartEmbeddedController(context.Background(), d.opts.Target.Tungsten.ClusterName)
	if err != nil {
		return err
	}
	d.fabric = fabric
	d.opts.Target.Tungsten.Servers = []string{fabric.URL()}
	d.log.WithField("url", fabric.URL()).Info("embedded Tungsten Fabric controller is up")
	return nil
}

func (d *Daemon) embedDatabase() error {
	if !d.opts.Target.OVN.Embedded() {
		return nil
	}
	embedded, err := StartEmbedded(d.opts.Target.OVN.PortNames, d.opts.Cluster)
	if err != nil {
		return err
	}
	d.embedded = embedded
	d.opts.Target.OVN.Endpoints = []string{embedded.Address()}
	d.log.WithField("address", embedded.Address()).Info("embedded Northbound database is up")
	return nil
}

// Pipeline returns the pipeline that makes the snapshots.
func (d *Daemon) Pipeline() *pipeline.Pipeline { return d.pipeline }

// OnPublish registers f to be called with each snapshot, before the loops of the targets plan it. It has to be called
// before Run.
func (d *Daemon) OnPublish(f func(pipeline.Published)) { d.watchers = append(d.watchers, f) }

// Observe adds an observer of the loops. It has to be called before Run.
func (d *Daemon) Observe(o reconcile.Observer) { d.observe = append(d.observe, o) }

// DatabaseAddress lists the endpoints of the OVN target, those of the embedded database if there is one.
func (d *Daemon) DatabaseAddress() []string { return d.opts.Target.OVN.Endpoints }

// ControllerURLs lists the servers of the Tungsten Fabric target, that of the embedded controller if there is one.
func (d *Daemon) ControllerURLs() []string { return d.opts.Target.Tungsten.Servers }

// Close ends what New started. Targets stay as they are.
func (d *Daemon) Close() {
	for _, t := range d.targets {
		if err := t.Backend.Close(); err != nil {
			d.log.WithError(err).WithField("target", t.Name).Warn("closing backend")
		}
	}
	if d.embedded != nil {
		d.embedded.Close()
	}
	if d.fabric != nil {
		d.fabric.Close()
	}
	d.opts.Feedback.close()
	d.clients.close()
	if d.page != nil {
		_ = d.page.listener.Close() // already closed if it was served
	}
}

// Run works until ctx ends, and leaves the targets as they are then. It fails if the source or one of its servers cannot
// work at all.
func (d *Daemon) Run(ctx context.Context) error {
	if err := d.webhook.listen(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range d.targets {
		if t.Run != nil {
			group.Go(func() error { return t.Run(ctx) })
		}
	}
	group.Go(func() error { return d.write(ctx) })
	group.Go(func() error { return d.resolver.Run(ctx) })
	if !d.opts.KeepMemory {
		group.Go(func() error { d.memory.run(ctx); return nil })
	}
	handler := d.handler()
	if d.opts.Listen != "" {
		group.Go(func() error { return d.serve(ctx, handler) })
	}
	if d.opts.DebugListen != "" {
		group.Go(func() error { return d.serveDebug(ctx, handler) })
	}
	if d.page != nil {
		group.Go(func() error { return d.page.serve(ctx, d.log) })
		group.Go(func() error { d.page.Follow(ctx, d.log); return nil })
	}
	group.Go(func() error { return d.webhook.run(ctx) })
	group.Go(func() error { return d.pipeline.Run(ctx) })
	if d.others != nil {
		group.Go(func() error { return d.others.Run(ctx) })
	}
	group.Go(func() error {
		if err := d.source.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("source: %w", err)
		}
		return nil
	})
	return group.Wait()
}

// Object returns a source object as it is now.
func (d *Daemon) Object(ref object.Ref) (runtime.Object, bool) { return d.source.Get(ref) }
