package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/daemon"
)

func newDrift() *cobra.Command {
	var repair bool
	var digest string
	cmd := &cobra.Command{
		Use:   "drift --ovn-nb ADDR",
		Short: "Compare a database with the desired state, and repair it",
		Long: `Read back every row that netloom owns and compare it with a directory of manifests, or with a cluster. The output shows what
a repair would write: a created row is missing in the database, an updated one was changed there, a deleted one is no
longer wanted. Rows of other owners are ignored.

Exit with 0 if the database is in sync, with 2 if it is not, and with 1 on an error. With --repair, write the differences,
and exit with 0 on success.` + coverageHelp,
		Example: `  netloom drift -f ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom drift --kubeconfig ~/.kube/config --ovn-nb tcp:10.0.0.1:6641 --repair`,
		Args: cobra.NoArgs,
	}
	bindConfig(cmd)
	hideRunFlags(cmd.Flags())
	manifests := bindManifests(cmd)
	output := bindOutput(cmd, "table", "json", "yaml")
	strict := bindStrict(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "write the differences; keep rows if too many objects are missing")
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

func drift(cmd *cobra.Command, cfg *configuration, repair bool, form, digest string, strict *strictFlag) error {
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
