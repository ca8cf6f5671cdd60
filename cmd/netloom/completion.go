package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
)

// completeObject completes the name of an object as kubectl does, with any word for its kind: KIND/NAMESPACE/NAME or, as a second
// argument, [NAMESPACE/]NAME. A name without a namespace is completed in the one of -n.
func completeObject(manifests *manifestsFlag) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		inv := manifests.quietly(cmd)
		if inv == nil || len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		word, _, whole := strings.Cut(typed, "/")
		prefix := ""
		if len(args) == 1 {
			word, whole = args[0], true
		} else {
			prefix = word + "/"
		}
		if whole {
			if names := namesOf(inv, word, manifests.namespace); names != nil {
				for i := range names {
					names[i] = prefix + names[i]
				}
				return startingWith(typed, names), cobra.ShellCompDirectiveNoFileComp
			}
		}
		names := inv.EveryName()
		if typed != "" {
			names = append(names, inv.WorkloadNames()...)
		}
		return startingWith(typed, names), cobra.ShellCompDirectiveNoFileComp
	}
}

// namesOf lists the objects of a kind, by any word for it: as NAMESPACE/NAME, and those of a namespace by their names as well. It is nil for
// any other word, and for a kind without objects.
func namesOf(inv *world.World, word, namespace string) []string {
	kind, ok := name.KindOf(word)
	var out []string
	switch {
	case ok && kind.Workload():
		for _, w := range inv.WorkloadNames() {
			if n, is := strings.CutPrefix(w, string(kind)+"/"); is {
				out = append(out, n)
			}
		}
	case ok:
		out = inv.Names(kind)
	default:
		out = inv.Names(name.Kind(word))
	}
	for _, full := range slices.Clone(out) {
		if short, in := strings.CutPrefix(full, namespace+"/"); in && namespace != "" {
			out = append(out, short)
		}
	}
	return out
}
