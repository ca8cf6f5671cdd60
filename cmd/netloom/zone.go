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
	return errors.New("the answer is for all nodes at once: one node enforces half of a connection only; leave it away")
}
