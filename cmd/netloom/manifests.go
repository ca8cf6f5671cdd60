package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/offline"
)

// manifestsFlag selects the manifests for a question.
type manifestsFlag struct {
	paths      []string
	kustomize  []string
	ignore     []string
	recursive  bool
	namespace  string
	everywhere bool // names without a namespace select in all of them
	liveFlag
	clustersFlag
	stdin   []byte // once read
	fetched []byte // of a daemon or a cluster, once requested
	real    bool   // nothing stands for pods and addresses that manifests do not declare
	node    string // whose pods are subjects; "" means every node
	// firewalls has EgressFirewalls of ovn-kubernetes evaluated as well, and networks the networks that plugins separate.
	firewalls, networks bool
	// connections says that the answer is about connections alone, and never about the rows that allow them.
	connections bool
	backend     string // whose limits are problems; "" is the default
}

// bindBackend adds the flag for the backend whose limits are among the problems.
func (f *manifestsFlag) bindBackend(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.backend, "backend", "", fmt.Sprintf(
		"report what this backend cannot express: %s (default for files: %s)", strings.Join(builtin.Explained(), " or "), builtin.OVN))
	complete(cmd, "backend", builtin.Explained()...)
}

// bindManifests adds the flags that select manifests to a command.
func bindManifests(cmd *cobra.Command) *manifestsFlag {
	f := &manifestsFlag{}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.paths, "filename", "f", nil, "directory of manifests, a file, a pattern, or - for standard input; may be repeated")
	flags.StringArrayVarP(&f.kustomize, "kustomize", "k", nil, "directory with a kustomization to build; may be repeated")
	flags.BoolVarP(&f.recursive, "recursive", "R", true, "read the directories of -f with those below them")
	flags.StringArrayVar(&f.ignore, "ignore", nil, "pattern of files to skip, or a kind that answers may leave out; may be repeated")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of objects and names without one")
	_ = cmd.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return startingWith(typed, f.namespaces(cmd)), cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it fails only for a flag that does not exist
	_ = cmd.MarkFlagDirname("kustomize")
	return f
}

// bindSources adds the flags of bindManifests and of bindLive to a command.
func bindSources(cmd *cobra.Command) *manifestsFlag {
	f := bindManifests(cmd)
	f.bindLive(cmd)
	refuseZone(cmd)
	cmd.Flags().BoolVarP(&f.everywhere, "all-namespaces", "A", false, "names without a namespace select in all namespaces")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	return f
}

// scope is the namespace of names without one, for questions.
func (f *manifestsFlag) scope() string {
	if f.everywhere {
		return name.AllNamespaces
	}
	return f.namespace
}

// fromFiles reports whether files are selected.
func (f *manifestsFlag) fromFiles() bool { return len(f.paths)+len(f.kustomize) > 0 }

// at selects another directory or file in place of those that f selects, for the same question.
func (f *manifestsFlag) at(path string) *manifestsFlag {
	return &manifestsFlag{
		paths: []string{path}, ignore: f.ignore, recursive: f.recursive, namespace: f.namespace, node: f.node, firewalls: f.firewalls,
		networks: f.networks, connections: f.connections, backend: f.backend, clustersFlag: f.clustersFlag,
	}
}

// again selects the same objects, without what was fetched of them: the next read requests the state of a cluster again.
func (f *manifestsFlag) again() *manifestsFlag {
	out := *f
	out.fetched = nil
	return &out
}

// title names what is read, for messages.
func (f *manifestsFlag) title() string {
	if !f.fromFiles() {
		return "the cluster"
	}
	return strings.Join(slices.Concat(f.paths, f.kustomize), ", ")
}

// source returns what to read.
func (f *manifestsFlag) source(cmd *cobra.Command) (offline.Manifests, error) {
	out := offline.Manifests{Kustomize: f.kustomize, Ignore: f.ignore, Shallow: !f.recursive, Namespace: f.namespace}
	out.Translator.Node, out.Translator.Firewalls, out.Networks, out.Backend = f.node, f.firewalls, f.networks, f.backend
	out.Translator.Undivided = f.connections
	if err := f.addTo(&out); err != nil {
		return out, err
	}
	switch {
	case f.fromFiles() && (f.server != "" || f.kubeconfig != ""):
		return out, errors.New("-f, -k, --server and --kubeconfig: expected only one of them")
	case f.fromFiles() && (f.context != "" || f.as != "" || len(f.asGroups) > 0):
		return out, errors.New("--context, --as and --as-group select how a cluster is read: they cannot be used with -f or -k")
	case f.fromFiles():
		out.Paths, out.Live = f.paths, f.real
		return out, f.readStdin(cmd, &out)
	case !f.given():
		return out, errors.New("-f: expected a directory of manifests, a file, or - for standard input;" +
			" or use -k for a kustomization, --server for a running daemon, --kubeconfig for a cluster")
	}
	if f.fetched == nil {
		var err error
		if f.fetched, err = f.fetch(cmd, f.namespace); err != nil {
			return out, err
		}
	}
	if f.namespace == "" && (f.server == "" || f.server == autoServer) {
		f.namespace = f.contextNamespace()
	}
	out.Paths, out.Live, out.Namespace = []string{"-"}, true, ""
	out.Stdin, out.MaxFile = bytes.NewReader(f.fetched), math.MaxInt64-1
	return out, nil
}

