package readiness

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
)

// pod is a pod with the gate.
type pod struct {
	key       object.Key
	uid       types.UID
	addressed bool                   // it has an address
	host      bool                   // it is on the host network
	leaving   bool                   // it is terminating
	status    corev1.ConditionStatus // of the condition; "" without one
	written   uint64                 // the version of the object that the last write returned; 0 for none
	changed   intent.Revision        // of the first snapshot that has it as it is now

	// What a term knows.
	policies []report.Policy   // that select it
	looked   intent.Revision   // of the snapshot in which they were found; 0 for none
	since    intent.Revision   // of the first snapshot with these policies and the present addresses
	marks    map[string]uint64 // by target; nil before everything is written
	waits    time.Time         // since when it waits with an address
	opened   time.Time         // since when a target is known to lack it, although its condition is True; zero if none is
	retry    time.Time         // when it may be written again, after an error of its own
}

// forget drops what a term knows.
func (p *pod) forget() {
	p.policies, p.looked, p.since, p.marks = nil, 0, 0, nil
	p.waits, p.opened, p.retry = time.Time{}, time.Time{}, time.Time{}
}

// Published records what a snapshot was made from. Only the pipeline's goroutine calls it.
func (c *Controller) Published(p pipeline.Published) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range p.Events {
		switch {
		case ref.Kind == object.KindPod:
			c.take(ref, p.Snapshot.Revision())
		case object.IsPolicy(ref.Kind):
			if o, ok := c.opts.State.Policy(ref); ok {
				c.generations[ref] = o.GetGeneration()
			} else {
				delete(c.generations, ref)
			}
		}
	}
	if len(c.waiting)+len(c.open) > 0 {
		c.ring()
	}
}

// take records a pod that may have changed. The lock is held.
func (c *Controller) take(ref object.Ref, revision intent.Revision) {
	key := object.Key{Cluster: c.opts.Cluster, Namespace: ref.Namespace, Name: ref.Name}
	found, _ := c.opts.State.Object(ref)
	is, _ := found.(*corev1.Pod)
	if is == nil || !c.concerns(is) {
		c.drop(key)
		return
	}
	status, gated := source.Gate(is, c.opts.Gate)
	if !gated {
		c.drop(key)
		return
	}
	p := c.pods[key]
	if p == nil || p.uid != is.UID {
		c.drop(key)
		p = &pod{key: key, uid: is.UID}
		c.pods[key] = p
	}
	p.addressed, p.host, p.leaving = is.Status.PodIP != "" || len(is.Status.PodIPs) > 0, is.Spec.HostNetwork, is.DeletionTimestamp != nil
	if !p.outdates(is.ResourceVersion) {
		p.status = status
	}
	p.changed = revision
	c.sort(p)
}

// Conditioned records that nothing but the condition of a pod has changed, in most cases because it was written. It may be called at any time:
// a pod of which no snapshot is known yet is looked at when there is one.
func (c *Controller) Conditioned(ref object.Ref) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[object.Key{Cluster: c.opts.Cluster, Namespace: ref.Namespace, Name: ref.Name}]
	if p == nil {
		return
	}
	found, _ := c.opts.State.Object(ref)
	is, _ := found.(*corev1.Pod)
	if is == nil || is.UID != p.uid || p.outdates(is.ResourceVersion) {
		return
	}
	status, gated := source.Gate(is, c.opts.Gate)
	if !gated || status == p.status {
		return
	}
	p.status = status
	c.sort(p)
	c.ring()
}

// concerns reports whether this netloom sets the condition of a pod. A finished pod never becomes ready again.
func (c *Controller) concerns(is *corev1.Pod) bool {
	return is.Status.Phase != corev1.PodSucceeded && is.Status.Phase != corev1.PodFailed && (c.opts.Node == "" || is.Spec.NodeName == c.opts.Node)
}

// outdates reports whether an object of a version is older than the last write, whose condition it may not have.
func (p *pod) outdates(version string) bool {
	delivered, err := strconv.ParseUint(version, 10, 64)
	return err == nil && delivered < p.written
}

// sort puts a pod where it belongs by its condition. The lock is held.
func (c *Controller) sort(p *pod) {
	if p.status == corev1.ConditionTrue {
		delete(c.waiting, p.key)
		return
	}
	delete(c.open, p.key)
	p.opened = time.Time{}
	c.waiting[p.key] = p
}

// drop forgets a pod. The lock is held.
func (c *Controller) drop(key object.Key) {
	delete(c.pods, key)
	delete(c.waiting, key)
	delete(c.open, key)
}

// Covered records that the missing endpoints of a target have changed.
func (c *Controller) Covered(string, backends.Gaps, backends.Gaps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pods) > 0 {
		c.ring()
	}
}

// rounds observes the loops of the targets.
type rounds struct {
	reconcile.Observers // nil: events that are not overridden are ignored

	of *Controller
}

// Converged records that a target is in sync. Its coverage has been recorded before.
func (r rounds) Converged(target string, revision intent.Revision, _ int) {
	c := r.of
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached[target] = revision
	if len(c.waiting)+len(c.open) > 0 {
		c.ring()
	}
}
