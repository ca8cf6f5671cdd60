//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

const webhookAccount = "system:serviceaccount:netloom-system:netloom-webhook"

// admission is a cluster whose API server asks netloom webhook.
type admission struct {
	t    *testing.T
	kube *kubelab.Lab
	pod  *kubelab.Pod

	reviews       string // where the API server asks
	configuration *unstructured.Unstructured

	mu       sync.Mutex
	warnings []string
}

// HandleWarningHeader records a warning of the server.
func (a *admission) HandleWarningHeader(_ int, _, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.warnings = append(a.warnings, text)
}

// newAdmission runs the webhook as deploy/ says.
func newAdmission(t *testing.T, features ...string) *admission {
	t.Helper()
	a := raiseAdmission(t, "webhook", features...)
	a.pod = a.replica("netloom-webhook", 0, a.reviews)
	a.pod.AwaitReady()
	a.awaitAsked()
	return a
}

// raiseAdmission applies the manifests with a component for admission. Services lead nowhere here, so the API server calls an
// address.
func raiseAdmission(t *testing.T, component string, features ...string) *admission {
	t.Helper()
	a := &admission{t: t, kube: startKube(t, features...), reviews: ovnlab.FreeAddress(t)}
	w := &world{t: t, kube: a.kube}
	w.installDefinitions()
	w.defineClusterPolicies()
	a.kube.Apply(permissions)
	hooks, others := split(central(t, component)("ovn-nb: [tcp:127.0.0.1:6641]\n"), "ValidatingWebhookConfiguration")
	a.kube.ApplyObjects(others)
	require.Len(t, hooks, 1)
	a.configuration = hooks[0]
	a.callAt(a.reviews)
	return a
}

// callAt makes the API server call an address.
func (a *admission) callAt(address string) {
	a.t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(a.t, err)
	configuration := a.configuration.DeepCopy()
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	require.NoError(a.t, err)
	for _, h := range hooks {
		client, _ := h.(map[string]any)["clientConfig"].(map[string]any)
		service, _ := client["service"].(map[string]any)
		client["url"] = fmt.Sprintf("https://localhost:%s%s", port, service["path"])
		delete(client, "service")
	}
	require.NoError(a.t, unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"))
	a.kube.ApplyObjects([]*unstructured.Unstructured{configuration})
}

// replica runs a container of a Deployment that answers reviews at an address.
func (a *admission) replica(deployment string, n int, reviews string, env ...string) *kubelab.Pod {
	a.t.Helper()
	d, err := a.kube.Client().AppsV1().Deployments(home).Get(a.t.Context(), deployment, metav1.GetOptions{})
	require.NoError(a.t, err)
	program, err := buildOnce()
	require.NoError(a.t, err)
	health := ovnlab.FreeAddress(a.t)
	pod := a.kube.RunPod(home, fmt.Sprintf("%s-%d", deployment, n), &d.Spec.Template.Spec, program, health, append(env, "NETLOOM_LISTEN="+health,
		"NETLOOM_WEBHOOK_LISTEN="+reviews, "NETLOOM_WEBHOOK_TLS_NAME=localhost", "NETLOOM_WEBHOOK_SHUTDOWN_DELAY=0s")...)
	a.t.Cleanup(func() {
		if a.t.Failed() {
			a.t.Log(pod.Log())
		}
	})
	return pod
}

// awaitAsked waits until the API server has writes reviewed.
func (a *admission) awaitAsked() {
	a.t.Helper()
	nobody := a.as("nobody")
	var err error
	await.True(a.t, func() bool {
		err = a.create(nobody, bucketed("mwan3rules", "default", "x", "basic"))
		return strings.Contains(fmt.Sprint(err), "User(nobody) don't have the permission")
	}, "the API server asks and trusts")
}

// as is a client for a user, with groups beside everybody; a service account is namespace/name and comes with a
// token that the server issued.
func (a *admission) as(user string, groups ...string) dynamic.Interface {
	a.t.Helper()
	config := rest.CopyConfig(a.kube.Config())
	if namespace, name, ok := strings.Cut(user, "/"); ok {
		config = rest.AnonymousClientConfig(config)
		config.BearerToken = a.kube.Token(namespace, name)
	} else if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
		if user != "writer" {
			config.Impersonate.Groups = append(config.Impersonate.Groups, "everybody")
		}
	}
	config.WarningHandler = a
	client, err := dynamic.NewForConfig(config)
	require.NoError(a.t, err)
	return client
}

// resourceOf is where an object belongs.
func (a *admission) resourceOf(client dynamic.Interface, o *unstructured.Unstructured) dynamic.ResourceInterface {
	gvk := o.GroupVersionKind()
	plural := strings.ToLower(gvk.Kind) + "s"
	if strings.HasSuffix(plural, "ys") {
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	}
	return client.Resource(schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: plural}).Namespace(o.GetNamespace())
}

