package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/answers/verify"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/serve"
)

// defaultRounds is how long a sentinel waits between two comparisons.
const defaultRounds = time.Minute

func newVerify() *cobra.Command {
	v := &verifier{}
	cmd := &cobra.Command{
		Use:   "verify --ovn-nb ADDR",
		Short: "Compare what a database allows with what the policies allow, whoever wrote it",
		Long: `Read a Northbound database as it is, no matter which controller wrote it, and compare the connections that its ACLs allow with
those that the policies allow: NetworkPolicies, cluster-wide policies, and EgressFirewalls of ovn-kubernetes. Nothing is written
and no lock is taken. For every difference, show an example, the ACL that decided and the policies that should have.

TCP, UDP and SCTP are compared on every port, between pods and with the outside addresses that policies or ACLs distinguish.
What cannot be evaluated is listed; it never counts as agreement. Pods on the network of their node, nodes and other protocols
are not compared.

With --watch, compare repeatedly, print the result when it changes, and serve metrics on --listen.

Exit with 0 if the database agrees with the policies, with 2 if it does not, with 3 if something cannot be read or evaluated
and no difference was found, and with 1 on an error.`,
		Example: `  netloom verify --kubeconfig ~/.kube/config --ovn-nb tcp:10.0.0.1:6641
  netloom verify -f ./cluster.yaml --nb-dump nb.json
  netloom verify --ovn-nb unix:/var/run/ovn/ovnnb_db.sock --watch --listen :8080`,
		Args: cobra.NoArgs,
	}
	bindConfig(cmd)
	showSettings(cmd, "kubeconfig", "kube-context", "listen", "log-format")
	flags := cmd.Flags()
	v.manifests, v.output = bindManifests(cmd), bindOutput(cmd, formTable, formJSON, formYAML)
	v.manifests.real = true // a database knows nothing of what is made up
	flags.StringVar(&v.dump, "nb-dump", "", "file to read instead of a database: the output of ovsdb-client dump -f json, or ovsdb-client backup")
	flags.BoolVar(&v.watch, "watch", false, "compare repeatedly, and serve metrics")
	flags.DurationVar(&v.interval, "interval", defaultRounds, "pause between two comparisons with --watch")
	_ = cmd.MarkFlagFilename("nb-dump")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return v.run(cmd) }
	return cmd
}

// verifier is the flags of verify, and what it reads.
type verifier struct {
	manifests *manifestsFlag
	output    *outputFlag
	dump      string
	watch     bool
	interval  time.Duration

	cfg      *configuration
	log      *logrus.Logger
	database *offline.Database // nil with a dump
}

