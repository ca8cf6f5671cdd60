//go:build e2e

package e2ekube_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// installer is a user who has only the role that deploy/README.md shows.
type installer struct {
	t       *testing.T
	objects dynamic.Interface
}

func newInstaller(t *testing.T, kube *kubelab.Lab) *installer {
	t.Helper()
	readme, err := os.ReadFile(root + "/deploy/README.md")
	require.NoError(t, err)
	role := regexp.MustCompile("(?s)```yaml\n# installer.yaml\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, role)
	kube.Apply(string(role[1]) + `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: installer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: netloom-installer}
subjects: [{kind: User, name: installer, apiGroup: rbac.authorization.k8s.io}]
`)
	config := kube.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "installer", Groups: []string{"system:authenticated"}}
	objects, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return &installer{t, objects}
}

// of is where objects like o are.
func (i *installer) of(o *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if o.GetNamespace() == "" {
		return i.objects.Resource(resource)
	}
	return i.objects.Resource(resource).Namespace(o.GetNamespace())
}

// apply applies objects as `kubectl apply --server-side` does. The server learns of a role a moment after it has accepted it.
func (i *installer) apply(objects []*unstructured.Unstructured) {
	i.t.Helper()
	for _, o := range objects {
		raw, err := o.MarshalJSON()
		require.NoError(i.t, err)
		await.NoError(i.t, func() error {
			_, err := i.of(o).Patch(i.t.Context(), o.GetName(), types.ApplyPatchType, raw, metav1.PatchOptions{FieldManager: "installer"})
			return err
		}, "%s", "the installer applies "+o.GetKind()+" "+o.GetName())
	}
}

// delete deletes objects, some of which others may have deleted.
func (i *installer) delete(objects []*unstructured.Unstructured) {
	i.t.Helper()
	for _, o := range objects {
		if err := i.of(o).Delete(i.t.Context(), o.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			require.NoError(i.t, err, "%s %s", o.GetKind(), o.GetName())
		}
	}
}

// TestInstallAndRemove installs an overlay as a user who may only what deploy/README.md says, has policies enforced, and removes netloom with
// the steps that are there. Nothing is left but Events.
func TestInstallAndRemove(t *testing.T) {
	t.Parallel()
	w := &world{t: t, kube: startKube(t), ovn: startOVN(t)}
	w.kube.Apply(nodes + namespaces)
	definition, err := os.ReadFile(root + "/deploy/crds/netloom.io_policystatuses.yaml")
	require.NoError(t, err)
	user := newInstaller(t, w.kube)
	before := traces(t, w.kube)

	w.kube.Apply(string(definition))
	objects := overlay(t, "kube-ovn", "feedback")(settingsFor(w.ovn) + "services: false\n")
	user.apply(objects)
	w.netloom = run(t, w.kube, home, "netloom")
	w.netloom.AwaitReady()
	w.peopled()
	w.kube.Apply(policies)
	w.converge()
	w.awaitRow("web", "True", 1)
	require.NotZero(t, w.ovn.Rows("ACL"))

	deployments, others := split(objects, "Deployment")
	user.delete(deployments)
	w.end()
	program, err := buildOnce()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), program, "remove", "--owner", "netloom", "--ovn-nb", w.ovn.NBTCP(), "--yes").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, table := range []string{"ACL", "Port_Group", "Address_Set", "Meter", "Load_Balancer"} {
		require.Zero(t, w.ovn.Rows(table), table)
	}
	user.delete(others)
	defined := kubelab.Parse(t, string(definition))[0]
	definitions := w.kube.Objects().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	require.NoError(t, definitions.Delete(t.Context(), defined.GetName(), metav1.DeleteOptions{}))
	var left []string
	await.True(t, func() bool {
		left = slices.DeleteFunc(traces(t, w.kube), func(trace string) bool { return slices.Contains(before, trace) })
		return len(left) == 0
	}, "nothing is left")
}

// traces are all objects that have netloom in their names, namespaces, labels or among those who wrote them, without Events.
func traces(t *testing.T, kube *kubelab.Lab) []string {
	t.Helper()
	lists, err := kube.Client().Discovery().ServerPreferredResources()
	require.NoError(t, err)
	var all []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || r.Name == "events" {
				continue
			}
			objects, err := kube.Objects().Resource(group.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // its definition has just been removed
			}
			require.NoError(t, err, r.Name)
			for i := range objects.Items {
				o := &objects.Items[i]
				writer := func(f metav1.ManagedFieldsEntry) bool { return strings.Contains(f.Manager, "netloom") }
				if strings.Contains(o.GetNamespace()+" "+o.GetName(), "netloom") || o.GetLabels()["app.kubernetes.io/name"] == "netloom" ||
					slices.ContainsFunc(o.GetManagedFields(), writer) {
					all = append(all, r.Name+" "+o.GetNamespace()+"/"+o.GetName())
				}
			}
		}
	}
	return all
}
