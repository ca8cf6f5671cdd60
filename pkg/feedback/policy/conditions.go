package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/object"
)

// The conditions of a cluster-wide policy.
const (
	conditionAccepted = "Accepted" // every field could be interpreted
	conditionEnforced = "Enforced" // every target enforces the present generation
)

// clusterVersions returns how the API serves each kind of cluster-wide policies.
func clusterVersions() map[string]schema.GroupVersionResource {
	const group = "policy.networking.k8s.io"
	return map[string]schema.GroupVersionResource{
		object.KindClusterNetworkPolicy:       {Group: group, Version: "v1alpha2", Resource: "clusternetworkpolicies"},
		object.KindAdminNetworkPolicy:         {Group: group, Version: "v1alpha1", Resource: "adminnetworkpolicies"},
		object.KindBaselineAdminNetworkPolicy: {Group: group, Version: "v1alpha1", Resource: "baselineadminnetworkpolicies"},
	}
}

// conditions reads and writes the conditions in the status of cluster-wide policies.
type conditions struct {
	client  dynamic.Interface
	node    string // of this netloom, if each node has one; "" means the only one
	limit   flowcontrol.RateLimiter
	metrics *metrics.Metrics

	mu  sync.Mutex
	err error // why the last one could not be written; nil if it could
}

// types returns the types of conditions in a PolicyStatus, and the corresponding ones in a policy.
func (c *conditions) types() map[string]string {
	suffix := ""
	if c.node != "" {
		suffix = "-On-" + c.node
	}
	return map[string]string{
		v1alpha1.ConditionTranslated: conditionAccepted + suffix, v1alpha1.ConditionEnforced: conditionEnforced + suffix,
	}
}

// named returns conditions under the types that they have in a policy.
func (c *conditions) named(all []metav1.Condition) []metav1.Condition {
	types := c.types()
	out := make([]metav1.Condition, len(all))
	for i := range all {
		out[i] = all[i]
		out[i].Type = types[all[i].Type]
	}
	return out
}

// read returns the conditions of a policy that this netloom writes, under the types of a PolicyStatus.
func (c *conditions) read(ctx context.Context, key object.Ref) ([]metav1.Condition, error) {
	if err := c.limit.Wait(ctx); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	got, err := c.client.Resource(clusterVersions()[key.Kind]).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return c.own(got), nil
}

// own returns the conditions of an object that this netloom writes. Malformed ones are left out, and will be overwritten.
func (c *conditions) own(u *unstructured.Unstructured) []metav1.Condition {
	var object struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &object); err != nil {
		return nil
	}
	var out []metav1.Condition
	for _, typ := range []string{v1alpha1.ConditionTranslated, v1alpha1.ConditionEnforced} {
		for _, found := range object.Status.Conditions {
			if found.Type == c.types()[typ] {
				found.Type = typ
				out = append(out, found)
			}
		}
	}
	return out
}

// write applies the conditions of the policy of that UID by server-side apply. Those of others stay.
func (c *conditions) write(ctx context.Context, key object.Ref, uid string, all []metav1.Condition) error {
	if err := c.limit.Wait(ctx); err != nil {
		return fmt.Errorf("write the status of %s: %w", key, err)
	}
	version := clusterVersions()[key.Kind]
	raw, err := json.Marshal(map[string]any{
		"apiVersion": version.GroupVersion().String(), "kind": key.Kind, "metadata": map[string]any{"name": key.Name, "uid": uid},
		"status": map[string]any{"conditions": c.named(all)},
	})
	if err != nil {
		return fmt.Errorf("write the status of %s: %w", key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	force := true
	_, err = c.client.Resource(version).Patch(ctx, key.Name, types.ApplyPatchType, raw,
		metav1.PatchOptions{FieldManager: managerOf(c.node), Force: &force}, "status")
	if err != nil {
		return fmt.Errorf("write the status of %s: %w", key, err)
	}
	return nil
}

// wrote counts the result of a read or a write, and remembers an error that concerns all policies.
func (c *conditions) wrote(err error) {
	c.metrics.Wrote(feedback.Result(err))
	if err != nil && !concernsAll(err) || errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// degraded returns a line with the reason why conditions are not written.
func (c *conditions) degraded() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return nil
	}
	return []string{"degraded: conditions of cluster-wide policies cannot be written: " + cause.Plain(c.err)}
}