// create tries to create an object, as a dry run.
func (a *admission) create(client dynamic.Interface, o *unstructured.Unstructured) error {
	_, err := a.resourceOf(client, o).Create(a.t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestPermissions asks a real API server for every example of the article on permissions by label, and for related
// cases. It stores nothing: reviews of dry runs are reviews.
func TestPermissions(t *testing.T) {
	t.Parallel()
	a := newAdmission(t)
	const rules, policies, zones = "mwan3rules", "mwan3policies", "firewallzones"
	// change is what is done: "+b" creates in bucket b, "-b" deletes from it, "b>c" moves from one to the other.
	for i, tc := range []struct {
		user, groups, resource, namespace, change string
		want                                      bool
	}{
		{"onap", "", rules, "default", "+app-intent", true},
		{"onap", "", rules, "default", "+k8s-service", true},
		{"onap", "", rules, "default", "+basic", false},
		{"onap", "", policies, "default", "+app-intent", true},
		{"onap", "", policies, "default", "+k8s-service", false},
		{"onap", "", rules, "shop", "+app-intent", false},
		{"onap", "", rules, "default", "-app-intent", true},
		{"onap", "", rules, "default", "-basic", false},
		{"onap", "", rules, "default", "app-intent>app-intent", true},
		{"onap", "", rules, "default", "app-intent>k8s-service", true},
		{"onap", "", rules, "default", "basic>basic", false},
		{"onap", "", rules, "default", "basic>app-intent", false},
		{"onap", "", rules, "default", "app-intent>basic", false},
		{"onap", "", rules, "default", "basic>", false},
		{"onap", "", rules, "default", "app-intent>", true},
		{"onap", "", rules, "default", ">app-intent", true},
		{"onap", "", rules, "default", ">basic", false},
		{"onap", "", zones, "default", "+app-intent", false},
		{"onap", "", "sdewanapplications", "default", "+app-intent", false},
		{"creator", "", policies, "default", "+app-intent", true},
		{"creator", "", policies, "default", "+basic", false},
		{"creator", "", policies, "default", "-app-intent", true},
		{"creator", "", policies, "default", "-basic", false},
		{"creator", "", rules, "default", "+app-intent", false},
		{"wild", "", rules, "default", "+app-intent", true},
		{"wild", "", policies, "default", "+app-intent", true},
		{"wild", "", policies, "default", "+app-iintent", false},
		{"wild", "", zones, "default", "+app-intent", false},
		{"ann", "operators", rules, "default", "+app-intent", true},
		{"ann", "operators", rules, "default", "+basic", false},
		{"operators", "", rules, "default", "+app-intent", false},
		{"ann", "onap", rules, "default", "+app-intent", false},
		{"default/test", "", rules, "default", "+app-intent", true},
		{"default/test", "", rules, "default", "+basic", false},
		{"default/test", "", rules, "shop", "+app-intent", false},
		{"default/test", "", rules, "default", "-k8s-service", true},
		{"default/test", "", rules, "default", "basic>app-intent", false},
		{"default/stranger", "", rules, "default", "+app-intent", false},
		{"default/stranger", "", rules, "default", "+", true},
		{"test", "", rules, "default", "+app-intent", false},
		{"global", "", rules, "shop", "+k8s-service", true},
		{"global", "", policies, "shop", "+basic", true},
		{"global", "", "firewallforwardings", "default", "+app-intent", true},
		{"global", "", "firewallforwardings", "default", "+basic", false},
		{"global", "", "networkfirewallrules", "default", "+app-intent", false},
		{"local", "", rules, "shop", "+app-intent", true},
		{"local", "", rules, "default", "+app-intent", false},
		{"bob", "", rules, "default", "+app-intent", false},
		{"bob", "", rules, "default", "+", true},
		{"", "", rules, "default", "+basic", true}, // an administrator's certificate
		{"root", "system:masters", rules, "default", "-basic", true},
	} {
		t.Run(fmt.Sprintf("%02d %s %s %s in %s", i+1, tc.user, tc.change, tc.resource, tc.namespace), func(t *testing.T) {
			client := a.as(tc.user, strings.Fields(tc.groups)...)
			before, after, moves := strings.Cut(tc.change, ">")
			var err error
			switch {
			case moves:
				err = a.move(client, bucketed(tc.resource, tc.namespace, fmt.Sprint("o", i), before), after)
			case tc.change[0] == '+':
				err = a.create(client, bucketed(tc.resource, tc.namespace, fmt.Sprint("o", i), tc.change[1:]))
			default:
				o := bucketed(tc.resource, tc.namespace, fmt.Sprint("o", i), tc.change[1:])
				a.make(o)
				err = a.resourceOf(client, o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
			}
			if tc.want {
				require.NoError(t, err)
				return
			}
			name := tc.user
			if namespace, account, ok := strings.Cut(tc.user, "/"); ok {
				name = "system:serviceaccount:" + namespace + ":" + account
			}
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			require.EqualError(t, err, `admission webhook "validate-sdewan-bucket.akraino.org" denied the request: User(`+name+`) don't have the permission`)
		})
	}
	a.narrows()
	a.others()
	a.validates()
	for _, r := range a.kube.Audit(webhookAccount) {
		require.False(t, r.Forbidden, "forbidden: %+v", r)
	}
	a.outage()
	a.configuredOtherwise()
}

// make has an administrator create an object for good.
func (a *admission) make(o *unstructured.Unstructured) *unstructured.Unstructured {
	a.t.Helper()
	made, err := a.resourceOf(a.as(""), o).Create(a.t.Context(), o, metav1.CreateOptions{})
	require.NoError(a.t, err)
	return made
}

// move tries to change the bucket of an object, or anything else where it is the same.
func (a *admission) move(client dynamic.Interface, o *unstructured.Unstructured, bucket string) error {
	made := a.make(o)
	made.SetLabels(bucketed("mwan3rules", "", "", bucket).GetLabels())
	made.SetAnnotations(map[string]string{"changed": "yes"})
	_, err := a.resourceOf(client, made).Update(a.t.Context(), made, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// narrows checks what a user may do who has the article's role and no other: what its rules give, in the buckets that its
// annotation names.
func (a *admission) narrows() {
	t, writer := a.t, a.as("writer")
	require.NoError(t, a.create(writer, bucketed("mwan3policies", "default", "w", "app-intent")))
	require.ErrorContains(t, a.create(writer, bucketed("mwan3policies", "default", "w", "basic")), "User(writer) don't have the permission")
	require.ErrorContains(t, a.create(writer, bucketed("mwan3policies", "shop", "w", "app-intent")), `User "writer" cannot create resource`)
	require.ErrorContains(t, a.create(writer, bucketed("mwan3rules", "default", "w", "app-intent")), `User "writer" cannot create resource`)
	require.ErrorContains(t, a.move(writer, bucketed("mwan3policies", "default", "w", "app-intent"), "app-intent"), `User "writer" cannot update resource`)
	got, err := a.resourceOf(writer, bucketed("mwan3policies", "default", "w", "")).Get(t.Context(), "w", metav1.GetOptions{})
	require.NoError(t, err, "reading is what RBAC says")
	require.Equal(t, "w", got.GetName())
}

// others asks for what is judged beside permissions.
func (a *admission) others() {
	t := a.t
	bob := a.as("bob")
	labelled := func(o *unstructured.Unstructured, purpose string) *unstructured.Unstructured {
		o.SetLabels(map[string]string{"sdewanPurpose": purpose})
		return o
	}
	require.ErrorContains(t, a.create(bob, labelled(bucketed("mwan3rules", "default", "dangling", ""), "cnf1")),
		"spec.policy: Mwan3Policy default/balance does not exist")

	zone := a.make(labelled(bucketed("firewallzones", "default", "lan", ""), "cnf1"))
	_, err := a.resourceOf(bob, zone).Update(t.Context(), labelled(zone, "cnf2"), metav1.UpdateOptions{})
	require.EqualError(t, err, `admission webhook "validate-label.akraino.org" denied the request: Label 'sdewanPurpose' is immutable`)

	deployment := func(name string) *unstructured.Unstructured {
		o := kubelab.Parse(t, strings.ReplaceAll(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: NAME, labels: {sdewanPurpose: cnf1}},
			spec: {replicas: 0, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: c}]}}}}`, "NAME", name))
		return o[0]
	}
	a.make(deployment("first"))
	await.True(t, func() bool {
		err := a.create(bob, deployment("second"))
		return err != nil && strings.Contains(err.Error(), `Deployment default/first is already the CNF "cnf1" of namespace default`)
	}, "a second workload is refused")

	policy := &unstructured.Unstructured{}
	policy.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"namespace": "default", "name": "p"},
		"spec": map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "nobody"}}},
	})
	require.NoError(t, err)
	require.NoError(t, a.create(bob, policy))
	require.Contains(t, strings.Join(a.warnings, "\n"), "spec.podSelector: selects no pod at present")
}

// outage takes the webhook away: writes are refused, but not of kube-system, nor those that repair and clean up.
func (a *admission) outage() {
	t := a.t
	a.kube.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: doomed}}`)
	a.make(bucketed("mwan3rules", "doomed", "r", "basic"))
	a.pod.Kill()
	require.ErrorContains(t, a.create(a.as("onap"), bucketed("mwan3rules", "default", "x", "app-intent")), "failed calling webhook")
	require.NoError(t, a.create(a.as("onap"), bucketed("mwan3rules", "kube-system", "x", "app-intent")))
	require.NoError(t, a.create(a.as(""), bucketed("mwan3rules", "default", "x", "app-intent")))
	require.NoError(t, a.create(a.as("bob"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"namespace": "default", "name": "p"},
		"spec": map[string]any{"podSelector": map[string]any{}},
	}}), "warnings are not waited for")
	require.NoError(t, a.kube.Client().CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), "doomed", metav1.DeleteOptions{}))
	await.True(t, func() bool {
		_, err := a.kube.Client().CoreV1().Namespaces().Get(t.Context(), "doomed", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, "the namespace goes, with what is in a bucket")
	a.pod.Restart()
	a.pod.AwaitReady()
	require.NoError(t, a.create(a.as("onap"), bucketed("mwan3rules", "default", "x", "app-intent")), "with the certificate that the Secret keeps")
}
