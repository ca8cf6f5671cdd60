package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/version"
)

func newRun() *cobra.Command {
	var printConfig, checkConfig bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep an OVN Northbound database in agreement with the NetworkPolicies of a cluster or a directory",
		Long: `run watches NetworkPolicies, Pods, Namespaces and Nodes and keeps the database in agreement until it is told to stop.
It writes nothing before everything has been listed, touches no row that is not its own, and leaves the database as it
is when it ends.

With --sdewan it also configures the OpenWRT network functions of the cluster, as its SD-WAN resources say, and writes their
status. Without --ovn-nb it does that alone.

With --webhook-listen it also answers the admission reviews of the cluster, as netloom webhook does by itself. Neither waits for
the other.

With --leader-elect several may run on one cluster: one of them holds a Lease and writes, the others stand by and take over.

Settings come from flags, from NETLOOM_… variables and from a file; docs/config.md lists them.`,
		Example: `  netloom run --ovn-nb tcp:10.0.0.1:6641,tcp:10.0.0.2:6641,tcp:10.0.0.3:6641      # in a cluster
  netloom run --kubeconfig ~/.kube/config --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom run --manifests ./policies --ovn-nb embedded                            # with nothing installed
  netloom run --sdewan                                                            # SD-WAN alone`,
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
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "the configuration is good")
				return err
			}
			return runDaemon(cmd, cfg)
		},
	}
	bindConfig(cmd)
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print every setting and where it came from, and end")
	cmd.Flags().BoolVar(&checkConfig, "check-config", false, "check the settings, and end")
	return cmd
}

func runDaemon(cmd *cobra.Command, cfg *config.Config) error {
	log := newLog(cmd, cfg)
	d, err := daemon.New(optionsOf(cfg), log)
	if err != nil {
		return err
	}
	defer d.Close()
	log.WithField("version", version.Current().Version).Info("netloom is starting")
	err = d.Run(cmd.Context())
	log.Info("netloom has stopped; the targets stay as they are")
	return err
}
