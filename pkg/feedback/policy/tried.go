package policy

import (
	"slices"

	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/object"
)

// Tried takes a flow that a staged policy would decide differently, as text, when it is first seen: it becomes an Event. Summary is what was
// seen for the policy so far, for its PolicyStatus. Any goroutine may call it. A policy that is not staged any more is ignored.
func (c *Controller) Tried(policy object.Ref, flow, summary string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	_, staged := slices.BinarySearchFunc(c.staged, policy, object.Ref.Compare)
	reports := staged && c.queue != nil
	if staged {
		c.tried[policy] = summary
		c.move()
		c.add(policy)
	}
	uid := c.known[policy].uid
	c.mu.Unlock()
	if reports && c.opts.Events != nil {
		c.event(policy, uid, state.Note{Reason: report.ReasonWouldDiffer, Message: flow})
	}
}
