package policy

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/object"
)

// judgeCluster reports what has changed for a cluster-wide policy, in its conditions and by Events. The world is without
// other nodes.
func (c *Controller) judgeCluster(ctx context.Context, world *report.World, key object.Ref, is tracked, was *reported) error {
	had, unread := c.clusterStatus(ctx, key, was)
	p := report.Policy{Kind: key.Kind, Name: key.Name, Generation: is.generation, UID: types.UID(is.uid)}
	now := world.Status(p, had)
	c.setOpen(key, world.Settled(&now), c.seen)
	c.notify(world, key, is, was, had, &now)
	s := &reported{uid: is.uid, status: &now, written: had.Conditions}
	if was == nil {
		c.resize[key] = true
	} else {
		s.written = was.written
	}
	c.remember(world, p, s)
	if c.cluster == nil || unread != nil {
		return unread
	}
	if !c.mayStay(key, conditionsOnly(s.written), conditionsOnly(now.Conditions)) {
		err := c.cluster.write(ctx, key, is.uid, now.Conditions)
		c.cluster.wrote(err)
		if err != nil {
			return err
		}
		s.written = now.Conditions
	}
	c.retries.Forget(key)
	delete(c.later, key)
	delete(c.resize, key)
	return nil
}

// clusterStatus returns the status that was last reported for a policy: the conditions that a netloom before this one wrote, if
// they can be read.
func (c *Controller) clusterStatus(ctx context.Context, key object.Ref, was *reported) (*v1alpha1.PolicyStatusStatus, error) {
	if was != nil {
		return was.status, nil
	}
	had := &v1alpha1.PolicyStatusStatus{}
	if c.cluster == nil {
		return had, nil
	}
	found, err := c.cluster.read(ctx, key)
	if err != nil {
		c.cluster.wrote(err)
	}
	had.Conditions = found
	return had, err
}

// conditionsOnly returns a status of nothing but conditions.
func conditionsOnly(all []metav1.Condition) *v1alpha1.PolicyStatusStatus {
	return &v1alpha1.PolicyStatusStatus{Conditions: all}
}
