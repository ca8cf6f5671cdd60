package main

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/source"
)

// manifestsFlag selects the manifests for a question.
type manifestsFlag struct {
	path string
	liveFlag
	fetched []byte // of a daemon or a cluster, once requested
	node    string // whose pods are subjects; "" means every node
}

// bindManifests adds the flag -f to a command.
func bindManifests(cmd *cobra.Command) *manifestsFlag {
	f := &manifestsFlag{}
	cmd.Flags().StringVarP(&f.path, "filename", "f", "", "directory of manifests, a file, or - for standard input")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it fails only for a flag that does not exist
	return f
}

// bindSources adds -f and the flags of bindLive to a command.
func bindSources(cmd *cobra.Command) *manifestsFlag {
	f := bindManifests(cmd)
	f.bindLive(cmd)
	refuseZone(cmd)
	return f
}

// source returns what to read.
func (f *manifestsFlag) source(cmd *cobra.Command) (offline.Manifests, error) {
	switch {
	case f.path != "" && (f.server != "" || f.kubeconfig != ""):
		return offline.Manifests{}, errors.New("-f, --server and --kubeconfig: expected only one of them")
	case f.path != "":
		return offline.Manifests{Path: f.path, Stdin: cmd.InOrStdin()}, nil
	case !f.given():
		return offline.Manifests{}, errors.New("-f: expected a directory of manifests, a file, or - for standard input;" +
			" or use --server for a running daemon, --kubeconfig for a cluster")
	}
	if f.fetched == nil {
		var err error
		if f.fetched, err = f.fetch(cmd); err != nil {
			return offline.Manifests{}, err
		}
	}
	return offline.Manifests{Path: "-", Stdin: bytes.NewReader(f.fetched), MaxFile: math.MaxInt64 - 1}, nil
}

// load reads and translates the manifests.
func (f *manifestsFlag) load(cmd *cobra.Command) (query.State, error) {
	opts, err := f.source(cmd)
	if err != nil {
		return query.State{}, err
	}
	opts.Translator.Node = f.node
	defer progress(cmd, "reading")()
	return offline.Load(opts)
}

// edited is load with objects replaced by those of the same name in further files and directories, and without some,
// which are named like networkpolicy/shop/db.
func (f *manifestsFlag) edited(cmd *cobra.Command, with, without []string) (query.State, error) {
	opts, err := f.source(cmd)
	if err != nil {
		return query.State{}, err
	}
	opts.Over, opts.Translator.Node = with, f.node
	for _, name := range without {
		ref, err := source.ParseRef(name)
		if err != nil {
			return query.State{}, err
		}
		opts.Without = append(opts.Without, ref)
	}
	defer progress(cmd, "reading")()
	return offline.Load(opts)
}

// ask is load with all problems printed on the error stream: invalid objects affect every answer.
func (f *manifestsFlag) ask(cmd *cobra.Command) (*query.Inventory, error) {
	state, err := f.load(cmd)
	if err != nil {
		return nil, err
	}
	for _, p := range state.Problems {
		cmd.PrintErrln("problem:", p)
	}
	inv := query.NewInventory(state)
	for _, what := range inv.Unknown() {
		cmd.PrintErrln("note:", what)
	}
	return inv, nil
}

// sdwanNames lists the SD-WAN resources for shell completion.
func (f *manifestsFlag) sdwanNames(cmd *cobra.Command) []string {
	if f.path == "" || f.path == "-" {
		return nil
	}
	state, err := f.load(cmd)
	if err != nil {
		return nil
	}
	return query.NewInventory(state).SDWANNames()
}

// names lists the completions: the objects of some kinds in the manifests on the command line so far, each with its kind.
// The objects of kind plain are listed without it; "" means none.
func (f *manifestsFlag) names(cmd *cobra.Command, plain query.Kind, kinds ...query.Kind) []string {
	if f.path == "" || f.path == "-" {
		return nil
	}
	state, err := f.load(cmd)
	if err != nil {
		return nil
	}
	inv := query.NewInventory(state)
	var all []string
	for _, k := range kinds {
		for _, n := range inv.Names(k) {
			if k != plain {
				n = string(k) + "/" + n
			}
			all = append(all, n)
		}
	}
	return all
}

// startingWith lists the names that begin with the typed text.
func startingWith(typed string, names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, typed) })
}
