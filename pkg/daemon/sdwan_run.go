package daemon

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/controller"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/source/kube"
	"github.com/netloom/netloom/translator"
)

// secretTTL is for how long what an API said of a Secret is good.
const secretTTL = 10 * time.Second

// sdwan is what runs for SD-WAN beside the pipeline.
type sdwan struct {
	cnfs     *cnfs
	hosts    *hosts
	statuses *statuses // nil where nothing is written
	reports  *reports  // nil where nothing is collected
}

// newSDWAN puts together what runs for SD-WAN.
func newSDWAN(d *Daemon) *sdwan {
	opts := d.opts.SDWAN.withDefaults()
	s := &sdwan{hosts: newHosts(opts, d.pipeline.Do, d.metrics, d.log)}
	s.cnfs = newCNFs(opts, func() *intent.Snapshot {
		if !s.hosts.Settled() {
			return nil
		}
		return d.pipeline.Latest()
	}, d.log)
	g := s.cnfs
	g.metrics, g.observe, g.owner = d.metrics, &d.observe, d.opts.Target.Owner
	g.reportKept = d.reportKept
	g.loops = cnfLoops(d.loopOptions(), opts)
	var writer *statusWriter
	if opts.Dynamic != nil {
		writer = newStatusWriter(opts.Dynamic, d.metrics, opts.Events)
		writer.refused = opts.refused
		s.statuses = newStatuses(d.source, writer, d.log)
		s.statuses.latest, s.statuses.problems, s.statuses.loops = d.pipeline.Latest, d.pipeline.Problems, g.Loops
		s.statuses.unasked = g.unasked.Has
		s.statuses.clusterWide = opts.ClusterWide
		g.changed = s.statuses.Changed
	}
	if opts.Events != nil {
		g.drifted = func(of *intent.CNF, ops int) { tellDrift(opts.Events, of, ops) }
	}
	if opts.StatusInterval > 0 {
		s.reports = &reports{
			interval: opts.StatusInterval, namespace: opts.StatusNamespace, reporters: g.Reporters, source: d.source,
			writer: writer, metrics: d.metrics, log: d.log, known: map[object.Ref]bool{},
		}
	}
	d.pipeline.OnPublish(func(p pipeline.Published) { s.published(d.pipeline.Translator(), p) })
	return s
}

// published passes a snapshot on. It is called by the pipeline's goroutine.
func (s *sdwan) published(t *translator.Translator, p pipeline.Published) {
	s.hosts.Want(t.Hosts())
	if s.reports != nil {
		s.reports.Published(p)
	}
	if s.statuses != nil {
		s.statuses.Published(p)
	}
	s.cnfs.Wake()
}

// rest has nothing pile up until run is called.
func (s *sdwan) rest() {
	if s.statuses != nil {
		s.statuses.rest()
	}
}

// run does in group what writes, until ctx ends. It may be called again.
func (s *sdwan) run(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error { return s.cnfs.Run(ctx) })
	if s.statuses != nil {
		group.Go(func() error { return s.statuses.Run(ctx) })
	}
	if s.reports != nil {
		group.Go(func() error { return s.reports.Run(ctx) })
	}
}

// cnfLoops are the options of the loops of devices.
func cnfLoops(opts reconcile.Options, settings SDWAN) reconcile.Options {
	if opts.RetryMin <= 0 {
		opts.RetryMin = reconcile.DefaultRetryMin
	}
	if opts.RetryMax <= 0 {
		opts.RetryMax = reconcile.DefaultRetryMax
	}
	opts.RetryMax = max(opts.RetryMin, min(opts.RetryMax, settings.Interval))
	return opts
}

// tellDrift makes an Event of a CNF's pod.
func tellDrift(events record.EventRecorder, g *intent.CNF, ops int) {
	pod := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: g.Origin.Namespace, Name: g.Origin.Name,
	}
	events.Event(pod, corev1.EventTypeWarning, "DriftRepaired",
		fmt.Sprintf("the configuration was changed by someone else; %d operations put it right", ops))
}

// deviceTarget makes the target of a CNF.
func deviceTarget(d Device) (*builtin.Target, error) {
	return builtin.New("openwrt", builtin.Settings{
		Owner: d.Owner, Log: d.Client.Log,
		OpenWRT: builtin.OpenWRTSettings{Client: d.Client, CNF: d.CNF, Addr: d.Addr, Secret: d.Secret},
	})
}

// clients makes the clients of an API that the options do not have yet.
func (o *SDWAN) clients(config *rest.Config, client kubernetes.Interface) error {
	if !o.Enabled {
		return nil
	}
	o.refused = &controller.Refusals{}
	if o.Dynamic == nil {
		made, err := dynamic.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("connect to Kubernetes: %w", err)
		}
		o.Dynamic = made
	}
	if o.Secrets == nil {
		o.Secrets = &secretSource{kube.NewSecrets(client, secretTTL), o.refused, secretsWhile(o.Interval)}
	}
	if o.Events == nil && !o.NoEvents {
		o.Events, o.endEvents = controller.NewRecorder(client, o.refused)
	}
	return nil
}
