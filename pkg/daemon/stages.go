package daemon

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
)

// stage is a step in the handling of each snapshot.
type stage struct {
	name string
	take func(pipeline.Published)
}

// stages returns the steps in the handling of each snapshot, in this order. Reports are up to date before a target is
// synced: a quick target is timed by what the metrics have by then, and its rounds concern objects that the reports know.
func (d *Daemon) stages() []stage {
	out := []stage{{"metrics and log", d.published}}
	if d.page != nil {
		out = append(out, stage{"web page", d.page.Published})
	}
	if d.embedded != nil {
		out = append(out, stage{"logical ports of the embedded database", d.seed})
	}
	if d.fabric != nil {
		out = append(out, stage{"interfaces of the embedded controller", d.seedController})
	}
	if d.resolver != nil {
		out = append(out, stage{"DNS names", func(pipeline.Published) { d.resolver.Want(d.pipeline.Translator().Hosts()) }})
	}
	if d.sdwan != nil {
		out = append(out, stage{"SD-WAN", func(p pipeline.Published) { d.sdwan.Published(&p) }})
	}
	if d.policies != nil {
		out = append(out, stage{"reports on policies", d.policies.Published})
	}
	if d.ready != nil {
		out = append(out, stage{"readiness of pods", d.ready.Published})
	}
	for _, f := range d.watchers {
		out = append(out, stage{"watcher", f})
	}
	return append(out, stage{"targets", d.wake})
}

// publish takes a snapshot through the stages.
func (d *Daemon) publish(p pipeline.Published) {
	for _, s := range d.stages() {
		s.take(p)
	}
}

// published feeds the metrics and the log.
func (d *Daemon) published(p pipeline.Published) {
	d.metrics.Published(metrics.Snapshot{
		Revision: p.Snapshot.Revision(), Since: p.Since, Took: p.Took, Problems: len(p.Problems),
		Endpoints: p.Stats.Endpoints, Sets: p.Stats.Sets, Policies: p.Stats.Policies, Staged: p.Stats.Staged, Unavailable: p.Unavailable,
	})
	var gone []object.Ref
	for _, ref := range p.Events {
		d.metrics.Event(ref.Kind)
		if _, there := d.source.Get(ref); !there {
			gone = append(gone, ref)
		}
	}
	for _, t := range d.targets {
		t.loop.Release(gone) // it was deleted, having been missing at the start
	}
	d.reportKept()
	d.log.WithFields(logrus.Fields{
		"revision": p.Snapshot.Revision(), "events": len(p.Events), "took": p.Took.String(), "problems": len(p.Problems),
	}).Debug("snapshot is ready")
}

// seed gives pods logical ports in the embedded database, and waits until the targets have seen them.
func (d *Daemon) seed(p pipeline.Published) {
	if err := d.embedded.Seed(d.source, p.Events); err != nil {
		d.log.WithError(err).Error("embedded database: logical ports are missing")
	}
	d.awaitPorts(d.embedded.Ports())
}

// seedController gives pods interfaces in the embedded controller. The backend is notified of any that its first read missed.
func (d *Daemon) seedController(p pipeline.Published) {
	if err := d.fabric.Seed(d.source, p.Events); err != nil {
		d.log.WithError(err).Error("embedded controller: interfaces are missing")
	}
}

// awaitPorts waits briefly until targets have seen existing logical ports, so that the next plan is complete.
func (d *Daemon) awaitPorts(names []string) {
	limit := time.Now().Add(startGrace)
	for _, t := range d.targets {
		finder, ok := t.Backend.(backends.PortFinder)
		if !ok {
			continue
		}
		for _, name := range names {
			for !finder.HasPort(name) && time.Now().Before(limit) {
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// wake makes the loops of the targets sync the snapshot. Until then, a loop that is woken by its backend syncs the previous one. At the
// start, they wait for the first answers of DNS.
func (d *Daemon) wake(p pipeline.Published) {
	if d.resolver != nil && !d.resolver.Settled() {
		return
	}
	d.staged.Store(p.Snapshot)
	for _, t := range d.targets {
		t.loop.Wake()
	}
}
