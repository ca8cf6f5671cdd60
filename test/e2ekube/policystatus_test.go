//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/test/await"
)

// feedbackRole is the role of the component.
const feedbackRole = "netloom-feedback"

// TestPolicyStatus checks whether policies are enforced as users do, with a netloom that has only the rights of the
// component for it: each is used, and each is missed.
func TestPolicyStatus(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Second) // the API has no fractions
	w := &world{t: t, kube: startKube(t, "WatchList=false"), ovn: startOVN(t)}
	w.kube.Apply(nodes + namespaces)
	objects := central(t, "feedback")(settingsFor(w.ovn))
	w.kube.ApplyObjects(objects)
	w.netloom = run(t, w.kube, home, "netloom")
	w.netloom.AwaitReady()
	w.peopled()
	w.kube.Apply(policies + "---" + service)
	w.converge()

	t.Log("the CRD is missing, and comes")
	w.awaitReadiness("degraded: PolicyStatus objects cannot be read")
	definition, err := os.ReadFile(root + "/deploy/crds/netloom.io_policystatuses.yaml")
	require.NoError(t, err)
	w.kube.Apply(string(definition))
	w.awaitRow("web", "True", 1)
	w.awaitReadiness("ok\n")
	for _, name := range []string{"default-deny", "api", "db", "watched"} {
		w.awaitRow(name, "True", 1)
	}
	row := w.rows()["web"]
	require.Equal(t, "1/1", row["Targets"])
	require.EqualValues(t, 2, row["Subjects"])
	require.EqualValues(t, 0, row["Problems"])
	s := w.policyStatus("web")
	require.Equal(t, "spec.egress[0]", s.Status.Peers[0].Rule)
	require.EqualValues(t, 1, s.Status.Peers[0].Pods)
	require.EqualValues(t, 2, s.Status.Peers[0].Addresses)
	require.Positive(t, s.Status.Targets[0].Rows)
	require.Positive(t, s.Status.Targets[0].Revision)
	require.False(t, s.Status.Targets[0].Since.Time.Before(began), "since when it is enforced")
	require.False(t, s.Status.Targets[0].Since.Time.After(time.Now()), "since when it is enforced")

	t.Log("the CRDs of cluster-wide policies are missing, and come")
	w.defineClusterPolicies()
	w.kube.Apply(onePolicyOfEachKind)
	w.awaitClusterPolicies()
	w.kube.Apply(strings.ReplaceAll(onePolicyOfEachKind, "such", "team"))
	w.awaitClusterPolicies()

	w.enforcedOnceWritten()
	w.problemsAreNamed()
	w.awaitEvent("Service/web", corev1.EventTypeNormal, "LoadBalanced", "ovn load balances tcp/")
	w.kube.Apply(strings.Replace(service, "RequireDualStack", "RequireDualStack\n  externalIPs: [203.0.113.7]", 1))
	w.awaitEvent("Service/web", corev1.EventTypeNormal, "LoadBalanced", "203.0.113.7")
	w.kube.Apply(`{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: odd}, spec: {ports: [{port: 1}], externalIPs: ["2001:db8::7"]}}`)
	w.awaitEvent("Service/odd", corev1.EventTypeWarning, "Problem", "spec.externalIPs[0]: 2001:db8::7 has an address family that no cluster IP of the Service has")

	t.Log("a restart writes nothing")
	before := w.versions()
	w.netloom.Kill()
	w.netloom.Restart()
	w.netloom.AwaitReady()
	w.kube.Apply(webReaches("80"))
	w.awaitRow("web", "True", w.generation("web"))
	after := w.versions()
	delete(before, "web")
	delete(after, "web")
	require.Equal(t, before, after)

	t.Log("a deleted status comes back, and goes with its policy")
	require.NoError(t, w.statuses().Delete(t.Context(), "db", metav1.DeleteOptions{}))
	w.awaitRow("db", "True", 1)
	require.NoError(t, w.kube.Client().NetworkingV1().NetworkPolicies("shop").Delete(t.Context(), "watched", metav1.DeleteOptions{}))
	await.True(t, func() bool {
		_, err := w.statuses().Get(t.Context(), "watched", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, "the garbage collector takes it away")
	requireNothingForbidden(t, w.kube)
	w.feedbackRightsAreNeeded()
}

// enforcedOnceWritten stops the database under a policy that changes.
func (w *world) enforcedOnceWritten() {
	w.t.Helper()
	w.t.Log("a policy changes while the database does not answer")
	old := w.generation("web")
	w.netloom.Running()
	w.ovn.StopDBs()
	w.kube.Apply(webReaches("5432"))
	require.Equal(w.t, old+1, w.generation("web"))
	w.awaitRow("web", "False", old)
	s := w.policyStatus("web")
	require.Equal(w.t, old+1, s.Status.ObservedGeneration)
	require.Equal(w.t, old, s.Status.Targets[0].Generation)
	require.False(w.t, s.Status.Targets[0].Enforced)
	w.awaitRow("db", "True", 1)
	since, revision := s.Status.Targets[0].Since, s.Status.Targets[0].Revision
	require.NotNil(w.t, since, "that of the generation that is in force")
	w.ovn.StartDBs()
	w.awaitRow("web", "True", old+1)
	s = w.policyStatus("web")
	require.False(w.t, s.Status.Targets[0].Since.Before(since))
	require.Greater(w.t, s.Status.Targets[0].Revision, revision)
	w.converge()
	require.False(w.t, w.connects(web, api, 80))
	w.awaitEvent("NetworkPolicy/web", corev1.EventTypeNormal, "Enforced", fmt.Sprintf("generation %d is enforced by ovn", old+1))
}

// problemsAreNamed uses a policy of which a part is invalid.
func (w *world) problemsAreNamed() {
	w.t.Helper()
	w.t.Log("a part of a policy is invalid")
	const field = "metadata.annotations[netloom.io/acl-logging]"
	faulty := strings.Replace(webReaches("5432"), "name: web}", `name: web, annotations: {netloom.io/acl-logging: nonsense}}`, 1)
	for range 2 { // which is one Event, counted up
		w.kube.Apply(faulty)
		w.awaitRow("web", "False", w.generation("web"))
		s := w.policyStatus("web")
		require.EqualValues(w.t, 1, w.rows()["web"]["Problems"])
		require.Equal(w.t, field, s.Status.Problems[0].Field)
		w.kube.Apply(webReaches("5432"))
		w.awaitRow("web", "True", w.generation("web"))
	}
	w.awaitEvent("NetworkPolicy/web", corev1.EventTypeWarning, "Problem", field+": ")
}

// feedbackRightsAreNeeded checks that each right of the role is used, and takes each away: that is reported, and no rows go.
func (w *world) feedbackRightsAreNeeded() {
	w.t.Helper()
	rights := rightsOfRole(w.t, central(w.t, "feedback")(settingsFor(w.ovn)), feedbackRole)
	require.Len(w.t, rights, 13)
	settled := w.ovn.Dump()
	for _, r := range rights {
		if r.verb != "create" || r.group == "" { // a patch that makes an object is no request of its own
			await.True(w.t, func() bool { return w.used(r) }, "%+v is used", r)
		}
	}
	edits := 9000
	edit := func() {
		edits++
		w.kube.Apply(webReaches(fmt.Sprint(edits)))
	}
	restart := func() {
		w.netloom.Kill()
		w.netloom.Restart()
	}
	group := v1alpha1.Group
	for _, tc := range []struct {
		right
		trigger func()
		message string // in readiness
	}{
		{right{group: group, resource: "policystatuses", verb: "list"}, restart, "degraded: PolicyStatus objects cannot be read"},
		{right{group: group, resource: "policystatuses", verb: "watch"}, restart, "degraded: PolicyStatus objects cannot be read"},
		{right{group: group, resource: "policystatuses/status", verb: "patch"}, edit, "degraded: PolicyStatus objects cannot be written"},
		{right{group: group, resource: "policystatuses", verb: "patch"}, w.dropStatus, "degraded: PolicyStatus objects cannot be written"},
		{right{group: group, resource: "policystatuses", verb: "create"}, w.dropStatus, "degraded: PolicyStatus objects cannot be written"},
		{
			right{group: clusterPolicyGroup, resource: "clusternetworkpolicies/status", verb: "patch"},
			func() {
				edits++
				w.kube.Apply(strings.ReplaceAll(onePolicyOfEachKind, "such", fmt.Sprint("team-", edits)))
			},
			"degraded: conditions of cluster-wide policies cannot be written",
		},
		{right{group: "", resource: "events", verb: "create"}, edit, "not allowed to create events"},
		{right{group: "", resource: "events", verb: "patch"}, w.problemsAreNamed, "not allowed to patch events"},
	} {
		tc.role = feedbackRole
		require.Contains(w.t, rights, tc.right)
		w.t.Logf("without %+v", tc.right)
		had := len(w.rows())
		giveBack := w.take(tc.right)
		tc.trigger()
		if tc.verb != "create" || tc.group == "" {
			w.awaitMissed(tc.right)
		}
		w.awaitReadiness(tc.message)
		require.GreaterOrEqual(w.t, len(w.rows()), had-1, "nothing is deleted, but by the test")
		require.Equal(w.t, countRows(settled), countRows(w.ovn.Dump()))
		giveBack()
		if tc.resource == "events" { // it is reported until the same has been tried again
			tc.trigger()
		}
		edit()
		w.awaitReadiness("ok\n")
		w.awaitRow("web", "True", w.generation("web"))
		w.awaitRow("db", "True", 1)
	}
}

// countRows counts the lines of a dump, which are as many whatever port a policy opens.
func countRows(dump string) int { return strings.Count(dump, "\n") }

// dropStatus deletes the object of a policy.
func (w *world) dropStatus() {
	w.t.Helper()
	require.NoError(w.t, w.statuses().Delete(w.t.Context(), "db", metav1.DeleteOptions{}))
}

func (w *world) statuses() dynamic.ResourceInterface {
	return w.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.PluralPolicyStatus)).Namespace("shop")
}

