package readiness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends"
)

// installing is what a target that pods wait for last reported, and since when.
type installing struct {
	asked  time.Time // of the last mark
	known  backends.Installation
	fault  error     // of the last question; nil if it was answered
	oldest time.Time // since when some pod waits without any progress; zero if none does
	pods   int       // that wait
}

// install asks the targets whether what is written for pods is installed, and decides about those for which it is.
func (c *Controller) install(ctx context.Context, targets []Target, written []*pod) []decision {
	if len(written) == 0 {
		c.mu.Lock()
		clear(c.installing)
		c.mu.Unlock()
		return nil
	}
	missing := map[*pod]bool{}
	reports := false
	for _, t := range targets {
		if t.Marker == nil {
			continue
		}
		reports = true
		for _, p := range c.notInstalled(ctx, &t, written) {
			missing[p] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []decision
	for _, p := range written {
		switch {
		case missing[p]:
		case reports:
			out = append(out, decision{p, corev1.ConditionTrue, ReasonInstalled, "installed: " + c.selectedBy(p)})
		default:
			out = append(out, decision{p, corev1.ConditionTrue, ReasonWritten, "written: " + c.selectedBy(p)})
		}
	}
	return out
}

// notInstalled lists the pods for which a target has not installed everything, after it has been asked to report those that were not asked
// about.
func (c *Controller) notInstalled(ctx context.Context, t *Target, written []*pod) []*pod {
	c.mu.Lock()
	now := c.installing[t.Name]
	ask := slices.ContainsFunc(written, func(p *pod) bool { return p.marks[t.Name] == 0 })
	c.mu.Unlock()
	var mark uint64
	if ask && time.Since(now.asked) >= markPause {
		mark, now.fault = t.Marker.Mark(ctx)
		now.asked = time.Now()
	}
	was := now.known.Through
	if known, err := t.Marker.Installed(ctx); err != nil {
		now.fault = err
	} else {
		now.known, now.fault = known, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*pod
	for _, p := range written {
		if p.marks == nil {
			p.marks = map[string]uint64{}
		}
		at := p.marks[t.Name]
		if now.fault == nil && at > now.known.Newest {
			at = 0 // the mark was lost
		}
		if at == 0 {
			at = mark
		}
		if p.marks[t.Name] = at; at == 0 || now.fault != nil || now.known.Through < at {
			out = append(out, p)
		}
	}
	switch now.pods = len(out); {
	case now.pods == 0:
		now.oldest = time.Time{}
	case now.oldest.IsZero() || now.known.Through > was:
		now.oldest = time.Now()
	}
	c.installing[t.Name] = now
	return out
}

// waitsFor describes what a target is waiting for.
func (i *installing) waitsFor() string {
	switch {
	case i.fault != nil:
		return i.fault.Error()
	case i.known.Waits != "":
		return i.known.Waits
	default:
		return "the next report"
	}
}

// installationOf describes what a pod waits for whose policies are all written. The lock is held.
func (c *Controller) installationOf(p *pod) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.marks)) {
		if i := c.installing[name]; p.marks[name] == 0 || i.known.Through < p.marks[name] {
			out = append(out, name+": written, waits for "+i.waitsFor())
		}
	}
	return strings.Join(out, "; ")
}

// slow lists the targets that make pods wait for too long. The lock is held.
func (c *Controller) slow() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(c.installing)) {
		i := c.installing[name]
		if age := time.Since(i.oldest); !i.oldest.IsZero() && age >= slowAfter {
			lines = append(lines, fmt.Sprintf("degraded: %d pods with the readiness gate %s have waited for %s for %s: %s",
				i.pods, c.opts.Gate, name, age.Round(time.Second), i.waitsFor()))
		}
	}
	return lines
}
