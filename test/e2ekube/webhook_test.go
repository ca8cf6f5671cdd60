//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

const webhookAccount = "system:serviceaccount:netloom-system:netloom-webhook"

// permissions are the article's roles and those that ICN SD-EWAN ships, with people who are bound to them. Everybody may
// write SD-WAN objects as far as RBAC goes.
const permissions = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: test, namespace: default}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: stranger, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writers}
rules:
- {apiGroups: [batch.sdewan.akraino.org], resources: ["*"], verbs: ["*"]}
- {apiGroups: [apps], resources: [deployments, statefulsets], verbs: ["*"]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writers}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: sdewan-test
  namespace: default
  annotations:
    sdewan-bucket-type-permission: |-
      { "mwan3rules": ["app-intent", "k8s-service"],
      "mwan3policies": ["app-intent"] }
rules: [{apiGroups: [batch.sdewan.akraino.org], resources: [mwan3rules], verbs: [create, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: sdewan-test, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: sdewan-test}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: onap}
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: operators}
- {kind: ServiceAccount, name: test, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  namespace: default
  name: create-intent
  annotations:
    sdewan-bucket-type-permission: |-
      { "mwan3policies": ["app-intent"] }
rules: [{apiGroups: [batch.sdewan.akraino.org], resources: [mwan3policies], verbs: [get, watch, list, delete, create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: create-intent, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: create-intent}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: creator}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: default, name: wild, annotations: {sdewan-bucket-type-permission: '{"mwan3*": ["app-?ntent"]}'}}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: wild, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: wild}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: wild}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: allow-intent
  annotations:
    sdewan-bucket-type-permission: '{"mwan3rules": ["app-intent", "k8s-service"], "mwan3policies": ["*"], "firewall*": ["app-intent"]}'
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: allow-intent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: allow-intent}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: global}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: allow-intent, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: allow-intent}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: local}]
`

// kindOf is a kind of SD-WAN objects by its resource, with a spec that the server takes.
func kindOf(resource string) (kind string, spec map[string]any) {
	switch resource {
	case "mwan3policies":
		return "Mwan3Policy", map[string]any{"members": []any{map[string]any{"network": "ovn-net1", "metric": int64(1), "weight": int64(1)}}}
	case "mwan3rules":
		spec := map[string]any{"policy": "balance"}
		for _, key := range []string{"src_ip", "src_port", "dest_ip", "dest_port", "proto", "family", "sticky", "timeout"} {
			spec[key] = ""
		}
		return "Mwan3Rule", spec
	case "firewallzones":
		return "FirewallZone", map[string]any{"network": []any{"ovn-net1"}}
	case "firewallforwardings":
		return "FirewallForwarding", map[string]any{"src": "lan", "dest": "wan"}
	case "sdewanapplications":
		return "SdewanApplication", map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}
	case "networkfirewallrules":
		return "NetworkFirewallRule", map[string]any{"src": "net1", "target": "ACCEPT"}
	default:
		panic("no object of " + resource)
	}
}

// bucketed is an object in a bucket; "" is in none.
func bucketed(resource, namespace, name, bucket string) *unstructured.Unstructured {
	kind, spec := kindOf(resource)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch.sdewan.akraino.org/v1alpha1", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
	if bucket != "" {
		o.SetLabels(map[string]string{"sdewan-bucket-type": bucket})
	}
	return o
}

// admission is a cluster whose API server asks netloom webhook.
type admission struct {
	t    *testing.T
	kube *kubelab.Lab
	pod  *kubelab.Pod

	mu       sync.Mutex
	warnings []string
}

// HandleWarningHeader notes what the server warns of.
func (a *admission) HandleWarningHeader(_ int, _, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.warnings = append(a.warnings, text)
}

// newAdmission runs the webhook as deploy/ says. Services lead nowhere here, so the API server calls it by an address.
func newAdmission(t *testing.T) *admission {
	t.Helper()
	a := &admission{t: t, kube: startKube(t)}
	crds, err := filepath.Glob(root + "/deploy/crds/*.yaml")
	require.NoError(t, err)
	for _, file := range crds {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		a.kube.Apply(string(text))
	}
	ovnlab.Eventually(t, patience, "the kinds are served", func() bool {
		list, err := a.kube.Client().Discovery().ServerResourcesForGroupVersion("batch.sdewan.akraino.org/v1alpha1")
		return err == nil && len(list.APIResources) == 2*19
	})
	a.kube.Apply(permissions)

	listen, health := freeAddress(t), freeAddress(t)
	_, port, err := net.SplitHostPort(listen)
	require.NoError(t, err)
	var configuration *unstructured.Unstructured
	for _, o := range central(t, "webhook")("ovn-nb: [tcp:127.0.0.1:6641]\n") {
		if o.GetKind() != "ValidatingWebhookConfiguration" {
			a.kube.ApplyObjects([]*unstructured.Unstructured{o})
			continue
		}
		configuration = o
	}
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	require.NoError(t, err)
	for _, h := range hooks {
		client, _ := h.(map[string]any)["clientConfig"].(map[string]any)
		service, _ := client["service"].(map[string]any)
		client["url"] = fmt.Sprintf("https://localhost:%s%s", port, service["path"])
		delete(client, "service")
	}
	require.NoError(t, unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"))

	var d *appsv1.Deployment
	d, err = a.kube.Client().AppsV1().Deployments(home).Get(t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(t, err)
	program, err := buildOnce()
	require.NoError(t, err)
	container := &d.Spec.Template.Spec.Containers[0]
	container.Args = append(container.Args, "--listen="+listen, "--health-listen="+health, "--tls-name=localhost", "--shutdown-delay=0s")
	a.kube.ApplyObjects([]*unstructured.Unstructured{configuration})
	a.pod = a.kube.RunPod(home, "netloom-webhook-0", &d.Spec.Template.Spec, program, health)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(a.pod.Log())
		}
	})
	a.pod.AwaitReady()
	nobody := a.as("nobody")
	ovnlab.Eventually(t, patience, "the API server asks and trusts", func() bool {
		err = a.create(nobody, bucketed("mwan3rules", "default", "x", "basic"))
		return strings.Contains(fmt.Sprint(err), "User(nobody) don't have the permission")
	})
	return a
}

// as is a client for a user, with groups beside system:authenticated; a service account is namespace/name and comes with a
// token that the server issued.
func (a *admission) as(user string, groups ...string) dynamic.Interface {
	a.t.Helper()
	config := rest.CopyConfig(a.kube.Config())
	if namespace, name, ok := strings.Cut(user, "/"); ok {
		config = rest.AnonymousClientConfig(config)
		config.BearerToken = a.kube.Token(namespace, name)
	} else if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
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

// create tries to create an object, and keeps nothing of it.
func (a *admission) create(client dynamic.Interface, o *unstructured.Unstructured) error {
	_, err := a.resourceOf(client, o).Create(a.t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestPermissions asks a real API server for every example of the article on permissions by label, and for what surrounds
// them. It keeps nothing: reviews of dry runs are reviews.
func TestPermissions(t *testing.T) {
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
	a.others()
	for _, r := range a.kube.Audit(webhookAccount) {
		require.False(t, r.Forbidden, "forbidden: %+v", r)
	}
	a.outage()
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

// others asks for what is judged beside permissions.
func (a *admission) others() {
	t := a.t
	bob := a.as("bob")
	labelled := func(o *unstructured.Unstructured, purpose string) *unstructured.Unstructured {
		o.SetLabels(map[string]string{"sdewanPurpose": purpose})
		return o
	}
	require.NoError(t, a.create(bob, labelled(bucketed("mwan3rules", "default", "dangling", ""), "cnf1")))
	require.Contains(t, strings.Join(a.warnings, "\n"), "spec.policy: there is no Mwan3Policy default/balance")

	zone := a.make(labelled(bucketed("firewallzones", "default", "lan", ""), "cnf1"))
	_, err := a.resourceOf(bob, zone).Update(t.Context(), labelled(zone, "cnf2"), metav1.UpdateOptions{})
	require.EqualError(t, err, `admission webhook "validate-label.akraino.org" denied the request: Label 'sdewanPurpose' is immutable`)

	deployment := func(name string) *unstructured.Unstructured {
		o := kubelab.Parse(t, strings.ReplaceAll(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: NAME, labels: {sdewanPurpose: cnf1}},
			spec: {replicas: 0, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: c}]}}}}`, "NAME", name))
		return o[0]
	}
	a.make(deployment("first"))
	ovnlab.Eventually(t, patience, "a second workload is refused", func() bool {
		err := a.create(bob, deployment("second"))
		return err != nil && strings.Contains(err.Error(), `Deployment default/first is the CNF "cnf1" of namespace default already`)
	})

	policy := &unstructured.Unstructured{}
	policy.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"namespace": "default", "name": "p"},
		"spec": map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "nobody"}}},
	})
	require.NoError(t, err)
	require.NoError(t, a.create(bob, policy))
	require.Contains(t, strings.Join(a.warnings, "\n"), "spec.podSelector: selects no pod at present")
}

// outage takes the webhook away: writes are refused, but not of kube-system, nor of those who mend and clean up.
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
	ovnlab.Eventually(t, patience, "the namespace goes, with what is in a bucket", func() bool {
		_, err := a.kube.Client().CoreV1().Namespaces().Get(t.Context(), "doomed", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	a.pod.Restart()
	a.pod.AwaitReady()
	require.NoError(t, a.create(a.as("onap"), bucketed("mwan3rules", "default", "x", "app-intent")), "with the certificate that the Secret keeps")
}
