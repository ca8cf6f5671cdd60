package main

import (
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
)

// strictFlag is --strict of the commands that read a database.
type strictFlag struct{ on bool }

// coverageHelp is the section about coverage in their help.
const coverageHelp = `

Pods that a policy selects but whose logical port is not in the database are NOT protected: they are listed. Exit with 4 if
that is true of all of them, or with --strict, of at least one.`

func bindStrict(cmd *cobra.Command) *strictFlag {
	f := &strictFlag{}
	cmd.Flags().BoolVar(&f.on, "strict", false, "exit with 4 if a selected pod is not protected, or only by a previous port")
	return f
}

// judge prints the pods that are not protected. An error about insufficient coverage takes precedence over one that only
// reports a difference.
func (f *strictFlag) judge(cmd *cobra.Command, c *backends.Report) error {
	_ = c.Write(cmd.ErrOrStderr()) // as everything there, see cobra.Command.PrintErr
	return f.exit(c)
}

// exit is the error for a coverage of c; nil if it is sufficient.
func (f *strictFlag) exit(c *backends.Report) error {
	if c.NoneFound() || f.on && !c.Complete() {
		return &exitError{code: exitUnprotected}
	}
	return nil
}
