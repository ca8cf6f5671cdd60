package main

import (
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/netloom/netloom/pkg/daemon/demo"
)

func newDemo() *cobra.Command {
	var opts demo.Options
	var verbose bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the daemon over example manifests and an embedded database, and show what it makes",
		Long: `demo starts a Northbound database within the process, gives every pod of the manifests a logical port there, runs
the real daemon over the directory and prints the rows it made, where each came from, and who may reach whom. Then it
watches: edit a manifest and see which rows change. Meanwhile it serves the web page, whose address it prints.

Nothing but this program is needed: no root, no cluster, no OVN.`,
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
	cmd.Flags().BoolVar(&opts.Once, "once", false, "print the first state and end; exit 1 when a probe is answered otherwise than expected")
	cmd.Flags().StringVar(&opts.Listen, "listen", "", "address to serve health, metrics and debugging on (default: none)")
	cmd.Flags().StringVar(&opts.UIListen, "ui-listen", "127.0.0.1:0", "address to serve the web page on; nothing serves none")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log what the daemon does")
	return cmd
}

// isTerminal says whether a person reads w directly.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
