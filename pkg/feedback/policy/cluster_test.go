package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/object"
)

var clusterPolicies = schema.GroupVersionResource{Group: "policy.networking.k8s.io", Version: "v1alpha2", Resource: "clusternetworkpolicies"}

// clusterPolicy puts a cluster-wide policy of a generation, which denies everything in one direction, in the source and in the API.
func (d *rig) clusterPolicy(generation int64, change ...func(*v1alpha2.ClusterNetworkPolicy)) {
	d.Helper()
	everything := metav1.LabelSelector{}
	p := &v1alpha2.ClusterNetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "lockdown", UID: "u", Generation: generation},
		Spec: v1alpha2.ClusterNetworkPolicySpec{
			Tier: v1alpha2.AdminTier, Priority: 1, Subject: v1alpha2.ClusterNetworkPolicySubject{Namespaces: &everything},
			Ingress: []v1alpha2.ClusterNetworkPolicyIngressRule{{
				Action: v1alpha2.ClusterNetworkPolicyRuleActionDeny,
				From:   []v1alpha2.ClusterNetworkPolicyIngressPeer{{Namespaces: &everything}},
			}},
		},
	}
	for _, f := range change {
		f(p)
	}
	if _, err := d.client.Tracker().Get(clusterPolicies, "", "lockdown"); err != nil {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "policy.networking.k8s.io/v1alpha2", "kind": object.KindClusterNetworkPolicy,
			"metadata": map[string]any{"name": "lockdown", "uid": "u"},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Ready", "status": "True", "reason": "Other", "message": "by another", "lastTransitionTime": nil},
			}},
		}}
		require.NoError(d, d.client.Tracker().Create(clusterPolicies, u, ""))
		d.client.PrependReactor("patch", clusterPolicies.Resource, d.patchCluster)
	}
	d.source.Put(p)
}

// patchCluster applies conditions on the server's side.
func (d *rig) patchCluster(a clienttesting.Action) (bool, runtime.Object, error) {
	d.api.mu.Lock()
	defer d.api.mu.Unlock()
	if d.api.fails != nil {
		if err := d.api.fails(a); err != nil {
			return true, nil, err
		}
	}
	p, ok := a.(clienttesting.PatchAction)
	if !ok || p.GetSubresource() != "status" {
		return true, nil, errors.New("not a patch of a status")
	}
	var applied struct {
		Metadata metav1.ObjectMeta
		Status   struct{ Conditions []map[string]any }
	}
	if err := json.Unmarshal(p.GetPatch(), &applied); err != nil {
		return true, nil, err
	}
	o, err := d.client.Tracker().Get(clusterPolicies, "", p.GetName())
	if err != nil {
		return true, nil, err
	}
	u := o.(*unstructured.Unstructured).DeepCopy()
	if applied.Metadata.UID != u.GetUID() {
		return true, nil, apierrors.NewConflict(clusterPolicies.GroupResource(), p.GetName(), errors.New("another UID"))
	}
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range applied.Status.Conditions {
		if n, ok := c["observedGeneration"].(float64); ok {
			c["observedGeneration"] = int64(n)
		}
		all = slices.DeleteFunc(all, func(o any) bool { return o.(map[string]any)["type"] == c["type"] })
		all = append(all, c)
	}
	if err := unstructured.SetNestedSlice(u.Object, all, "status", "conditions"); err != nil {
		return true, nil, err
	}
	d.api.patches = append(d.api.patches, "lockdown status")
	return true, u, d.client.Tracker().Update(clusterPolicies, u, "")
}

// conditions returns the conditions in the status of the cluster-wide policy, in short.
func (d *rig) conditions() []string {
	d.Helper()
	o, err := d.client.Tracker().Get(clusterPolicies, "", "lockdown")
	require.NoError(d, err)
	all, _, err := unstructured.NestedSlice(o.(*unstructured.Unstructured).Object, "status", "conditions")
	require.NoError(d, err)
	var out []string
	for _, c := range all {
		c := c.(map[string]any)
		out = append(out, fmt.Sprintf("%v %v %v %v", c["type"], c["status"], c["reason"], c["observedGeneration"]))
	}
	slices.Sort(out)
	return out
}

