package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// showSettings leaves only some settings, and those of the database, in the help of a command. All settings are accepted, so that one
// file serves all commands, and --help-all shows them.
func showSettings(cmd *cobra.Command, names ...string) {
	flags := cmd.Flags()
	all := &helpAll{flags: flags}
	names = append(names, "config", "ovn-nb", "ovn-ca-cert", "ovn-cert", "ovn-key", "ovn-server-name", "log-level")
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(names, f.Name) {
			f.Hidden = true
			all.hidden = append(all.hidden, f)
		}
	})
	flags.VarPF(all, "help-all", "", "help with all settings").NoOptDefVal = "true"
}

// helpAll is the flag that shows the help with flags that are usually hidden.
type helpAll struct {
	flags  *pflag.FlagSet
	hidden []*pflag.Flag
}

// String is the default.
func (h *helpAll) String() string { return "" }

// Type is that of a flag without a value.
func (h *helpAll) Type() string { return "bool" }

// Set shows the flags and asks for help.
func (h *helpAll) Set(text string) error {
	if text == "true" {
		for _, f := range h.hidden {
			f.Hidden = false
		}
	}
	return h.flags.Set("help", text)
}

// bindDirectory adds -f to a command that watches a directory: it is the setting manifests.
func bindDirectory(cmd *cobra.Command) {
	cmd.Flags().VarP(&directoryFlag{flags: cmd.Flags()}, "filename", "f", "directory of manifests to watch; the same as --manifests")
	_ = cmd.MarkFlagDirname("filename") // it fails only for a flag that does not exist
}

// directoryFlag sets the setting manifests.
type directoryFlag struct {
	flags *pflag.FlagSet
	path  string
}

// String is the directory.
func (f *directoryFlag) String() string { return f.path }

// Type names the kind of value in help.
func (f *directoryFlag) Type() string { return "string" }

// Set accepts one directory.
func (f *directoryFlag) Set(path string) error {
	switch info, err := os.Stat(path); {
	case f.path != "":
		return errors.New("expected only one directory")
	case path == "-":
		return errors.New("standard input cannot be watched: expected a directory")
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory: netloom watches a directory", path)
	}
	f.path = path
	return f.flags.Set("manifests", path)
}

// complete adds shell completion of a flag's values.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// It fails only for a flag that does not exist, or that has completions already.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
