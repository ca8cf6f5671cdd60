package readiness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Reasons of the condition, besides those of pkg/feedback/policy/report.
const (
	ReasonInstalled   = "Installed"   // every policy is in force, and installed where packets are decided on
	ReasonWritten     = "Written"     // every policy is in force; no target reports what is installed
	ReasonNotSelected = "NotSelected" // no policy selects the pod
	ReasonHostNetwork = "HostNetwork" // policies do not select pods on the host network
	ReasonInstalling  = "Installing"  // everything is written, and not installed yet
)

// shownPolicies is how many policies a message names.
const shownPolicies = 5

// decision is a condition to write.
type decision struct {
	pod             *pod
	status          corev1.ConditionStatus
	reason, message string
}

// round looks at every pod that waits or is open, and writes what is decided. It returns after how long another round is due; 0 for none
// before something happens.
func (c *Controller) round(ctx context.Context) time.Duration {
	world, targets := c.world()
	if world == nil {
		return 0
	}
	done, written := c.judge(world)
	done = append(done, c.install(ctx, targets, written)...)
	c.mu.Lock()
	done = append(done, c.slowPods(world, done)...)
	done = append(done, c.unprotected(targets)...)
	c.mu.Unlock()
	c.writeAll(ctx, done)
	return c.due()
}

// world returns what is known now; nil before the first snapshot, and if no pod needs it.
func (c *Controller) world() (*report.World, []Target) {
	c.mu.Lock()
	idle, reached := len(c.pods) == 0, maps.Clone(c.reached)
	c.mu.Unlock()
	if idle {
		return nil, nil
	}
	targets := c.opts.State.Targets() // before the snapshot, so that it is not older
	snapshot := c.opts.State.Latest()
	if snapshot == nil {
		return nil, nil
	}
	facts := report.Facts{Facts: state.Facts{Snapshot: snapshot}, Cluster: c.opts.Cluster}
	for _, t := range targets {
		standing := t.Standing(c.began)
		standing.Revision = min(standing.Revision, reached[t.Name]) // the coverage of a round is known once it was reported
		facts.Targets = append(facts.Targets, standing)
	}
	return report.NewWorld(facts), targets
}

// judge decides about the pods that no policy selects, and lists those whose policies are all written.
func (c *Controller) judge(world *report.World) (done []decision, written []*pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var subjects *subjects
	for _, p := range those(c.waiting, func(p *pod) bool { return p.host || p.addressed && !p.leaving }) {
		if p.host {
			done = append(done, decision{p, corev1.ConditionTrue, ReasonHostNetwork, "policies do not select pods on the host network"})
			continue
		}
		if p.waits.IsZero() {
			p.waits = time.Now()
		}
		if p.looked == 0 || p.looked != world.Snapshot.Revision() && !world.Lacks(p.key) {
			if subjects == nil {
				subjects = newSubjects(world.Snapshot)
			}
			c.look(p, subjects)
		}
		if len(p.policies) == 0 {
			done = append(done, decision{p, corev1.ConditionTrue, ReasonNotSelected, "no policy selects the pod"})
			continue
		}
		if reason, _ := world.Protection(p.asked()); reason != report.ReasonEnforced {
			p.marks = nil
			continue
		}
		written = append(written, p)
	}
	return done, written
}

// asked is the pod in the terms of reports.
func (p *pod) asked() report.Pod { return report.Pod{Key: p.key, Policies: p.policies, Since: p.since} }

// look finds the policies that select a pod. The lock is held.
func (c *Controller) look(p *pod, all *subjects) {
	found := all.of(p.key)
	for i := range found {
		found[i].Generation = c.generations[found[i].Key()]
	}
	revision := all.snapshot.Revision()
	if p.looked == 0 || !slices.Equal(found, p.policies) {
		p.since, p.marks = revision, nil
	}
	if p.changed > p.since {
		p.since, p.marks = p.changed, nil
	}
	p.policies, p.looked = found, revision
}

// subjects are the sets that policies of a snapshot select, by the namespaces of their members.
type subjects struct {
	snapshot *intent.Snapshot
	in       map[string]map[intent.SetID][]report.Policy // by namespace, "" for any
}

func newSubjects(s *intent.Snapshot) *subjects {
	out := &subjects{snapshot: s, in: map[string]map[intent.SetID][]report.Policy{}}
	for p := range s.Policies() {
		if !object.IsPolicy(p.Origin.Kind) {
			continue
		}
		namespaces := p.Namespaces
		if namespaces == nil {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			if out.in[namespace] == nil {
				out.in[namespace] = map[intent.SetID][]report.Policy{}
			}
			out.in[namespace][p.Subject] = append(out.in[namespace][p.Subject], report.Policy{
				Kind: p.Origin.Kind, Namespace: p.Origin.Namespace, Name: p.Origin.Name,
			})
		}
	}
	return out
}

// of lists the policies that select an endpoint, each once, in order.
func (s *subjects) of(key object.Key) []report.Policy {
	var out []report.Policy
	for _, namespace := range []string{key.Namespace, ""} {
		for id, policies := range s.in[namespace] {
			if s.snapshot.Set(id).HasKey(key) {
				out = append(out, policies...)
			}
		}
	}
	slices.SortFunc(out, func(a, b report.Policy) int { return a.Key().Compare(b.Key()) })
	return slices.Compact(out)
}

// slowPods decides to write why pods still wait for which nothing is decided, once for each pod, after the grace. The lock is held.
func (c *Controller) slowPods(world *report.World, decided []decision) []decision {
	done := map[*pod]bool{}
	for _, d := range decided {
		done[d.pod] = true
	}
	slow := func(p *pod) bool {
		return c.opts.Grace > 0 && !done[p] && p.status != corev1.ConditionFalse && len(p.policies) > 0 &&
			!p.waits.IsZero() && time.Since(p.waits) >= c.opts.Grace
	}
	var out []decision
	for _, p := range those(c.waiting, slow) {
		reason, message := world.Protection(p.asked())
		if reason == report.ReasonEnforced {
			reason, message = ReasonInstalling, c.installationOf(p)
		}
		out = append(out, decision{p, corev1.ConditionFalse, reason, message + "; selected by " + c.selectedBy(p)})
	}
	return out
}

// selectedBy names the policies that select a pod, and their present generations. The lock is held.
func (c *Controller) selectedBy(p *pod) string {
	var names []string
	for _, policy := range p.policies[:min(len(p.policies), shownPolicies)] {
		names = append(names, fmt.Sprintf("%s generation %d", policy.Key(), c.generations[policy.Key()]))
	}
	text := strings.Join(names, ", ")
	if more := len(p.policies) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// due returns after how long the next round is due although nothing happens.
func (c *Controller) due() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.waiting {
		if p.marks != nil {
			return pollPause
		}
	}
	switch {
	case c.fault != nil:
		return max(time.Until(c.retry), time.Millisecond)
	case len(c.waiting)+len(c.open) > 0:
		return lookPause
	default:
		return 0
	}
}

// those lists the pods for which a condition holds, by their keys.
func those(pods map[object.Key]*pod, holds func(*pod) bool) []*pod {
	var out []*pod
	for _, p := range pods {
		if holds(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pod) int { return a.key.Compare(b.key) })
	return out
}
