package main

import (
	"fmt"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/version"
)

func newRun() *cobra.Command {
	var printConfig, checkConfig bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep OVN or Tungsten Fabric in sync with the NetworkPolicies of a cluster or a directory",
		Long: `Watch NetworkPolicies, Services, Pods, Namespaces and Nodes and keep the database in sync until interrupted. Nothing is
written until everything has been listed. Rows of other owners are never changed, and all rows stay in the database when
netloom exits.

With --sdewan, also configure the CNFs of the cluster, which are pods that run OpenWRT, from its SD-WAN resources, and write
the status of the resources. --ovn-nb is then optional.

With --tungsten, keep the policies of a Tungsten Fabric controller in sync, too. --ovn-nb is then optional.

With --webhook-listen, also answer the admission reviews of the cluster, like netloom webhook.

With --leader-elect, several replicas can run for one cluster: the leader has a Lease and writes, the others are on standby.

Settings come from flags, NETLOOM_… environment variables and a file; docs/config.md lists them.`,
		Example: `  netloom run --ovn-nb tcp:10.0.0.1:6641,tcp:10.0.0.2:6641,tcp:10.0.0.3:6641      # in a cluster
  netloom run --kubeconfig ~/.kube/config --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom run -f ./policies --ovn-nb embedded                                     # without a cluster or OVN
  netloom run --tungsten http://10.0.0.1:8082,http://10.0.0.2:8082
  netloom run --sdewan                                                            # only SD-WAN`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			switch {
			case printConfig:
				return cfg.Print(cmd.OutOrStdout())
			case checkConfig:
				for _, warning := range cfg.Warnings() {
					cmd.PrintErrln("warning:", warning)
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "the configuration is valid")
				return err
			}
			return runDaemon(cmd, cfg)
		},
	}
	bindConfig(cmd)
	bindDirectory(cmd)
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print every setting and where it came from, and exit")
	cmd.Flags().BoolVar(&checkConfig, "check-config", false, "check the settings, and exit")
	return cmd
}

func runDaemon(cmd *cobra.Command, cfg *configuration) error {
	log := newLog(cmd, cfg.Config)
	limitMemory(log, memlimit.FromCgroup)
	opts := optionsOf(cfg)
	opts.Reconcile.Settings = cfg.Values(rowSettings()...)
	disconnect, err := connectUpstream(cmd.Context(), cfg, &opts, log)
	if err != nil {
		return err
	}
	defer disconnect()
	d, err := daemon.New(opts, log)
	if err != nil {
		return err
	}
	defer d.Close()
	log.WithField("version", version.Current().Version).Info("netloom is starting")
	err = d.Run(cmd.Context())
	log.Info("netloom has stopped; targets are left unchanged")
	return err
}
