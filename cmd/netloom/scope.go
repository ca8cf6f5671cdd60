package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
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
