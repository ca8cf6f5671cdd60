package policy

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// reported is what was last reported on an object.
type reported struct {
	uid     string
	status  *v1alpha1.PolicyStatusStatus
	view    *v1alpha1.PolicyStatusStatus // the status that this netloom made for the policy when its object was last up to date
	service report.Service
	written []metav1.Condition // of a cluster-wide policy, as last read or written
	sets    []intent.SetID     // whose sizes were reported
}

// judge reports what has changed for an object.
func (c *Controller) judge(ctx context.Context, world *report.World, key object.Ref) error {
	is, there := c.is(key)
	if !there {
		c.forget(key)
		return c.judgeMissing(ctx, world, key)
	}
	if c.later[key].After(time.Now()) {
		return nil // it will be queued then
	}
	was := c.reported[key]
	if was != nil && was.uid != is.uid {
		c.forget(key)
		was = nil
	}
	if key.Kind == object.KindService {
		c.judgeService(world, key, is, was)
		return nil
	}
	if object.IsClusterPolicy(key.Kind) {
		return c.judgeCluster(ctx, world.Alone(), key, is, was)
	}
	return c.judgePolicy(ctx, world, key, is, was)
}

func (c *Controller) judgePolicy(ctx context.Context, world *report.World, key object.Ref, is tracked, was *reported) error {
	p := report.Policy{
		Namespace: key.Namespace, Name: key.Name, Generation: is.generation, UID: types.UID(is.uid),
	}
	had := &v1alpha1.PolicyStatusStatus{}
	var object *v1alpha1.PolicyStatus
	if c.objects != nil {
		object = c.objects.current(key)
	}
	switch {
	case object != nil && ownedBy(object, is.uid):
		had = &object.Status
	case was != nil:
		had = was.status
	}
	if was == nil {
		c.resize[key] = true
	}
	own := world.Status(p, had)
	compose := c.composer(world, p, was, had, &own)
	now := compose(had)
	c.setOpen(key, world.Settled(&now), c.seen)
	c.notify(world, key, is, was, had, &now)
	s := &reported{uid: is.uid, status: &now}
	if was != nil {
		s.view = was.view
	}
	c.remember(world, p, s)
	if c.objects == nil {
		return nil
	}
	if object == nil || !ownedBy(object, is.uid) || !c.mayStay(key, had, &now) {
		written, err := c.objects.write(ctx, world, key, is.uid, object, &now, compose)
		if err != nil {
			return err
		}
		if !written {
			return nil
		}
		c.pause = 0
	}
	c.retries.Forget(key)
	delete(c.later, key)
	delete(c.resize, key)
	s.view = &own
	return nil
}

// composer returns the status that the object of a policy should have, given its present one. If each node has a netloom,
// what another one wrote for this generation of the policy is kept until this one sees something new.
func (c *Controller) composer(
	world *report.World, p report.Policy, was *reported, had, own *v1alpha1.PolicyStatusStatus,
) func(*v1alpha1.PolicyStatusStatus) v1alpha1.PolicyStatusStatus {
	adopts := c.opts.Node != "" && had.ObservedGeneration == p.Generation &&
		(was == nil || was.view != nil && report.SameView(was.view, own))
	return func(had *v1alpha1.PolicyStatusStatus) v1alpha1.PolicyStatusStatus {
		out := world.Status(p, had)
		if adopts && had.ObservedGeneration == p.Generation {
			world.Adopt(p, &out, had)
		}
		return out
	}
}

// mayStay reports whether the status of a policy may stay as it is for now. Sizes are only reported at intervals.
func (c *Controller) mayStay(key object.Ref, had, now *v1alpha1.PolicyStatusStatus) bool {
	switch report.Compare(had, now) {
	case report.Same:
		return true
	case report.Sizes:
		return !c.resize[key]
	case report.Meaning:
	}
	return false
}

// notify creates Events for changes. For objects that existed at the start and match their status, it creates only those for problems and
// for pods that are not protected.
func (c *Controller) notify(world *report.World, key object.Ref, is tracked, was *reported, had, now *v1alpha1.PolicyStatusStatus) {
	if c.opts.Events == nil {
		return
	}
	before := had
	switch {
	case was != nil:
		before = was.status
	case is.initial && had.ObservedGeneration == 0:
		before = now.DeepCopy()
		before.Problems = nil
		for i := range before.Targets {
			if t := &before.Targets[i]; t.Reason == report.ReasonPodsWithoutPort {
				t.Reason = ""
			}
		}
	}
	for _, n := range world.Notes(before, now) {
		c.event(key, is.uid, n)
	}
}

// remember stores what was reported on a policy, and the sets whose sizes were reported.
func (c *Controller) remember(world *report.World, p report.Policy, s *reported) {
	key := p.Key()
	c.forgetSets(key)
	s.sets = world.Sets(p)
	for _, id := range s.sets {
		if c.users[id] == nil {
			c.users[id] = map[object.Ref]bool{}
		}
		c.users[id][key] = true
	}
	c.reported[key] = s
}

func (c *Controller) forget(key object.Ref) {
	c.forgetSets(key)
	delete(c.reported, key)
	c.retries.Forget(key)
	delete(c.later, key)
	delete(c.resize, key)
	if c.objects != nil {
		c.objects.forget(key)
	}
}

func (c *Controller) forgetSets(key object.Ref) {
	s := c.reported[key]
	if s == nil {
		return
	}
	for _, id := range s.sets {
		delete(c.users[id], key)
		if len(c.users[id]) == 0 {
			delete(c.users, id)
		}
	}
}

// judgeService creates Events for what is new about a Service.
func (c *Controller) judgeService(world *report.World, key object.Ref, is tracked, was *reported) {
	if c.opts.Events == nil {
		return
	}
	before := report.Service{}
	if was != nil {
		before = was.service
	}
	now, settled := world.Service(key, before)
	c.setOpen(key, settled, c.seen)
	if was == nil && is.initial {
		before.Balanced = now.Balanced
	}
	for _, n := range now.Notes(before) {
		c.event(key, is.uid, n)
	}
	c.reported[key] = &reported{uid: is.uid, service: now}
}
