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

// manifestsFlag is where a question's manifests are.
type manifestsFlag struct {
	path string
	liveFlag
	fetched []byte // of a daemon or a cluster, once it was asked
	node    string // whose pods are subjects; "" is every node
}

// bindManifests gives a command the flag -f.
func bindManifests(cmd *cobra.Command) *manifestsFlag {
	f := &manifestsFlag{}
	cmd.Flags().StringVarP(&f.path, "filename", "f", "", "directory of manifests, a file, or - for standard input")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it fails only for a flag that is not there
	return f
}

// bindSources gives a command -f and the flags of bindLive.
func bindSources(cmd *cobra.Command) *manifestsFlag {
	f := bindManifests(cmd)
	f.bindLive(cmd)
	refuseZone(cmd)
	return f
}

// source is what to read.
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

// edited is load with the objects of further files and directories in the place of those of the same name, and without
// some, which are named like networkpolicy/shop/db.
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

// ask is load, with the problems told on the error stream: what could not be understood bears on every answer.
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

// sdwanNames lists the SD-WAN resources that shells complete.
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

// names lists what shells complete: the objects of some kinds in the manifests that the command line names so far, each
// behind its kind. Of several kinds, plain is the one whose names stand alone; "" is none.
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

// startingWith are the names that begin as typed.
func startingWith(typed string, names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, typed) })
}
