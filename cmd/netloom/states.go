package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/world"
)

// statesFlag is two states of the manifests.
type statesFlag struct {
	manifests     *manifestsFlag
	with, without []string
	from, to      string
}

func bindStates(cmd *cobra.Command) *statesFlag {
	f := &statesFlag{manifests: bindManifests(cmd)}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.with, "with", nil, "file or directory with objects to replace or add; may be repeated")
	flags.StringArrayVar(&f.without, "without", nil, "object to remove, such as networkpolicy/shop/db or deploy/shop/web; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("without", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return startingWith(typed, f.manifests.policyNames(cmd)), cobra.ShellCompDirectiveNoFileComp
	})
	flags.StringVar(&f.from, "from", "", "directory or file with the first state, instead of -f")
	flags.StringVar(&f.to, "to", "", "directory or file with the second state")
	return f
}

// edited reports whether the command line describes a second state.
func (f *statesFlag) edited() bool {
	return len(f.with)+len(f.without) > 0 || f.from != "" || f.to != ""
}

// promoted reads one state, and returns it with the one in which its staged policies are in force.
func (f *statesFlag) promoted(cmd *cobra.Command) (before, after world.State, err error) {
	if f.edited() {
		return before, after, errors.New("--staged: expected -f only, without --with, --without, --from and --to")
	}
	if before, err = f.manifests.edited(cmd, nil, nil); err != nil {
		return before, after, err
	}
	if before.WouldBe == nil {
		return before, before, f.manifests.known(cmd, &before)
	}
	return before, before.WouldBe(), f.manifests.known(cmd, &before)
}

// load reads both states.
func (f *statesFlag) load(cmd *cobra.Command) (before, after world.State, err error) {
	edited := len(f.with)+len(f.without) > 0
	switch {
	case f.from != "" && f.to != "" && !f.manifests.fromFiles() && !edited:
		if before, err = f.manifests.at(f.from).edited(cmd, nil, nil); err != nil {
			return before, after, err
		}
		to := f.manifests.at(f.to)
		if after, err = to.edited(cmd, nil, nil); err != nil {
			return before, after, err
		}
		return before, after, to.known(cmd, &before, &after)
	case f.from != "" || f.to != "":
		return before, after, errors.New("--from and --to must be used together, and without -f, --with and --without")
	case !edited:
		return before, after, errors.New("expected a change: --with FILE, --without KIND/NAMESPACE/NAME, or --from and --to")
	}
	if before, err = f.manifests.edited(cmd, nil, nil); err != nil {
		return before, after, err
	}
	if after, err = f.manifests.edited(cmd, f.with, f.without); err != nil {
		return before, after, err
	}
	return before, after, f.manifests.known(cmd, &before, &after)
}
