package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/pipeline"
)

func newApply() *cobra.Command {
	var dryRun bool
	var digest string
	var output *outputFlag
	var strict *strictFlag
	var manifests *manifestsFlag
	cmd := &cobra.Command{
		Use:   "apply -f DIR --ovn-nb ADDR",
		Short: "Sync a database with a directory of manifests once",
		Long: `Read a directory of manifests (Namespaces, Pods with their status, Nodes, NetworkPolicies, Services), sync the database with
it, and read it back to verify the result. Running apply again writes nothing.

Exit with 0 if the database is in sync, with 1 if that fails, and with 3 if a manifest has a problem: every problem is printed,
and the valid part is in force. With --dry-run, print the plan and write nothing; exit with 2 if there are differences.

An empty directory looks like one whose objects were deleted. If too many objects that have rows in the database are missing
from the directory, keep those rows, write everything else, and exit with 3. To remove exactly those rows, use --approve
with the printed digest; to remove the rows of all missing objects, use --force.` + coverageHelp,
		Example: `  netloom apply -f ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock --dry-run
  netloom apply -f ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return apply(cmd, cfg, manifests, dryRun, output, digest, strict)
		},
	}
	bindConfig(cmd)
	showSettings(cmd, "tungsten", "ovn-port-names", "owner", "cluster", "zone-node", "max-delete-fraction", "force")
	manifests = bindManifests(cmd)
	strict = bindStrict(cmd)
	output = bindOutput(cmd, formTable, formJSON, formYAML)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and write nothing; exit with 2 if there are differences")
	bindDigest(cmd, &digest)
	return cmd
}

// bindDigest adds the flag that approves the removal of missing objects to a command.
func bindDigest(cmd *cobra.Command, digest *string) {
	cmd.Flags().StringVar(digest, "approve", "", "remove the rows of the missing objects with this digest")
}

func apply(
	cmd *cobra.Command, cfg *configuration, manifests *manifestsFlag, dryRun bool, output *outputFlag, digest string, strict *strictFlag,
) error {
	if err := errors.Join(checkApply(cfg, manifests), output.check()); err != nil {
		return err
	}
	log := quietLog(cmd, cfg)
	read, err := readOnce(cmd, cfg, manifests, optionsOf(cfg), log)
	if err != nil {
		return err
	}
	settings := optionsOf(cfg).Target
	settings.Log = log
	var applied offline.Applied
	if dryRun {
		done := progress(cmd, "planning")
		applied.Planned, err = offline.DryRun(cmd.Context(), settings, read.Snapshot)
		done()
	} else {
		applied, err = applyOnce(cmd, cfg, settings, &read, digest)
	}
	if applied.Plan != nil {
		err = errors.Join(err, printPlan(cmd, applied.Plan, output.form))
	}
	unprotected := strict.judge(cmd, applied.Coverage)
	switch {
	case err != nil:
		return err
	case applied.Kept.Digest != "":
		return keptError(cmd, applied.Kept)
	case len(read.Problems) > 0:
		return doubtOf(read.Problems)
	case unprotected != nil:
		return unprotected
	case dryRun && !applied.Plan.Empty():
		return differs()
	}
	return nil
}

func checkApply(cfg *configuration, manifests *manifestsFlag) error {
	var faults []error
	if cfg.Manifests == "" && !manifests.fromFiles() {
		faults = append(faults, errors.New("-f: expected a directory of manifests, a file, or - for standard input"))
	}
	for _, flag := range cfg.target.Embedded() {
		faults = append(faults, fmt.Errorf("%s: expected an address; an embedded target lasts only as long as the command", flag))
	}
	return errors.Join(faults...)
}

// applyOnce applies what the settings, the digest and the problems of the source allow.
func applyOnce(
	cmd *cobra.Command, cfg *configuration, settings builtin.Settings, read *daemon.Read, digest string,
) (offline.Applied, error) {
	if cfg.Force {
		settings.MaxDeleteFraction = 1
	}
	guard := optionsOf(cfg).Reconcile
	guard.Unreadable = func() bool { return pipeline.Unreadable(read.Problems) }
	guard.Known = func(ref object.Ref) bool { // besides those in the snapshot, which lose nothing
		_, staged := slices.BinarySearchFunc(read.Staged, ref, object.Ref.Compare)
		return staged
	}
	defer progress(cmd, "writing")()
	return offline.Apply(cmd.Context(), settings, read.Snapshot, guard, offline.Approval{All: cfg.Force, Digest: digest})
}

// keptError lists what was left in the target, and how to remove it.
func keptError(cmd *cobra.Command, kept retention.Kept) error {
	for _, k := range kept.Objects {
		cmd.PrintErrln("kept:", k)
	}
	return &exitError{exitCannotTell, fmt.Sprintf("%s missing from the source: their rows were kept, everything else was written; "+
		"to remove them, use --approve %s", counted(len(kept.Objects), "object"), kept.Digest)}
}

func printPlan(cmd *cobra.Command, plan *backends.Plan, output string) error {
	out := cmd.OutOrStdout()
	if output == "table" {
		return plan.Write(out, bool(paletteFor(out)))
	}
	return printData(out, output, "Plan", plan)
}
