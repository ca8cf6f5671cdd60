package daemon

import (
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/translator"
)

// loopOptions returns the options of every loop, except target, log and observer.
func (d *Daemon) loopOptions() reconcile.Options {
	opts := d.opts.Reconcile
	opts.Known = func(ref object.Ref) bool {
		_, known := d.source.Get(ref)
		return known
	}
	opts.Unlisted = func(kind string) bool {
		return d.unlisted != nil && (object.IsClusterPolicy(kind) || kind == object.KindServiceImport) && d.unlisted(kind)
	}
	opts.Unreadable = func() bool { return pipeline.Unreadable(d.pipeline.Problems()) }
	return opts
}

// keptInTargets lists what targets had for objects that were missing when netloom began, and still have.
func (d *Daemon) keptInTargets() []retention.KeptObject {
	var all []retention.KeptObject
	for _, t := range d.targets {
		all = append(all, retention.KeptIn(t.Name, t.loop.Status().Kept)...)
	}
	if d.sdwan != nil {
		all = append(all, d.sdwan.Kept()...)
	}
	return all
}

// keptObserver reports what is kept whenever a loop may have found or released something.
type keptObserver struct {
	reconcile.Observers // nil: events that are not overridden are ignored

	report func()
}

// Failed reports what is kept.
func (o *keptObserver) Failed(string, reconcile.Phase, error) { o.report() }

// Converged reports what is kept.
func (o *keptObserver) Converged(string, intent.Revision, int) { o.report() }

// reportKept logs what is kept if that has changed since it was last logged, and updates the problems of what targets keep.
func (d *Daemon) reportKept() {
	d.keptMu.Lock()
	defer d.keptMu.Unlock()
	was, now := d.reported, d.kept()
	if now.Digest == was.Digest {
		return
	}
	d.reported = now
	log := d.log.WithFields(logrus.Fields{"digest": now.Digest, "kept": now.Counts(), "objects": len(now.Objects)})
	if now.Digest == "" {
		d.log.WithField("before", was.Counts()).Info("missing objects are no longer kept in force")
	} else {
		log.WithField("remove", "netloom approve "+now.Digest).
			Warn("objects are missing from the source, but were not seen to be deleted: they stay in force until they are back, or until " +
				"their removal is approved; netloom approve lists them")
	}
	remembered := func(k retention.KeptObject) bool { return k.Target == "" }
	d.policies.Kept(now.Objects)
	if !slices.Equal(slices.DeleteFunc(slices.Clone(was.Objects), remembered), slices.DeleteFunc(slices.Clone(now.Objects), remembered)) {
		d.pipeline.Do(func(*translator.Translator) {})
	}
}