// readStdin reads the standard input, once for all states that a command compares.
func (f *manifestsFlag) readStdin(cmd *cobra.Command, out *offline.Manifests) error {
	if !slices.Contains(f.paths, "-") {
		return nil
	}
	if f.stdin == nil {
		defer progress(cmd, "reading")()
		var err error
		if f.stdin, err = manifest.Read(cmd.InOrStdin(), 0); err != nil {
			return fmt.Errorf("read manifests: stdin: %w", err)
		}
	}
	out.Stdin = bytes.NewReader(f.stdin)
	return nil
}

// load reads and translates the manifests.
func (f *manifestsFlag) load(cmd *cobra.Command) (world.State, error) {
	state, err := f.edited(cmd, nil, nil)
	if err == nil {
		err = f.known(cmd, &state)
	}
	return state, err
}

// edited is load with objects replaced by those of the same name in further files and directories, and without some,
// which are named like networkpolicy/shop/db or deploy/shop/web; their namespace defaults to that of manifests without one.
func (f *manifestsFlag) edited(cmd *cobra.Command, with, without []string) (world.State, error) {
	opts, err := f.source(cmd)
	if err != nil {
		return world.State{}, err
	}
	opts.Over = with
	for _, name := range without {
		ref, err := objectNamed(name, cmp.Or(f.namespace, metav1.NamespaceDefault))
		if err != nil {
			return world.State{}, err
		}
		opts.Without = append(opts.Without, ref)
	}
	defer progress(cmd, "reading")()
	return offline.Load(opts)
}

// ask is load with all problems and what was left out printed on the error stream: it affects every answer. Once the answer is printed,
// the command returns worst(…, certain(state)) or, if its answer is about some connections only, uncertain with their doubts.
func (f *manifestsFlag) ask(cmd *cobra.Command) (*world.World, world.State, error) {
	state, err := f.load(cmd)
	if err != nil {
		return nil, state, err
	}
	printReading(cmd, &state)
	inv := world.New(state)
	for _, what := range inv.Unknown() {
		cmd.PrintErrln("note:", what)
	}
	return inv, state, nil
}

// printReading prints the problems of a state and what was left out of it on the error stream.
func printReading(cmd *cobra.Command, state *world.State) {
	for _, p := range state.Problems {
		cmd.PrintErrln("problem:", p)
	}
	if state.Reading != nil {
		for _, what := range state.Reading.Notes() {
			cmd.PrintErrln("note:", what)
		}
	}
	for i := range state.Others {
		printOther(cmd, &state.Others[i])
	}
}

// printOther is printReading for another cluster.
func printOther(cmd *cobra.Command, state *world.State) {
	for _, p := range state.Problems {
		cmd.PrintErrf("problem: cluster %s: %s\n", state.Cluster, p)
	}
	for _, what := range state.Reading.Notes() {
		cmd.PrintErrf("note: cluster %s: %s\n", state.Cluster, what)
	}
}

// certain is the error for an answer about states that is not certain; nil if it is.
func certain(states ...*world.State) error {
	return uncertain(doubtsOf(states...))
}

// uncertain is the error for an answer with doubts; nil if there are none.
func uncertain(doubts []string) error {
	if len(doubts) == 0 {
		return nil
	}
	return cannotTell("%s", strings.Join(once(doubts), "; "))
}

// once leaves out what is in a list already.
func once(list []string) []string {
	var out []string
	for _, text := range list {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// doubtsOf lists why an answer about states is not certain, each reason once.
func doubtsOf(states ...*world.State) []string {
	var doubts []string
	for _, s := range states {
		doubts = append(doubts, s.Doubts()...)
	}
	return once(doubts)
}

// quietly loads for shell completion; nil if that fails or would need standard input.
func (f *manifestsFlag) quietly(cmd *cobra.Command) *world.World {
	if slices.Contains(f.paths, "-") {
		return nil
	}
	state, err := f.edited(cmd, nil, nil)
	if err != nil {
		return nil
	}
	return world.New(state)
}

// namespaces lists those with a pod or a NetworkPolicy, for shell completion.
func (f *manifestsFlag) namespaces(cmd *cobra.Command) []string {
	var all []string
	for _, name := range f.names(cmd, name.Pod, name.Pod) {
		namespace, _, _ := strings.Cut(name, "/")
		all = append(all, namespace)
	}
	for _, name := range f.names(cmd, name.NetworkPolicy, name.NetworkPolicy) {
		namespace, _, _ := strings.Cut(name, "/")
		all = append(all, namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// policyNames lists the policies, each with its kind, for shell completion.
func (f *manifestsFlag) policyNames(cmd *cobra.Command) []string {
	return f.names(cmd, "", append(name.ClusterPolicyKinds(), name.NetworkPolicy)...)
}

// names lists the completions: the objects of some kinds in the manifests on the command line so far, each with its kind.
// The objects of kind plain are listed without it; "" means none.
func (f *manifestsFlag) names(cmd *cobra.Command, plain name.Kind, kinds ...name.Kind) []string {
	inv := f.quietly(cmd)
	if inv == nil {
		return nil
	}
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

// workloadNames lists the workloads in the manifests, such as deploy/shop/web, once something is typed: before that, the names of their pods
// are completions enough.
func (f *manifestsFlag) workloadNames(cmd *cobra.Command, typed string) []string {
	if typed == "" {
		return nil
	}
	inv := f.quietly(cmd)
	if inv == nil {
		return nil
	}
	return inv.WorkloadNames()
}

// startingWith lists the names that begin with the typed text.
func startingWith(typed string, names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, typed) })
}