func (w *world) policyStatus(name string) *v1alpha1.PolicyStatus {
	w.t.Helper()
	got, err := w.statuses().Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	out := &v1alpha1.PolicyStatus{}
	require.NoError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, out))
	return out
}

// versions are the resource versions of all objects, by name.
func (w *world) versions() map[string]string {
	w.t.Helper()
	list, err := w.statuses().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
	}
	return out
}

// generation is that of a policy.
func (w *world) generation(name string) int64 {
	w.t.Helper()
	p, err := w.kube.Client().NetworkingV1().NetworkPolicies("shop").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return p.Generation
}

// rows are what `kubectl get policystatuses` shows: by the name of the object, by the name of the column.
func (w *world) rows() map[string]map[string]any {
	w.t.Helper()
	raw, err := w.kube.Client().Discovery().RESTClient().Get().
		AbsPath("/apis", v1alpha1.Group, v1alpha1.Version, "namespaces", "shop", v1alpha1.PluralPolicyStatus).
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(w.t.Context())
	require.NoError(w.t, err)
	var table metav1.Table
	require.NoError(w.t, json.Unmarshal(raw, &table))
	out := map[string]map[string]any{}
	for _, row := range table.Rows {
		cells := map[string]any{}
		for i, c := range table.ColumnDefinitions {
			cells[c.Name] = row.Cells[i]
		}
		out[fmt.Sprint(cells["Name"])] = cells
	}
	return out
}

// awaitRow waits until the row of a policy says whether it is enforced, and which generation is.
func (w *world) awaitRow(name, enforced string, generation int64) {
	w.t.Helper()
	var last map[string]any
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s: %v", name, last)
		}
	}()
	await.True(w.t, func() bool {
		w.netloom.Running()
		if _, err := w.kube.Client().Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String()); err != nil {
			return false
		}
		last = w.rows()[name]
		return last != nil && last["Enforced"] == enforced && fmt.Sprint(last["Generation"]) == fmt.Sprint(generation)
	}, "%s: enforced %s at %d", name, enforced, generation)
}

// awaitEvent waits for an Event of a policy or a Service.
func (w *world) awaitEvent(object, kind, reason, message string) {
	w.t.Helper()
	await.True(w.t, func() bool {
		list, err := w.kube.Client().CoreV1().Events("shop").List(w.t.Context(), metav1.ListOptions{})
		require.NoError(w.t, err)
		return slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name == object && e.Type == kind &&
				e.Reason == reason && strings.Contains(e.Message, message)
		})
	}, "%s", reason+" of "+object+": "+message)
}
