package demo

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/reconcile"
)

// show prints what the daemon does. It observes the loop and prints from its own goroutine.
type show struct {
	w        io.Writer
	color    bool
	dir      string
	client   *ovsdb.Client
	daemon   *daemon.Daemon
	target   string // whose plans are shown
	podPorts *podPorts
	changes  chan change
	cnfs     *cnfs // nil without SD-WAN

	published chan struct{} // there is a new snapshot; only the newest matters
	synced    chan struct{} // the target is in sync
	problems  string        // the last printed ones
}

// change is a plan that was written.
type change struct {
	plan *backends.Plan
	took time.Duration
}

// play prints the first state and then every change.
func (s *show) play(ctx context.Context, once bool) error {
	first, err := s.first(ctx, once)
	if err != nil {
		return err
	}
	s.printf("%s\n%s, %d load balancers\n\n", s.bold("Written: "+first.plan.Summary()),
		s.daemon.Pipeline().Stats(), s.daemon.Pipeline().Latest().LoadBalancerCount())
	rows, err := s.printDatabase(ctx)
	if err != nil {
		return err
	}
	wrong, err := s.printProbes(rows)
	if err != nil {
		return err
	}
	s.printProblems()
	if err := s.cnfs.first(ctx); err != nil {
		return err
	}
	if once {
		if wrong > 0 {
			return fmt.Errorf("%d probes were not answered as expected", wrong)
		}
		return nil
	}
	s.printf("\n%s Edit a file in %s and see its rows change. Press Ctrl-C to stop.\n", s.bold("Watching."), absolute(s.dir))
	s.cnfs.suggest()
	s.printPage()
	s.printf("The database: ovn-nbctl --db=%s list ACL\n", strings.Join(s.daemon.DatabaseAddress(), ","))
	return s.follow(ctx)
}

// firstPlan waits for the first written plan. As long as there is nothing to write it waits for files, unless once is set.
func (s *show) firstPlan(ctx context.Context, once bool) (change, error) {
	limit, waiting := time.After(patience), false
	for {
		select {
		case <-ctx.Done():
			return change{}, ctx.Err()
		case <-limit:
			return change{}, fmt.Errorf("nothing was written within %s", patience)
		case c := <-s.changes:
			return c, nil
		case <-s.published:
			s.printProblems()
		case <-s.synced:
			if len(s.changes) > 0 || waiting {
				continue
			}
			if once {
				return change{}, fmt.Errorf("no NetworkPolicies or Services in %s: nothing was written", s.dir)
			}
			s.printf("%s Add a NetworkPolicy or a Service to %s and see what is written. Press Ctrl-C to stop.\n", s.bold("Waiting for manifests."), absolute(s.dir))
			s.printPage()
			limit, waiting = nil, true
		}
	}
}

// printPage prints where the web page is, if there is one.
func (s *show) printPage() {
	if page := s.daemon.UIAddress(); page != "" {
		s.printf("The web page: %s\n", page)
	}
}

// first waits for the first written plan, and for the connection to read the result.
func (s *show) first(ctx context.Context, once bool) (change, error) {
	c, err := s.firstPlan(ctx, once)
	if err != nil {
		return change{}, err
	}
	timeout := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !s.client.Connected() {
		select {
		case <-ctx.Done():
			return change{}, ctx.Err()
		case <-timeout:
			return change{}, fmt.Errorf("no connection to the embedded database within %s", patience)
		case <-tick.C:
		}
	}
	return c, nil
}

func (s *show) follow(ctx context.Context) error {
	var written <-chan deviceChange
	if s.cnfs != nil {
		written = s.cnfs.changes
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-s.changes:
			s.printf("\n%s\n", s.bold(fmt.Sprintf("%s  revision %d, written in %s",
				time.Now().Format(time.TimeOnly), c.plan.Revision, c.took.Round(time.Microsecond))))
			if err := c.plan.Write(s.w, s.color); err != nil {
				return err
			}
			s.printProblems()
		case <-s.published: // a problem need not change any row
			s.printProblems()
		case c := <-written:
			if err := s.cnfs.written(c); err != nil {
				return err
			}
		}
	}
}

// absolute returns a path in absolute form, for display.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// printProblems prints the problems unless they are the same as before.
func (s *show) printProblems() {
	var text strings.Builder
	for _, p := range s.daemon.Pipeline().Problems() {
		fmt.Fprintf(&text, "! %s\n", p)
	}
	if s.problems != text.String() {
		s.problems = text.String()
		s.printf("%s", s.problems)
	}
}

// publish has play look at the problems of a new snapshot.
func (s *show) publish() { wake(s.published) }

// wake sends without waiting: one signal says as much as several.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *show) printf(format string, args ...any) { _, _ = fmt.Fprintf(s.w, format, args...) }

func (s *show) bold(text string) string { return s.paint("1", text) }

func (s *show) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Applied hands a written plan to the printing goroutine. If the printer is too slow, some plans are dropped: this is only
// a display.
func (s *show) Applied(target string, p *backends.Plan, took time.Duration) {
	if target != s.target {
		return
	}
	select {
	case s.changes <- change{plan: p, took: took}:
	default:
	}
}

// Planned is ignored, as is what follows.
func (s *show) Planned(string, *backends.Plan, time.Duration) {}

// Failed is ignored: the log has it.
func (s *show) Failed(string, reconcile.Phase, error) {}

// Refused is ignored: the log has it.
func (s *show) Refused(string, int, int) {}

// Drift is ignored.
func (s *show) Drift(string, int) {}

// Blind is ignored.
func (s *show) Blind(string, error) {}

// Disturbed is ignored.
func (s *show) Disturbed(string, *reconcile.Disturbance) {}

// Converged reports that a target is in sync: what Applied handed over comes first.
func (s *show) Converged(target string, _ intent.Revision, _ int) {
	if target == s.target {
		wake(s.synced)
	}
}