func (v *verifier) run(cmd *cobra.Command) error {
	if v.dump != "" {
		if cmd.Flags().Changed("ovn-nb") {
			return errors.New("--nb-dump and --ovn-nb: expected only one of them")
		}
		if err := cmd.Flags().Set("ovn-nb", ovn.Embedded); err != nil {
			return err
		}
	}
	var err error
	v.cfg, err = loadConfig(cmd)
	if err := errors.Join(err, v.output.check()); err != nil {
		return err
	}
	switch {
	case v.dump == "" && v.cfg.target.OVN.Embedded():
		return errors.New("--ovn-nb: expected the address of a database, or a file with --nb-dump")
	case v.interval < time.Second:
		return fmt.Errorf("--interval: %s: expected at least 1s", v.interval)
	}
	v.log = newLog(cmd, v.cfg.Config)
	if !v.watch {
		v.log = quietLog(cmd, v.cfg)
	}
	if v.dump == "" {
		settings := builtin.Settings{OVN: v.cfg.target.OVN, Log: v.log}
		if v.database, err = offline.OpenDatabase(cmd.Context(), &settings); err != nil {
			return err
		}
		defer func() { _ = v.database.Close() }() // nothing was written
	}
	if v.watch {
		return v.keepWatching(cmd)
	}
	state, report, err := v.compare(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	printReading(cmd, state)
	return worst(v.print(cmd, report), certain(judged(state)), verdictOfVerify(report))
}

// compare reads everything once and compares it.
func (v *verifier) compare(ctx context.Context, cmd *cobra.Command) (*world.State, *verify.Report, error) {
	rows, err := v.rows(ctx)
	if err != nil {
		return nil, nil, err
	}
	state, err := v.state(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	defer progress(cmd, "comparing")()
	return state, verify.Compare(state, rows), nil
}

// judged is a state without the doubts that other commands have: verify evaluates firewalls, and compares what netloom's rows enforce,
// whatever other kinds a cluster has.
func judged(state *world.State) *world.State {
	out := *state
	out.Objects.Firewalls = nil
	if out.Reading != nil {
		reading := *out.Reading
		reading.Unlisted = nil
		out.Reading = &reading
	}
	return &out
}

// rows reads the database.
func (v *verifier) rows(ctx context.Context) (*nbtrace.Rows, error) {
	if v.database != nil {
		rows, err := v.database.Rows(ctx)
		return &rows, err
	}
	file, err := os.Open(v.dump)
	if err != nil {
		return nil, fmt.Errorf("--nb-dump: %w", err)
	}
	defer func() { _ = file.Close() }()
	rows, err := nbtrace.ReadDump(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.dump, err)
	}
	return &rows, nil
}

// state reads the objects: manifests, or a cluster.
func (v *verifier) state(ctx context.Context, cmd *cobra.Command) (*world.State, error) {
	if v.manifests.fromFiles() {
		state, err := v.manifests.load(cmd)
		return &state, err
	}
	opts := daemon.Options{Kubeconfig: v.cfg.Kubeconfig, KubeContext: v.cfg.KubeContext, Read: source.Options{Questions: true, NoServices: true}}
	if opts.Kubeconfig == "" {
		opts.Kubeconfig = defaultKubeconfig()
	}
	done := progress(cmd, "reading the cluster")
	list, err := daemon.ManifestsOnce(ctx, opts, v.log)
	done()
	if err != nil {
		return nil, err
	}
	state, err := offline.Load(offline.Manifests{Paths: []string{"-"}, Stdin: bytes.NewReader(list), MaxFile: math.MaxInt64 - 1, Live: true})
	return &state, err
}

// keepWatching compares until it is interrupted.
func (v *verifier) keepWatching(cmd *cobra.Command) error {
	door, err := serve.New(serve.Options{}, nil, nil, v.log)
	if err != nil {
		return err
	}
	listener, err := door.Listen(cmd.Context(), "--listen", v.cfg.Listen)
	if err != nil {
		return err
	}
	metrics := newSentinelMetrics()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() {
		defer cancel()
		served <- door.Serve(ctx, mux, listener, false)
	}()
	(&sentinel{
		interval: v.interval, metrics: metrics, log: v.log,
		compare: func(ctx context.Context) (*verify.Report, error) {
			state, report, err := v.compare(ctx, cmd)
			if err == nil {
				report.Unknown = append(report.Unknown, judged(state).Doubts()...)
			}
			return report, err
		},
		changed: func(report *verify.Report, err error) {
			if err == nil {
				_ = v.print(cmd, report) // the log and the metrics have the result
			}
		},
	}).run(ctx)
	cancel()
	return <-served
}

// verdictOfVerify is the error for a report that is not pure agreement.
func verdictOfVerify(r *verify.Report) error {
	switch {
	case r.Opens+r.Closes > 0:
		return differs()
	case !r.Conclusive():
		return cannotTell("%s", some(r.Unknown, func(s string) string { return s }))
	}
	return nil
}

// print prints a report in the format of -o.
func (v *verifier) print(cmd *cobra.Command, r *verify.Report) error {
	out := cmd.OutOrStdout()
	if v.output.form != formTable {
		return printData(out, v.output.form, "Verification", r)
	}
	w := &answerWriter{palette: paletteFor(out)}
	for _, f := range r.Findings {
		w.finding(f)
	}
	w.verification(r)
	_, err := fmt.Fprint(out, w.String())
	return err
}
