package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/object"
)

// write writes the status of the object of a policy. object is the existing one; nil means none.
//
// It uses server-side apply. If each node has a netloom, each applies its own targets with a field manager of its own, and
// the summary of all with a shared field manager, at the version that the first write returned: if two do so at the same
// time, the second gets a conflict and tries again.
//
// compose returns the status to write, given the present one. written is false if nothing may be written now.
func (o *objects) write(
	ctx context.Context, world *report.World, key object.Ref, uid string, object *v1alpha1.PolicyStatus,
	now *v1alpha1.PolicyStatusStatus, compose func(*v1alpha1.PolicyStatusStatus) v1alpha1.PolicyStatusStatus,
) (written bool, err error) {
	if !o.writable(key) {
		return false, nil
	}
	err = o.ensure(ctx, key, uid, object)
	own := now.DeepCopy()
	own.Targets = world.Own(now)
	switch {
	case err != nil:
	case o.node == "":
		err = o.applyStatus(ctx, key, "", own)
	default:
		err = o.writePart(ctx, key, own.Targets, compose)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another writer was quicker
		o.forget(key)
	}
	o.wrote(err)
	return err == nil, err
}

// replace writes the status of the object of a policy that the source does not have. The owner of the object does not
// change, and the object is not created again if it is gone.
func (o *objects) replace(ctx context.Context, key object.Ref, object *v1alpha1.PolicyStatus, now *v1alpha1.PolicyStatusStatus) error {
	if !o.writable(key) {
		return nil
	}
	own := now.DeepCopy()
	if o.node != "" {
		own.Targets = nil // each belongs to the netloom of its node
	}
	err := o.applyStatus(ctx, key, object.ResourceVersion, own)
	o.forget(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	o.wrote(err)
	return err
}

// ensure creates the object of a policy, or makes the present policy its owner.
func (o *objects) ensure(ctx context.Context, key object.Ref, uid string, present *v1alpha1.PolicyStatus) error {
	if present != nil && ownedBy(present, uid) {
		return nil
	}
	_, err := o.apply(ctx, key, feedback.FieldManager, map[string]any{"metadata": map[string]any{
		"ownerReferences": []any{map[string]any{
			"apiVersion": networkingv1.SchemeGroupVersion.String(), "kind": object.KindNetworkPolicy, "name": key.Name, "uid": uid,
		}},
	}})
	return err
}

// partAttempts is how often the summary is written again if others write at the same time.
const partAttempts = 3

// writePart writes the targets of one node, and then the summary of all.
func (o *objects) writePart(
	ctx context.Context, key object.Ref, targets []v1alpha1.PolicyTarget,
	compose func(*v1alpha1.PolicyStatusStatus) v1alpha1.PolicyStatusStatus,
) error {
	var err error
	for range partAttempts {
		var got *v1alpha1.PolicyStatus
		if got, err = o.applyFields(ctx, key, managerOf(o.node), "", map[string]any{"targets": targets}); err != nil {
			return err
		}
		whole := compose(&got.Status)
		if report.Compare(&got.Status, &whole) == report.Same {
			return nil
		}
		whole.Targets = nil // each belongs to the netloom of its node
		if err = o.applyStatus(ctx, key, got.ResourceVersion, &whole); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// applyStatus applies a status as the field manager that all netlooms share; if version is not "", to that version of the object.
func (o *objects) applyStatus(
	ctx context.Context, key object.Ref, version string, s *v1alpha1.PolicyStatusStatus,
) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return fmt.Errorf("status of %s/%s: %w", key.Namespace, key.Name, err)
	}
	_, err = o.applyFields(ctx, key, feedback.FieldManager, version, fields)
	return err
}

func (o *objects) applyFields(
	ctx context.Context, key object.Ref, manager, version string, fields map[string]any,
) (*v1alpha1.PolicyStatus, error) {
	content := map[string]any{"status": fields}
	if version != "" {
		content["metadata"] = map[string]any{"resourceVersion": version}
	}
	return o.apply(ctx, key, manager, content, "status")
}

// apply applies fields by server-side apply, and returns the resulting object.
func (o *objects) apply(
	ctx context.Context, key object.Ref, manager string, content map[string]any, subresources ...string,
) (*v1alpha1.PolicyStatus, error) {
	if err := o.limit.Wait(ctx); err != nil {
		return nil, fmt.Errorf("write PolicyStatus %s/%s: %w", key.Namespace, key.Name, err)
	}
	content["apiVersion"], content["kind"] = v1alpha1.GroupVersion.String(), v1alpha1.KindPolicyStatus
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["namespace"], metadata["name"] = key.Namespace, key.Name
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write PolicyStatus %s/%s: %w", key.Namespace, key.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	before := ""
	if had := o.current(key); had != nil {
		before = had.ResourceVersion
	}
	force := true
	got, err := o.client.Namespace(key.Namespace).Patch(ctx, key.Name, types.ApplyPatchType, raw,
		metav1.PatchOptions{FieldManager: manager, Force: &force}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("write PolicyStatus %s/%s: %w", key.Namespace, key.Name, err)
	}
	now, err := asPolicyStatus(got)
	if err != nil {
		return nil, err
	}
	o.remember(key, now, before)
	return now, nil
}

func asPolicyStatus(got any) (*v1alpha1.PolicyStatus, error) {
	made, err := policyStatusOf(got)
	if err != nil {
		return nil, err
	}
	s, ok := made.(*v1alpha1.PolicyStatus)
	if !ok {
		return nil, fmt.Errorf("read PolicyStatus: unexpected %T", made)
	}
	return s, nil
}

// wrote counts the result of a write, and remembers an error that concerns all objects.
func (o *objects) wrote(err error) {
	o.metrics.Wrote(feedback.Result(err))
	if err != nil && !concernsAll(err) {
		return
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	o.mu.Lock()
	was := o.writeErr
	o.writeErr = err
	o.mu.Unlock()
	if err == nil && was != nil {
		o.log.Info("PolicyStatus objects can be written again")
	}
}

// concernsAll reports whether an error affects more than the one object that was written, such as a missing permission or
// an API that does not answer.
func concernsAll(err error) bool {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return false
	default:
		return err != nil
	}
}
