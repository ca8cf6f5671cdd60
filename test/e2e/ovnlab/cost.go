//go:build e2e

package ovnlab

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/netloom/netloom/test/await"
)

// CPU returns the processor time that the process has used.
func (p *Process) CPU() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", p.PID()))
	if err != nil {
		return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
	}
	var ns int64
	if _, err := fmt.Sscan(string(raw), &ns); err != nil {
		return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
	}
	return time.Duration(ns), nil
}

// NorthdCPU returns the processor time that northd has used.
func (l *Lab) NorthdCPU() time.Duration { return l.cpu(l.north) }

// ControllerCPU returns the processor time that ovn-controller has used.
func (c *Chassis) ControllerCPU() time.Duration { return c.lab.cpu(c.controller) }

func (l *Lab) cpu(p *Process) time.Duration {
	l.tb.Helper()
	used, err := p.CPU()
	if err != nil {
		l.tb.Fatal(err)
	}
	return used
}

// FlowRecomputes returns how often northd has computed all logical flows.
func (l *Lab) FlowRecomputes() int {
	l.tb.Helper()
	return l.Recomputes()["lflow"]
}

// Recomputes returns how often northd has computed each node of its engine anew, instead of what changed.
func (l *Lab) Recomputes() map[string]int {
	l.tb.Helper()
	out := l.run("ovs-appctl", "-T", "30", "-t", l.path("northd.ctl"), "inc-engine/show-stats")
	all := map[string]int{}
	for text := range strings.SplitSeq(out, "Node: ") {
		name, counters, _ := strings.Cut(text, "\n")
		_, count, found := strings.Cut(counters, "recompute:")
		if !found {
			continue
		}
		var n int
		if _, err := fmt.Sscan(count, &n); err != nil {
			l.tb.Fatalf("statistics of northd: %.200q", text)
		}
		all[name] = n
	}
	if _, found := all["lflow"]; !found {
		l.tb.Fatalf("statistics of northd: %.200q", out)
	}
	return all
}

// NBLog returns the size of the Northbound database's file, a log of its transactions that the server compacts now and then.
func (l *Lab) NBLog() int64 {
	l.tb.Helper()
	info, err := os.Stat(l.path(nbFiles + ".db"))
	if err != nil {
		l.tb.Fatalf("log of the Northbound database: %v", err)
	}
	return info.Size()
}

// Settle waits until northd and ovn-controller, unless that was stopped, have nothing to do. It does without the counter of a sync,
// for which the northd of OVN 23.03 recomputes.
func (c *Chassis) Settle() {
	c.lab.tb.Helper()
	const quiet = 5 // looks without work
	idle, last := 0, time.Duration(-1)
	await.True(c.lab.tb, func() bool {
		time.Sleep(10 * time.Millisecond) // pause: for measuring, no test asserts the time
		used := c.lab.NorthdCPU()
		if !c.controller.ended() {
			used += c.ControllerCPU()
		}
		if used-last < time.Millisecond/2 && !c.busy() {
			idle++
		} else {
			idle = 0
		}
		last = used
		return idle == quiet
	}, "northd and ovn-controller have nothing to do")
}

// busy reports whether a program of the chassis or its control plane works, or would if there was a processor for it.
func (c *Chassis) busy() bool {
	for _, p := range []*Process{c.lab.nb, c.lab.sb, c.lab.north, c.vswitchd, c.controller} {
		if p.ended() {
			continue
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		if err != nil {
			c.lab.tb.Fatalf("state of %s: %v", p.name, err)
		}
		_, state, _ := strings.Cut(string(raw), ") ") // behind the name, which may contain anything
		if !strings.HasPrefix(state, "S") {
			return true
		}
	}
	return false
}
