package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// refuseZone has a command that judges whole connections say why it takes no --zone-node, which others take.
func refuseZone(cmd *cobra.Command) {
	cmd.Flags().Var(zoneRefusal{}, "zone-node", "")
	hideFlags(cmd.Flags(), "zone-node")
}

// zoneRefusal is a flag that can have no value.
type zoneRefusal struct{}

// String implements pflag.Value.
func (zoneRefusal) String() string { return "" }

// Type implements pflag.Value.
func (zoneRefusal) Type() string { return "string" }

// Set implements pflag.Value.
func (zoneRefusal) Set(string) error {
	return errors.New("not supported: the answer covers all nodes, and one node enforces only one side of a connection")
}
