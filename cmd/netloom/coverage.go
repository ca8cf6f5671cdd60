package main

import (
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
)

// strictFlag is --strict of the commands that look at a database.
type strictFlag struct{ on bool }

// coverageHelp is what their help says of it.
const coverageHelp = `

Pods that a policy selects and whose logical port is not in the database are NOT protected: they are named. When that is
all of them it exits with 4; with --strict, when it is one.`

func bindStrict(cmd *cobra.Command) *strictFlag {
	f := &strictFlag{}
	cmd.Flags().BoolVar(&f.on, "strict", false, "exit with 4 when a selected pod is not protected, or only by a port that was kept")
	return f
}

// judge names the pods that are not protected. The error of a coverage that is not good enough stands before one that only
// says that there is a difference.
func (f *strictFlag) judge(cmd *cobra.Command, c *backends.Report) error {
	_ = c.Write(cmd.ErrOrStderr()) // as everything there, see cobra.Command.PrintErr
	return f.exit(c)
}

// exit is the error that ends a command of which c came out; nil for a coverage that is good enough.
func (f *strictFlag) exit(c *backends.Report) error {
	if c.Useless() || f.on && !c.Complete() {
		return &exitError{code: exitUnprotected}
	}
	return nil
}