const byAnother = "Ready True Other <nil>"

func TestConditionsOfClusterWidePolicies(t *testing.T) {
	withRig(t, func(d *rig) {
		d.clusterPolicy(3)
		d.start()
		require.Equal(t, []string{"Accepted True Understood 3", "Enforced True Enforced 3", byAnother}, d.conditions())
		require.Empty(t, d.recorded(), "what was there at the start is not news")
		d.writes()

		d.clusterPolicy(4)
		d.after(2 * time.Second)
		require.Equal(t, []string{"Accepted True Understood 4", "Enforced True Enforced 4", byAnother}, d.conditions())
		require.Equal(t, []string{"Normal Translated generation 4 is translated", "Normal Enforced generation 4 is enforced by ovn"}, d.recorded())

		d.clusterPolicy(5, func(p *v1alpha2.ClusterNetworkPolicy) { p.Spec.Ingress[0].From[0].Namespaces = nil })
		d.after(2 * time.Second)
		require.Equal(t, []string{"Accepted False Problem 5", "Enforced False Problem 5", byAnother}, d.conditions())
		require.Contains(t, d.recorded()[0], "Warning Problem spec.ingress[0].from[0]: ")

		d.backend.set(errors.New("no disk space"))
		d.clusterPolicy(6)
		d.after(time.Minute)
		require.Equal(t, []string{"Accepted True Understood 6", "Enforced False Trouble 6", byAnother}, d.conditions())
		d.backend.set(nil)
		d.after(time.Minute)
		require.Equal(t, []string{"Accepted True Understood 6", "Enforced True Enforced 6", byAnother}, d.conditions())

		d.writes()
		d.stop()
		d.source.Again()
		d.start()
		require.Empty(t, d.writes(), "after a restart nothing is new")
	})
}

// TestConditionsThatCannotBeWritten checks that they are reported, delay no other status, and are written as soon as they can.
func TestConditionsThatCannotBeWritten(t *testing.T) {
	for _, verb := range []string{"get", "patch"} {
		t.Run(verb, func(t *testing.T) {
			withRig(t, func(d *rig) {
				d.fail(func(a clienttesting.Action) error {
					if a.GetResource() == clusterPolicies && a.GetVerb() == verb {
						return apierrors.NewForbidden(clusterPolicies.GroupResource(), "lockdown", errors.New("no role"))
					}
					return nil
				})
				d.clusterPolicy(3)
				d.policy("a", 1, 80)
				d.start()
				d.after(40 * time.Second)
				d.policy("a", 2, 81)
				d.after(2 * time.Second)
				require.Equal(t, "True Enforced 2", d.says("a"))
				if verb == "patch" {
					require.Contains(t, d.ready(), "degraded: conditions of cluster-wide policies cannot be written: ")
					require.Equal(t, []string{byAnother}, d.conditions())
				}
				d.fail(nil)
				d.after(time.Minute)
				require.Equal(t, "ok\n", d.ready())
				require.Equal(t, []string{"Accepted True Understood 3", "Enforced True Enforced 3", byAnother}, d.conditions())
			})
		})
	}
}

// TestConditionsOfEachNode checks that the netloom of a node writes under its own types.
func TestConditionsOfEachNode(t *testing.T) {
	withRig(t, func(d *rig) {
		d.node = "n1"
		d.source.Put(nodeNamed("n1"), nodeNamed("n2"))
		d.clusterPolicy(3)
		d.start()
		require.Equal(t, []string{"Accepted-On-n1 True Understood 3", "Enforced-On-n1 True Enforced 3", byAnother}, d.conditions())
	})
}
