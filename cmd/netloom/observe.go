package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/acllog"
)

// observeOptions is the command line of observe.
type observeOptions struct {
	last    time.Duration
	follow  bool
	verdict string
	staged  bool
	load    func() (*world.World, error) // reads pods and policies again
}

// reloadEvery is how often pods and policies are read again while logs are followed.
const reloadEvery = 30 * time.Second

func newObserve() *cobra.Command {
	opts := &observeOptions{}
	cmd := &cobra.Command{
		Use:   "observe -f DIR LOG...",
		Short: "Show which connections ACL logs say were denied or allowed, and by which policy",
		Long: `Read the log of ovn-controller and show the connections that logged ACLs allowed or denied: from which pod to which, by which
rule of which policy, how often, and what it would take to allow them. Policies are logged if they have the annotation
netloom.io/acl-logging. ACL names written by ovn-kubernetes and kube-ovn are recognized too.

LOG is a file or - for standard input, such as that of "journalctl -o short -u ovn-controller" or "kubectl logs". Times are
those of the log: the last hour is the one before its newest line. Addresses that no pod has are shown as they are. At most
4096 different connections are shown, 256 for each pod; the others are counted together.

With --staged, show for each staged policy how many connections of its pods were seen, and those that it would deny or allow if it were
enforced. Pods that staged policies select are logged for that, without deciding anything: see docs/staged.md. The whole log counts, whatever
--last says.

With --follow, print each connection when it is first seen, follow the files through rotation until interrupted, and print
all of them at the end. Pods and policies are then read again every 30 seconds; what was seen before keeps its names.

Exit with 0 if the answer is complete, with 3 if it is incomplete or empty, and with 1 on an error.`,
		Example: `  netloom observe -f examples docs/commands/ovn-controller.log
  journalctl -o short -u ovn-controller | netloom observe --kubeconfig ~/.kube/config -
  netloom observe -f examples -f docs/staged/staged.yaml --staged docs/staged/ovn-controller.log
  netloom observe -f policies --follow /var/log/ovn/ovn-controller.log`,
		Args: cobra.MinimumNArgs(1),
	}
	manifests := bindSources(cmd)
	manifests.firewalls, manifests.networks = true, true
	output := bindOutput(cmd, formTable, formJSON, formYAML)
	flags := cmd.Flags()
	flags.DurationVar(&opts.last, "last", time.Hour, "how far back from the newest line to count, at least 12s")
	flags.BoolVar(&opts.follow, "follow", false, "follow the files until interrupted")
	flags.BoolVar(&opts.staged, "staged", false, "show the connections that staged policies would decide differently")
	flags.StringVar(&opts.verdict, "verdict", "all", "which connections to show: denied, allowed or all")
	complete(cmd, "verdict", string(flows.Denied), string(flows.Allowed), "all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(opts.check(args), output.check()); err != nil {
			return err
		}
		inv, state, err := manifests.ask(cmd)
		if err != nil {
			return err
		}
		opts.load = func() (*world.World, error) {
			state, err := manifests.again().load(cmd)
			if err != nil {
				return nil, err
			}
			return world.New(state), nil
		}
		return worst(opts.run(cmd, inv, args, output.form), certain(&state))
	}
	return cmd
}

func (o *observeOptions) check(logs []string) error {
	var faults []error
	switch o.verdict {
	case string(flows.Denied), string(flows.Allowed), "all":
	default:
		faults = append(faults, fmt.Errorf("--verdict: %q: expected denied, allowed or all", o.verdict))
	}
	if o.last < 12*time.Second {
		faults = append(faults, fmt.Errorf("--last: %s: expected at least 12s", o.last))
	}
	for _, path := range logs {
		if path == "-" && len(logs) > 1 {
			faults = append(faults, errors.New("-: standard input cannot be combined with files"))
		}
	}
	return errors.Join(faults...)
}

func (o *observeOptions) run(cmd *cobra.Command, inv *world.World, logs []string, form string) error {
	w := newWatcher(inv, o.last)
	out := cmd.OutOrStdout()
	if o.follow && form == formTable {
		w.fresh = func(k *flows.Key, at time.Time) {
			if o.shows(k) && !o.staged {
				_, _ = fmt.Fprintf(out, "%s  %s\n", at.Format(time.TimeOnly), flowText(k))
			}
		}
		w.differs = func(d *flows.Difference) {
			if o.staged {
				_, _ = fmt.Fprintln(out, differenceText(d))
			}
		}
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	if o.follow {
		ticker := time.NewTicker(reloadEvery)
		defer ticker.Stop()
		reloaded := make(chan struct{})
		go func() {
			defer close(reloaded)
			w.reload(ctx, ticker.C, o.load, func(err error) { cmd.PrintErrln("note: cannot read pods and policies again:", err) })
		}()
		defer func() { cancel(); <-reloaded }()
	}
	if err := w.readAll(cmd, logs, o.follow); err != nil {
		return err
	}
	if w.Entries() == 0 {
		return cannotTell("the log has no lines that ovn-controller writes for logged ACLs")
	}
	if o.staged {
		return o.printStaged(out, form, w.trial.Report())
	}
	inv = w.inventory()
	report := o.report(inv, w.Report(time.Time{}))
	if form != formTable {
		return printData(out, form, "Observation", report)
	}
	_, err := io.WriteString(out, reportText(report, o.last, paletteFor(out)))
	return err
}

func (o *observeOptions) shows(k *flows.Key) bool {
	return o.verdict == "all" || o.verdict == string(k.Verdict)
}

// watcher counts the lines of logs. Its recorder is safe for concurrent use; the rest is guarded by mu.
type watcher struct {
	*flows.Recorder
	trial   *flows.Trial
	fresh   func(k *flows.Key, at time.Time) // called for each new flow, unless it is nil
	differs func(d *flows.Difference)        // called for each new difference, unless it is nil

	mu   sync.Mutex
	inv  *world.World
	long int // lines that were too long
}

func newWatcher(inv *world.World, last time.Duration) *watcher {
	return &watcher{Recorder: flows.NewRecorder(guideTo(inv), last), trial: flows.NewTrial(judgeOf(inv)), inv: inv}
}

func judgeOf(inv *world.World) *flows.Judge { return flows.NewJudge(inv, ovn.LogNames(inv.Snapshot())) }

func guideTo(inv *world.World) *flows.Guide {
	return flows.NewGuide(inv, ovn.LogNames(inv.Snapshot()))
}

// inventory is what lines are read with.
func (w *watcher) inventory() *world.World {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inv
}

// reload reads pods and policies again at every tick, until ctx ends. While that fails, those before are used.
func (w *watcher) reload(ctx context.Context, ticks <-chan time.Time, load func() (*world.World, error), failed func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		inv, err := load()
		if err != nil {
			failed(err)
			continue
		}
		w.Use(guideTo(inv))
		w.trial.Use(judgeOf(inv))
		w.mu.Lock()
		w.inv = inv
		w.mu.Unlock()
	}
}

