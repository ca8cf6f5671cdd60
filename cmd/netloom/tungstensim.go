package main

import (
	"fmt"

	"github.com/spf13/cobra"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
)

func newTungstenSim() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "tungsten-sim --listen ADDR",
		Short: "Serve a simulated Tungsten Fabric controller for experiments",
		Long: `Serve the REST API of a Tungsten Fabric configuration server, with the objects of a fresh installation. It answers as a real
server does, including its refusals. Everything is kept in memory. There are no pods: use netloom run --tungsten embedded for a
controller with an interface for every pod.`,
		Example: `  netloom tungsten-sim --listen 127.0.0.1:8082 &
  curl http://127.0.0.1:8082/tag-types`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server := simulator.New(simulator.Options{})
			defer server.Close()
			url, err := server.Start(cmd.Context(), listen)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "serving %s\n", url); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to serve on; port 0 selects a free port")
	return cmd
}
