package policy

import (
	"context"

	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/object"
)

// Kept takes the list of objects that stay in force although the source does not have them. Those that only a target has
// get an Event, and the PolicyStatus of such a policy reports it, if there still is one. Those that the source keeps are
// translated like any other, and have a problem.
func (c *Controller) Kept(all []retention.KeptObject) {
	if c == nil {
		return
	}
	now := map[object.Ref]string{}
	for _, k := range all {
		switch {
		case k.Target == "" || !isReported(k.Kind):
		case now[k.Ref()] == "":
			now[k.Ref()] = k.Message()
		default:
			now[k.Ref()] += "; " + k.Message()
		}
	}
	c.mu.Lock()
	was := c.kept
	c.kept = now
	for ref := range now {
		if now[ref] != was[ref] {
			c.add(ref)
		}
	}
	for ref := range was {
		if now[ref] == "" && c.queue != nil {
			c.queue.Add(ref)
		}
	}
	c.mu.Unlock()
	if c.opts.Events == nil {
		return
	}
	for ref, message := range now {
		if message != was[ref] {
			c.event(ref, "", state.Note{Warning: true, Reason: report.ReasonKept, Message: message})
		}
	}
}

// whyKept returns why targets keep an object; "" if none does.
func (c *Controller) whyKept(ref object.Ref) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[ref]
}

// judgeMissing updates the PolicyStatus of a policy that the source does not have: whether a target keeps it. It creates no
// PolicyStatus: that of a policy that was deleted is deleted with it.
func (c *Controller) judgeMissing(ctx context.Context, world *report.World, ref object.Ref) error {
	if c.objects == nil || ref.Kind != object.KindNetworkPolicy {
		return nil
	}
	found := c.objects.current(ref)
	if found == nil {
		return nil
	}
	now := world.Missing(&found.Status, c.whyKept(ref))
	if report.Compare(&found.Status, &now) == report.Same {
		return nil
	}
	return c.objects.replace(ctx, ref, found, &now)
}
