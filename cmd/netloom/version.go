package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/version"
)

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
	}
	output := bindOutput(cmd, "table", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := output.check(); err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if output.form != "table" {
			return printData(out, output.form, "Version", version.Current())
		}
		_, err := fmt.Fprintln(out, version.Current())
		return err
	}
	return cmd
}
