package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/version"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Current())
			return err
		},
	}
}
