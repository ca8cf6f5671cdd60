package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// refuseZone makes a command that evaluates whole connections explain why it does not support --zone-node.
func refuseZone(cmd *cobra.Command) {
	cmd.Flags().Var(zoneRefusal{}, "zone-node", "")
	_ = cmd.Flags().MarkHidden("zone-node") // it fails only for a flag that does not exist
}

// zoneRefusal is a flag that rejects every value.
type zoneRefusal struct{}

// String implements pflag.Value.
func (zoneRefusal) String() string { return "" }

// Type implements pflag.Value.
func (zoneRefusal) Type() string { return "string" }

// Set implements pflag.Value.
func (zoneRefusal) Set(string) error {
	return errors.New("not supported: the answer covers all nodes, and one node enforces only one side of a connection")
}
