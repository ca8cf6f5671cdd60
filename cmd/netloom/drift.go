package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/daemon"
)

func newDrift() *cobra.Command {
	var repair bool
	var digest string
	cmd := &cobra.Command{
		Use:   "drift --ovn-nb ADDR",
		Short: "Tell whether a database still is as it was made, and repair it",
		Long: `drift reads back every row of netloom's and compares it with what a directory of manifests, or a cluster, wants now. What
it prints is what a repair writes: a created row is one that is missing, a changed one was altered, a deleted one is
wanted no more. Rows of other owners are not looked at.

It exits with 0 when the database agrees, with 2 when it does not, and with 1 when it cannot tell. With --repair it
makes the database agree, and exits with 0 when it does.` + coverageHelp,
		Example: `  netloom drift -f ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom drift --kubeconfig ~/.kube/config --ovn-nb tcp:10.0.0.1:6641 --repair`,
		Args: cobra.NoArgs,
	}
	bindConfig(cmd)
	hideRunFlags(cmd.Flags())
	manifests := bindManifests(cmd)
	output := bindOutput(cmd, "table", "json", "yaml")
	strict := bindStrict(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "write what is missing; rows of too many missing objects are kept")
	bindDigest(cmd, &digest)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := loadConfig(cmd)
		if err := errors.Join(err, output.check()); err != nil {
			return err
		}
		cfg.Manifests = cmp.Or(manifests.path, cfg.Manifests)
		return drift(cmd, cfg, repair, output.form, digest, strict)
	}
	return cmd
}

func drift(cmd *cobra.Command, cfg *config.Config, repair bool, form, digest string, strict *strictFlag) error {
	if !repair {
		report, err := makePlan(cmd, cfg, &statesFlag{manifests: &manifestsFlag{}})
		if err != nil {
			return err
		}
		err = printPlan(cmd, report.Plan, form)
		if err == nil && !report.Plan.Empty() {
			err = &exitError{code: exitDifference}
		}
		return cmp.Or(strict.judge(cmd, report.Coverage), err)
	}
	if err := checkTarget(cfg); err != nil {
		return err
	}
	log := quietLog(cmd, cfg)
	opts := optionsOf(cfg)
	done := progress(cmd, "comparing")
	want, problems, err := daemon.ReadOnce(cmd.Context(), opts, log)
	done()
	for _, p := range problems {
		cmd.PrintErrln("problem:", p)
	}
	if err != nil {
		return err
	}
	opts.Target.Log = log
	applied, err := applyOnce(cmd, cfg, opts.Target, want, problems, digest)
	if applied.Plan != nil {
		err = errors.Join(err, printPlan(cmd, applied.Plan, form))
	}
	unprotected := strict.judge(cmd, applied.Coverage)
	if err == nil && applied.Kept.Digest != "" {
		return keptError(cmd, applied.Kept)
	}
	return cmp.Or(err, unprotected)
}
