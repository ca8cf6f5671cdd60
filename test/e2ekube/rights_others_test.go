//go:build e2e

package e2ekube_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	answers "github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/await"
)

// othersRole lists kinds that netloom does not evaluate.
const othersRole = "netloom-others"

// definitions are the kinds that are known to decide on connections, and an object of each, for the rights to list them.
func definitions(t *testing.T, rights []right) (kinds, objects string) {
	t.Helper()
	known := answers.ForeignKinds()
	require.Len(t, rights, len(known), "one right for each kind")
	for _, name := range known {
		group, kind, _ := strings.Cut(name, "/")
		at := slices.IndexFunc(rights, func(r right) bool {
			singular := strings.ToLower(kind)
			return r.group == group && (r.resource == singular || r.resource == singular+"s" || r.resource == strings.TrimSuffix(singular, "y")+"ies")
		})
		require.NotEqual(t, -1, at, "no right to list %s", name)
		kinds += fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, singular: %[3]s, kind: %[4]s, listKind: %[4]sList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, rights[at].resource, group, strings.ToLower(kind), kind)
		objects += fmt.Sprintf("---\napiVersion: %s/v1\nkind: %s\nmetadata: {name: one, namespace: default}\nspec: {private: true, vpc: blue}\n", group, kind)
	}
	return strings.TrimPrefix(kinds, "---\n"), strings.TrimPrefix(objects, "---\n")
}

// TestRightsToOtherKinds checks that netloom lists every kind that it has a right to, that it does so only when somebody asks, and that it
// names each kind that it may not list.
func TestRightsToOtherKinds(t *testing.T) {
	t.Parallel()
	kube := startKube(t)
	_, address := startEmptyNB(t)
	objects := central(t)(fmt.Sprintf("ovn-nb: [%q]\nconfirm-interval: 1s\n", address))
	kube.ApplyObjects(objects)
	awaitRoles(t, kube, objects)
	rights := rightsOfRole(t, objects, othersRole)
	kinds, examples := definitions(t, rights)
	kube.Apply(kinds)
	kube.Apply(examples)
	netloom := run(t, kube, home, "netloom")
	netloom.AwaitReady()
	require.Len(t, unused(kube, account, rights), len(rights), "nobody asked")

	manifests := func() string {
		text, err := netloom.Get("/debug/manifests")
		require.NoError(t, err)
		return text
	}
	require.Contains(t, manifests(), `"unlisted":[],`)
	for _, name := range answers.ForeignKinds() {
		group, kind, _ := strings.Cut(name, "/")
		require.Contains(t, manifests(), fmt.Sprintf(`{"apiVersion":"%s/v1","kind":%q,"metadata":{"namespace":"default","name":"one"}`, group, kind))
	}
	require.Empty(t, unused(kube, account, rights), "unused")
	requireNothingForbidden(t, kube)

	giveBack := without(t, kube, account, rights...)
	await.True(t, func() bool { return strings.Count(manifests(), `"cause":`) == len(rights) }, "every kind is missed")
	require.Empty(t, missing(kube, account, rights))
	giveBack()
	await.True(t, func() bool { return strings.Contains(manifests(), `"unlisted":[],`) }, "they are listed again")
}
