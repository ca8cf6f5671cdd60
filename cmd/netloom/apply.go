package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

func newApply() *cobra.Command {
	var dryRun bool
	var output string
	var strict *strictFlag
	cmd := &cobra.Command{
		Use:   "apply --manifests DIR --ovn-nb ADDR",
		Short: "Bring a database in agreement with a directory of manifests, once",
		Long: `apply reads a directory of manifests (Namespaces, Pods with their status, Nodes, NetworkPolicies), makes the database
agree with it and reads back whether it does. A second apply writes nothing.

It exits with 0 when the database agrees, and with 1 when it does not or when a manifest could not be understood: every
problem is printed, and what could be understood is in force. With --dry-run nothing is written: the plan is printed,
and the exit code is 2 when there is a difference.` + coverageHelp,
		Example: `  netloom apply --manifests ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock --dry-run
  netloom apply --manifests ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return apply(cmd, cfg, dryRun, output, strict)
		},
	}
	bindConfig(cmd)
	hideDaemonFlags(cmd.Flags())
	strict = bindStrict(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and write nothing; exit 2 when there is a difference")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "how the plan is printed: table, json or yaml")
	complete(cmd, "output", "table", "json", "yaml")
	return cmd
}

// hideDaemonFlags leaves out of the help what apply has no use for. Given anyway, it does no harm: one file serves all
// commands.
func hideDaemonFlags(flags *pflag.FlagSet) {
	hideRunFlags(flags)
	hideFlags(flags, "kubeconfig", "kube-context")
}

// hideRunFlags leaves out of the help what only a daemon uses.
func hideRunFlags(flags *pflag.FlagSet) {
	hideFlags(flags, "listen", "pprof", "min-interval", "drift-interval", "retry-min", "retry-max", "leader-elect", "leader-elect-namespace",
		"leader-elect-name", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period")
}

func hideFlags(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if f := flags.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
}

func apply(cmd *cobra.Command, cfg *config.Config, dryRun bool, output string, strict *strictFlag) error {
	if err := checkApply(cfg, output); err != nil {
		return err
	}
	log := quietLog(cmd, cfg)
	done := progress(cmd, "reading")
	want, problems, err := daemon.ReadOnce(cmd.Context(), optionsOf(cfg), log)
	done()
	if err != nil {
		return err
	}
	for _, p := range problems {
		cmd.PrintErrln("problem:", p)
	}
	settings := optionsOf(cfg).Target
	settings.Log = log
	var planned daemon.Planned
	if dryRun {
		done = progress(cmd, "planning")
		planned, err = daemon.DryRun(cmd.Context(), settings, want)
		done()
	} else {
		planned, err = applyGuarded(cmd, cfg, settings, want)
	}
	if reconcile.IsRefused(err) {
		return fmt.Errorf("%w (--dry-run shows the plan, --force applies it)", err)
	}
	if planned.Plan != nil {
		err = errors.Join(err, printPlan(cmd, planned.Plan, output))
	}
	unprotected := strict.judge(cmd, planned.Coverage)
	switch {
	case err != nil:
		return err
	case len(problems) > 0:
		return &exitError{exitProblems, fmt.Sprintf("%d problems in %s", len(problems), cfg.Manifests)}
	case unprotected != nil:
		return unprotected
	case dryRun && !planned.Plan.Empty():
		return &exitError{code: exitDifference}
	}
	return nil
}

func checkApply(cfg *config.Config, output string) error {
	var faults []error
	if cfg.Manifests == "" {
		faults = append(faults, errors.New("--manifests: expected a directory"))
	}
	if cfg.OVN.Embedded() {
		faults = append(faults, errors.New("--ovn-nb: expected the address of a database: an embedded one ends with the command"))
	}
	if output != "table" && output != "json" && output != "yaml" {
		faults = append(faults, fmt.Errorf("--output: %q: expected table, json or yaml", output))
	}
	return errors.Join(faults...)
}

// applyGuarded applies unless the plan deletes more than the settings let it.
func applyGuarded(
	cmd *cobra.Command, cfg *config.Config, settings builtin.Settings, want *intent.Snapshot,
) (daemon.Planned, error) {
	guard := optionsOf(cfg).Reconcile.Guard
	if cfg.Force {
		guard = func(*backends.Plan) error { return nil }
		settings.MaxDeleteFraction = 1
	}
	defer progress(cmd, "writing")()
	return daemon.ApplyOnce(cmd.Context(), settings, want, guard)
}

func printPlan(cmd *cobra.Command, plan *backends.Plan, output string) error {
	out := cmd.OutOrStdout()
	if output == "table" {
		return plan.Write(out, bool(inkFor(out)))
	}
	return printData(out, output, plan)
}
