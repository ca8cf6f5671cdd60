package main

import (
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
)

// strictFlag is --strict of the commands that look at a database.
type strictFlag struct{ on bool }

// coverageHelp is what their help says of it.
const coverageHelp = `

Pods that a policy selects but whose logical port is not in the database are NOT protected: they are listed. Exit with 4 if
that is all of them, or with --strict at least one.`

func bindStrict(cmd *cobra.Command) *strictFlag {
	f := &strictFlag{}
	cmd.Flags().BoolVar(&f.on, "strict", false, "exit with 4 if a selected pod is not protected, or only by a previous port")
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