func (w *watcher) line(line []byte) {
	now := time.Now()
	k, at, isNew := w.Line(line, now)
	differences := w.trial.Line(line, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	if isNew && w.fresh != nil {
		w.fresh(&k, at)
	}
	for i := range differences {
		if w.differs != nil {
			w.differs(&differences[i])
		}
	}
}

// readAll reads logs to their end, or follows them until the command is interrupted.
func (w *watcher) readAll(cmd *cobra.Command, logs []string, follow bool) error {
	group, ctx := errgroup.WithContext(cmd.Context())
	for _, path := range logs {
		group.Go(func() error {
			if follow && path != "-" {
				return acllog.Follow(ctx, path, w.line)
			}
			return w.read(ctx, cmd, path)
		})
	}
	err := group.Wait()
	if w.long > 0 {
		cmd.PrintErrf("note: %s skipped, longer than %d bytes\n", counted(w.long, "line"), acllog.MaxLine)
	}
	if follow && errors.Is(err, context.Canceled) {
		return nil // interrupted: that is how it ends
	}
	return err
}

func (w *watcher) read(ctx context.Context, cmd *cobra.Command, path string) error {
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path) //nolint:gosec // G304: the path is on the command line.
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		defer func() { _ = f.Close() }() // it is only read
		in = f
	}
	long, err := acllog.Read(ctx, in, w.line)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.long += long
	if err != nil {
		return fmt.Errorf("read the log %s: %w", path, err)
	}
	return nil
}

// observation is what observe prints.
type observation struct {
	Until time.Time         `json:"until"` // the newest line
	Flows []flows.Described `json:"flows"`
	Other map[string]uint64 `json:"other,omitempty"` // entries of further flows, by verdict
}

// report completes a report of the log with what the policies say now.
func (o *observeOptions) report(inv *world.World, r flows.Report) *observation {
	out := &observation{Until: r.Until, Other: map[string]uint64{}}
	out.Flows = flows.Describe(slices.DeleteFunc(r.Flows, func(f flows.Flow) bool { return !o.shows(&f.Key) }), probe.Asker(inv))
	for v, n := range r.Other {
		if o.verdict == "all" || o.verdict == string(v) {
			out.Other[string(v)] = n
		}
	}
	return out
}

// flowText formats a flow in a line.
func flowText(k *flows.Key) string {
	return fmt.Sprintf("%s  %s -> %s %s, by %s", k.Verdict, k.From, k.To, k.Port, causeText(k))
}

// causeText names what decided about a flow.
func causeText(k *flows.Key) string {
	switch {
	case k.Policy == "" && k.ACL == "":
		return "an ACL without a name"
	case k.Policy == "":
		return fmt.Sprintf("ACL %q, which belongs to no known policy", k.ACL)
	case k.Rule == flows.Isolation:
		return "default deny of " + k.Policy
	default:
		return k.Policy + " " + k.Rule
	}
}

// reportText formats a report as text.
func reportText(r *observation, last time.Duration, i palette) string {
	w := &answerWriter{palette: i}
	for _, verdict := range []flows.Verdict{flows.Denied, flows.Allowed} {
		head := false
		for n := range r.Flows {
			f := &r.Flows[n]
			if f.Verdict != verdict {
				continue
			}
			if !head {
				w.line("%s", i.bold(fmt.Sprintf("%s in the last %s, until %s:", verdict, spanText(last), r.Until.UTC().Format(time.RFC3339))))
				head = true
			}
			w.line("  %s -> %s %s, by %s, %s", f.From, f.To, f.Port, causeText(&f.Key), timesText(f.Count))
			switch {
			case f.Now == string(probe.Allow) && verdict == flows.Denied:
				w.line("    %s", i.dim("the policies allow it now"))
			case len(f.Change) > 0:
				w.line("    %s", i.dim("it would take:"))
				for _, c := range f.Change {
					w.line("      - %s", c)
				}
			}
		}
		if n := r.Other[string(verdict)]; n > 0 {
			w.line("  %s connections, beyond the limit, %s", i.dim("other"), timesText(n))
		}
	}
	if w.Len() == 0 {
		w.line("no matching connections in the last %s of the log", spanText(last))
	}
	return w.String()
}

func timesText(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// spanText formats a duration without its zero parts.
func spanText(d time.Duration) string {
	if d == time.Hour {
		return "hour"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
