package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
)

// known fails if the namespace of the command line is in none of some states. The namespace of a kubeconfig file is not checked.
func (f *manifestsFlag) known(cmd *cobra.Command, states ...*world.State) error {
	if !cmd.Flags().Changed("namespace") || slices.ContainsFunc(states, func(s *world.State) bool { return hasNamespace(s, f.namespace) }) {
		return nil
	}
	return f.noNamespace()
}

// declared is known for manifests alone.
func (f *manifestsFlag) declared(cmd *cobra.Command, files *manifest.Directory) error {
	if !cmd.Flags().Changed("namespace") || slices.ContainsFunc(files.Refs(), func(ref object.Ref) bool {
		return ref.Namespace == f.namespace || ref.Kind == object.KindNamespace && ref.Name == f.namespace
	}) {
		return nil
	}
	return f.noNamespace()
}

// checkScope reads the manifests and fails unless they have the namespace of the command line, and no other.
func (f *manifestsFlag) checkScope(cmd *cobra.Command) error {
	if !f.fromFiles() || !cmd.Flags().Changed("namespace") {
		return nil
	}
	opts, err := f.source(cmd)
	if err != nil {
		return err
	}
	files, err := offline.Source(opts, source.Options{})
	if err != nil {
		return err
	}
	return cmp.Or(f.declared(cmd, files), f.alone(cmd, files))
}

// alone fails if manifests declare policies or Services of another namespace than the one of the command line: what becomes of a database is
// a matter of all of them, and kubectl apply refuses those as well.
func (f *manifestsFlag) alone(cmd *cobra.Command, files *manifest.Directory) error {
	if !cmd.Flags().Changed("namespace") {
		return nil
	}
	for _, ref := range files.Refs() {
		if ref.Namespace != "" && ref.Namespace != f.namespace && (ref.Kind == object.KindNetworkPolicy || ref.Kind == object.KindService) {
			return fmt.Errorf("-n %s: %s is in another namespace, and a database has the rows of all: leave out -n", f.namespace, ref.Path())
		}
	}
	return nil
}

func (f *manifestsFlag) noNamespace() error {
	return fmt.Errorf("-n %s: no such namespace in %s", f.namespace, f.title())
}

// hasNamespace reports whether a state has a namespace, or may have it: where namespaces cannot be listed, those of objects are all that is
// known.
func hasNamespace(s *world.State, namespace string) bool {
	if slices.Contains(s.Unavailable, object.KindNamespace) {
		return true
	}
	for range s.View.Tagged(labelcache.Tag{Kind: labelcache.NamespaceLabel, Key: corev1.LabelMetadataName, Value: namespace}) {
		return true
	}
	for e := range s.View.Endpoints() {
		if e.Key.Namespace == namespace {
			return true
		}
	}
	return false
}
