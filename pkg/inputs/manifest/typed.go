package manifest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/spelling"
)

const kindKustomization = "Kustomization"

// typed checks that an object gives its type. Files for kustomize need not.
func (r *reading) typed(is metav1.TypeMeta, path string) bool {
	switch {
	case is.APIVersion == "" && isKustomization(r.manifest.path) && (is.Kind == "" || is.Kind == kindKustomization || is.Kind == "Component"):
		r.manifest.foreign[kindKustomization]++
		return false
	case is.Kind == "":
		r.lost(join(path, "kind"), "Required value")
		return false
	case is.APIVersion == "":
		r.lost(join(path, "apiVersion"), "Required value")
		return false
	default:
		return true
	}
}

// nearGroup is how many letters of a group may be wrong for a kind to be taken for a misspelt one.
const nearGroup = 2

// meant returns the kind, or that of the items of a list, if a version of it is given that no server has: another one of its group than
// is read, or one of a misspelt group. It is nil if there is none.
func (r *reading) meant(version schema.GroupVersion, name string) *kind {
	row, ok := kindOf(name)
	if !ok {
		row, ok = kindOf(strings.TrimSuffix(name, "List"))
	}
	if !ok || !r.opts.wants(row.Kind) || scheme.Scheme.IsVersionRegistered(version) {
		return nil
	}
	group, wrong := row.Version.Group, strings.ToLower(version.Group)
	switch {
	case wrong == group, group == "" && wrong == "core":
		return row
	case group != "" && spelling.Distance(wrong, group, nearGroup) >= 0:
		return row
	}
	return nil
}

// isUnrecognized reports whether a kind must be a mistake: a server that has the version does not have the kind in it, or not
// the one that is read.
func (r *reading) isUnrecognized(version schema.GroupVersion, kind string) bool {
	_, served := kindOf(kind)
	served = served && r.opts.wants(kind)
	switch {
	case isSDWANGroup(version.Group):
		return served || version != v1alpha1.GroupVersion || !source.IsSDWAN(kind)
	case version.Group == policyv1alpha2.GroupName:
		return served || strings.HasSuffix(kind, "NetworkPolicy") && !object.IsClusterPolicy(kind)
	}
	return scheme.Scheme.IsVersionRegistered(version) && (!scheme.Scheme.Recognizes(version.WithKind(kind)) || served)
}

// listed reports whether a kind is a list, and the type of its items if they do not give their own.
func (r *reading) listed(version schema.GroupVersion, written, kind string) (item metav1.TypeMeta, ok bool) {
	if kind == "List" && version == (schema.GroupVersion{Version: "v1"}) {
		return metav1.TypeMeta{}, true
	}
	name, ok := strings.CutSuffix(kind, "List")
	if !ok {
		return metav1.TypeMeta{}, false
	}
	row, ok := kindOf(name)
	if !ok || row.Version != version || !r.opts.wants(row.Kind) {
		return metav1.TypeMeta{}, false
	}
	return metav1.TypeMeta{APIVersion: written, Kind: name}, true
}
