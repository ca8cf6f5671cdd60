package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/retention"
)

func newApply() *cobra.Command {
	var dryRun bool
	var output, digest string
	var strict *strictFlag
	cmd := &cobra.Command{
		Use:   "apply --manifests DIR --ovn-nb ADDR",
		Short: "Sync a database with a directory of manifests once",
		Long: `Read a directory of manifests (Namespaces, Pods with their status, Nodes, NetworkPolicies, Services), sync the database with
it, and read it back to verify the result. Running apply again writes nothing.

Exit with 0 if the database is in sync, and with 1 if it is not or if a manifest has a problem: every problem is printed,
and the valid part is in force. With --dry-run, print the plan and write nothing; exit with 2 if there are differences.

An empty directory looks like one whose objects were deleted. If too many objects that have rows in the database are missing
from the directory, keep those rows, write everything else, and exit with 1. To remove exactly those rows, use --approve
with the printed digest; to remove the rows of all missing objects, use --force.` + coverageHelp,
		Example: `  netloom apply --manifests ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock --dry-run
  netloom apply --manifests ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return apply(cmd, cfg, dryRun, output, digest, strict)
		},
	}
	bindConfig(cmd)
	hideDaemonFlags(cmd.Flags())
	strict = bindStrict(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and write nothing; exit with 2 if there are differences")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format of the plan: table, json or yaml")
	bindDigest(cmd, &digest)
	complete(cmd, "output", "table", "json", "yaml")
	return cmd
}

// bindDigest adds the flag that approves the removal of missing objects to a command.
func bindDigest(cmd *cobra.Command, digest *string) {
	cmd.Flags().StringVar(digest, "approve", "", "remove the rows of the missing objects with this digest")
}

// hideDaemonFlags hides the flags that apply does not use from the help. They are still accepted: one file serves all
// commands.
func hideDaemonFlags(flags *pflag.FlagSet) {
	hideRunFlags(flags)
	hideFlags(flags, "kubeconfig", "kube-context")
}

// hideRunFlags hides the flags that only a daemon uses from the help.
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

func apply(cmd *cobra.Command, cfg *configuration, dryRun bool, output, digest string, strict *strictFlag) error {
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
	var applied offline.Applied
	if dryRun {
		done = progress(cmd, "planning")
		applied.Planned, err = offline.DryRun(cmd.Context(), settings, want)
		done()
	} else {
		applied, err = applyOnce(cmd, cfg, settings, want, problems, digest)
	}
	if applied.Plan != nil {
		err = errors.Join(err, printPlan(cmd, applied.Plan, output))
	}
	unprotected := strict.judge(cmd, applied.Coverage)
	switch {
	case err != nil:
		return err
	case applied.Kept.Digest != "":
		return keptError(cmd, applied.Kept)
	case len(problems) > 0:
		return &exitError{exitProblems, fmt.Sprintf("%d problems in %s", len(problems), cfg.Manifests)}
	case unprotected != nil:
		return unprotected
	case dryRun && !applied.Plan.Empty():
		return &exitError{code: exitDifference}
	}
	return nil
}

func checkApply(cfg *configuration, output string) error {
	var faults []error
	if cfg.Manifests == "" {
		faults = append(faults, errors.New("--manifests: expected a directory"))
	}
	if cfg.target.OVN.Embedded() {
		faults = append(faults, errors.New("--ovn-nb: expected the address of a database; an embedded one only lasts as long as the command"))
	}
	if output != "table" && output != "json" && output != "yaml" {
		faults = append(faults, fmt.Errorf("--output: %q: expected table, json or yaml", output))
	}
	return errors.Join(faults...)
}

// applyOnce applies what the settings, the digest and the problems of the source allow.
func applyOnce(
	cmd *cobra.Command, cfg *configuration, settings builtin.Settings, want *intent.Snapshot, problems []object.Problem, digest string,
) (offline.Applied, error) {
	if cfg.Force {
		settings.MaxDeleteFraction = 1
	}
	guard := optionsOf(cfg).Reconcile
	guard.Unreadable = func() bool { return pipeline.Unreadable(problems) }
	defer progress(cmd, "writing")()
	return offline.Apply(cmd.Context(), settings, want, guard, offline.Approval{All: cfg.Force, Digest: digest})
}

// keptError lists what was left in the target, and how to remove it.
func keptError(cmd *cobra.Command, kept retention.Kept) error {
	for _, k := range kept.Objects {
		cmd.PrintErrln("kept:", k)
	}
	return &exitError{exitProblems, fmt.Sprintf("%s missing from the source: their rows were kept, everything else was written; "+
		"to remove them, use --approve %s", counted(len(kept.Objects), "object"), kept.Digest)}
}

func printPlan(cmd *cobra.Command, plan *backends.Plan, output string) error {
	out := cmd.OutOrStdout()
	if output == "table" {
		return plan.Write(out, bool(paletteFor(out)))
	}
	return printData(out, output, plan)
}
