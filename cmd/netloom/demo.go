package main

import (
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/daemon/demo"
)

func newDemo() *cobra.Command {
	var opts demo.Options
	var verbose bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the daemon with example manifests and an embedded database",
		Long: `Start an in-memory Northbound database with a logical port for every pod of the manifests, run the real daemon on the
directory, and print the rows that it writes, their source, and which pods can reach which. Then watch the directory: edit
a manifest to see which rows change. If the directory is empty, wait for manifests. The web page is served at the printed
address.

With --tungsten, start a simulated Tungsten Fabric controller instead, and print its tags and firewall rules.

With --clusters 2, run two clusters, each with its own database, whose policies select each other's pods by label, and change a
label in one of them.

With --gateway, start netloom gateway in front of two simulated API servers, and print a kubeconfig for it.

No root, cluster, OVN or controller is needed.`,
		Example: `  netloom demo
  netloom demo -f ./policies
  netloom demo --tungsten --once
  netloom demo --clusters 2
  netloom demo --gateway`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := logrus.New()
			log.SetOutput(cmd.ErrOrStderr())
			log.SetLevel(logrus.WarnLevel)
			if verbose {
				log.SetLevel(logrus.DebugLevel)
			}
			opts.Color = isTerminal(cmd.OutOrStdout())
			return demo.Run(cmd.Context(), opts, cmd.OutOrStdout(), log)
		},
	}
	cmd.Flags().StringVar(&opts.Manifests, "manifests", "", "directory of manifests (default: the examples)")
	bindDirectory(cmd)
	cmd.Flags().BoolVar(&opts.Once, "once", false, "print the first state and exit; exit with 1 if a probe has an unexpected result")
	cmd.Flags().IntVar(&opts.Clusters, "clusters", 1, "number of clusters: 1 or 2")
	cmd.Flags().BoolVar(&opts.Tungsten, "tungsten", false, "write to a simulated Tungsten Fabric controller instead of a database")
	cmd.Flags().BoolVar(&opts.Gateway, "gateway", false, "show the gateway in front of two simulated API servers")
	cmd.Flags().StringVar(&opts.Listen, "listen", "", "address for health, metrics and debug endpoints (default: none)")
	cmd.Flags().StringVar(&opts.UIListen, "ui-listen", "127.0.0.1:0", "address for the web page; empty disables it")
	cmd.Flags().StringSliceVar(&opts.ACLLogs, "acl-log", nil, "log files of ovn-controller, whose connections the web page shows")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "enable the log of the daemon")
	for _, other := range []string{"manifests", "filename", "tungsten", "listen", "acl-log"} {
		cmd.MarkFlagsMutuallyExclusive("clusters", other)
		cmd.MarkFlagsMutuallyExclusive("gateway", other)
	}
	cmd.MarkFlagsMutuallyExclusive("gateway", "clusters")
	return cmd
}
