//go:build e2e

package e2ekube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/test/await"
)

// anything is a definition of a kind of SD-WAN that accepts whatever it is given.
const anything = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: firewallrules.batch.sdewan.akraino.org}
spec:
  group: batch.sdewan.akraino.org
  scope: Namespaced
  names: {plural: firewallrules, singular: firewallrule, kind: FirewallRule, listKind: FirewallRuleList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestDrillSDWANDefinitions removes a definition (CRD) of SD-WAN with all of its objects, and puts one in its place that accepts anything.
// Objects that make no sense are reported, the others are in force, and network policies are as they were all the time.
func TestDrillSDWANDefinitions(t *testing.T) {
	t.Parallel()
	w, objects := newSDWAN(t)
	w.inSync(objects)
	w.kube.Apply(policies)
	rows := w.ovn.Dump()

	t.Log("a definition goes, with its objects")
	w.removeDefinition("firewallrules." + v1alpha1.Group)
	began := time.Now()
	w.awaitReadiness("firewallrules.batch.sdewan.akraino.org can no longer be read; what was read earlier stays in force")
	told := time.Since(began)
	require.Equal(t, rows, w.ovn.Dump())

	t.Log("another one comes, which accepts anything")
	w.kube.Apply(anything)
	await.True(t, func() bool {
		_, err := w.sdwan("firewallrules").List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, "the kind is served")
	w.kube.Apply(sdwanRule("25"))
	w.kube.Apply(strings.NewReplacer("no-mail-from-desks", "senseless", `dest_port: "25"`, "dest_port: {a: [1, 2]}, extra: {b: true}").Replace(sdwanRule("25")))
	w.inSync(objects)
	await.True(t, func() bool {
		w.netloom.Running()
		problems, err := w.netloom.Get("/debug/problems")
		return err == nil && strings.Contains(problems, "FirewallRule/edge/senseless")
	}, "what makes no sense is a problem")
	require.Equal(t, rows, w.ovn.Dump())

	t.Log("the right one comes back")
	w.removeDefinition("firewallrules." + v1alpha1.Group)
	w.installDefinitions()
	w.kube.Apply(sdwanRule("25"))
	w.inSync(objects)
	w.awaitReadiness("ok\n")
	require.Equal(t, rows, w.ovn.Dump())
	reportDrill(t, w.netloom.PID(), "a definition (CRD) of SD-WAN is removed, and replaced by one that accepts anything", "nothing", "–",
		fmt.Sprintf("after %.1f s: `/readyz` degraded; a problem of the object that makes no sense", told.Seconds()))
}

// removeDefinition removes a definition, and waits until the API server has deleted its objects, too.
func (w *world) removeDefinition(name string) {
	w.t.Helper()
	definitions := w.kube.Objects().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	require.NoError(w.t, definitions.Delete(w.t.Context(), name, metav1.DeleteOptions{}))
	await.True(w.t, func() bool {
		w.netloom.Running()
		_, err := definitions.Get(w.t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, "%s", name+" is gone")
}
