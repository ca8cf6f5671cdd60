package main

import (
	"errors"

	"github.com/spf13/cobra"
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

Exit with 0 if the database is in sync, with 2 if it is not, with 3 if a manifest has a problem, and with 1 on an error. With
--repair, write the differences, and exit with 0 on success.` + coverageHelp,
		Example: `  netloom drift -f ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom drift --kubeconfig ~/.kube/config --ovn-nb tcp:10.0.0.1:6641 --repair`,
		Args: cobra.NoArgs,
	}
	bindConfig(cmd)
	showSettings(cmd, "kubeconfig", "kube-context", "tungsten", "ovn-port-names", "owner", "cluster", "zone-node", "max-delete-fraction", "force")
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
		return drift(cmd, cfg, manifests, repair, output.form, digest, strict)
	}
	return cmd
}

func drift(
	cmd *cobra.Command, cfg *configuration, manifests *manifestsFlag, repair bool, form, digest string, strict *strictFlag,
) error {
	if !repair {
		report, err := makePlan(cmd, cfg, &statesFlag{manifests: manifests})
		if err != nil {
			return err
		}
		err = printPlan(cmd, report.Plan, form)
		return worst(err, report.doubt, strict.judge(cmd, report.Coverage), verdictOfPlan(report.Plan))
	}
	if err := checkTarget(cfg); err != nil {
		return err
	}
	cfg, err := asRecorded(cmd, cfg, manifests)
	if err != nil {
		return err
	}
	log := quietLog(cmd, cfg)
	opts := optionsOf(cfg)
	opts.Target.Log = log
	read, err := readOnce(cmd, cfg, manifests, opts, log)
	if err != nil {
		return err
	}
	applied, err := applyOnce(cmd, cfg, opts.Target, &read, digest)
	if applied.Plan != nil {
		err = errors.Join(err, printPlan(cmd, applied.Plan, form))
	}
	unprotected := strict.judge(cmd, applied.Coverage)
	if err == nil && applied.Kept.Digest != "" {
		return keptError(cmd, applied.Kept)
	}
	return worst(err, doubtOf(read.Problems), unprotected)
}
