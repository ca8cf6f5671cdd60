//go:build e2e

package ovnlab

import (
	"bufio"
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Installs is when the OpenFlow flows of a chassis changed, as its switch itself reports it.
type Installs struct {
	mu   sync.Mutex
	last time.Time
	n    int
}

// WatchFlows follows the flows of the chassis until the test ends.
func (c *Chassis) WatchFlows() *Installs {
	c.lab.tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(c.lab.tb.Context()), "ovs-ofctl", "monitor", "unix:"+c.path("br-int.mgmt"), "watch:!initial")
	cmd.Env = c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.lab.tb.Fatalf("watch flows: %v", err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		c.lab.tb.Fatalf("watch flows: %v", err)
	}
	w := &Installs{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(strings.TrimSpace(lines.Text()), "event=") {
				w.note(time.Now())
			}
		}
	}()
	c.lab.tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait() // its status is that of a signal
	})
	return w
}

func (w *Installs) note(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.n = at, w.n+1
}

// Changes returns how many flows have changed so far.
func (w *Installs) Changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// Last returns when a flow changed the last time.
func (w *Installs) Last() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Groups lists how many backends each group of the switch has, those with the fewest first.
func (c *Chassis) Groups() []int {
	c.lab.tb.Helper()
	out, err := run(c.lab.tb.Context(), c.env, "", "ovs-ofctl", "-O", "OpenFlow15", "dump-groups", "br-int")
	if err != nil {
		c.lab.tb.Fatal(err)
	}
	var all []int
	for line := range strings.Lines(out) {
		if n := strings.Count(line, "bucket="); n > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}
