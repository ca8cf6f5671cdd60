package readiness

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/object"
)

// unprotected decides which conditions become False: those of pods that a target is known to lack for longer than the grace, as far as the
// share allows. A target in trouble is not known to lack anything. The lock is held.
func (c *Controller) unprotected(targets []Target) []decision {
	lacks := map[object.Key]string{}
	for _, t := range targets {
		standing := t.Standing(c.began)
		if standing.Trouble != "" || standing.Revision == 0 {
			continue
		}
		for gap := range t.Missing.All() {
			if p := c.pods[gap.Endpoint]; p != nil && p.status == corev1.ConditionTrue && !p.leaving && !p.host {
				lacks[gap.Endpoint] = t.Name + " does not know the pod: no " + gap.Lacks
			}
		}
	}
	for key, p := range c.open {
		if _, still := lacks[key]; !still {
			delete(c.open, key)
			p.opened = time.Time{}
		}
	}
	for key := range lacks {
		if p := c.pods[key]; p.opened.IsZero() {
			p.opened, c.open[key] = time.Now(), p
		}
	}
	return c.withdrawn(lacks)
}

// withdrawn lists the decisions about open pods whose grace has passed, in order. The lock is held.
func (c *Controller) withdrawn(lacks map[object.Key]string) []decision {
	c.spared = 0
	if c.opts.Grace == 0 {
		return nil
	}
	allowed := int(c.opts.MaxFraction * float64(len(c.pods)))
	for _, p := range c.waiting {
		if p.status == corev1.ConditionFalse {
			allowed--
		}
	}
	var out []decision
	for _, p := range those(c.open, func(p *pod) bool { return time.Since(p.opened) >= c.opts.Grace }) {
		if len(out) >= allowed {
			c.spared++
			continue
		}
		out = append(out, decision{p, corev1.ConditionFalse, report.ReasonPodsWithoutPort, lacks[p.key]})
	}
	return out
}
