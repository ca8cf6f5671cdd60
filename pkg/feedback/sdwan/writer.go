package sdwan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/object"
)

// writeTimeout is how long one write may take.
const writeTimeout = 10 * time.Second

// errConflict is the error if an object has changed since it was judged.
var errConflict = errors.New("the object has changed meanwhile")

// writer writes the status and the finalizers of objects. Every write is bound to the version of the object that was judged.
type writer struct {
	client  dynamic.Interface
	metrics *metrics.Metrics
	events  record.EventRecorder // nil records none
	scheme  *runtime.Scheme
	refused *feedback.Refusals // nil records nothing
}

func newWriter(opts Options, m *metrics.Metrics) *writer {
	scheme := runtime.NewScheme()
	_ = v1alpha1.AddToScheme(scheme) // never fails
	return &writer{client: opts.Dynamic, metrics: m, events: opts.Events, scheme: scheme, refused: opts.Refused}
}

// Write updates an object to match the verdict on it. It returns the echo that follows before; before itself if nothing was
// written.
func (w *writer) Write(
	ctx context.Context, ref object.Ref, o status.Object, verdict *status.Verdict, before *feedback.Echo[status.Object],
) (*feedback.Echo[status.Object], error) {
	statusDiffers, finalizersDiffer := verdict.Differs(o)
	if finalizersDiffer {
		fresh, err := w.patch(ctx, ref, o, map[string]any{"metadata": map[string]any{
			"resourceVersion": o.GetResourceVersion(), "finalizers": verdict.Finalizers,
		}})
		if err != nil || fresh == nil {
			return before, err
		}
		before = before.After(fresh, o.GetResourceVersion())
		if o = fresh; len(verdict.Finalizers) == 0 && o.GetDeletionTimestamp() != nil {
			return before, nil // it is gone
		}
	}
	if !statusDiffers {
		return before, nil
	}
	fields, err := statusPatch(o, verdict.Status)
	if err != nil {
		return before, err
	}
	fresh, err := w.patch(ctx, ref, o, map[string]any{
		"metadata": map[string]any{"resourceVersion": o.GetResourceVersion()}, "status": fields,
	}, "status")
	if err != nil || fresh == nil {
		return before, err
	}
	w.record(fresh, verdict.Notes)
	return before.After(fresh, o.GetResourceVersion()), nil
}

// Replace replaces the status of an object.
func (w *writer) Replace(ctx context.Context, ref object.Ref, o status.Object, now any) error {
	fields, err := statusPatch(o, now)
	if err != nil {
		return err
	}
	_, err = w.patch(ctx, ref, o, map[string]any{
		"metadata": map[string]any{"resourceVersion": o.GetResourceVersion()}, "status": fields,
	}, "status")
	return err
}

// record records Events.
func (w *writer) record(o runtime.Object, notes []state.Note) {
	for _, n := range notes {
		feedback.Record(w.events, o, n)
	}
}

// patch sends a merge patch and returns the resulting object; nil if it was deleted.
func (w *writer) patch(
	ctx context.Context, ref object.Ref, o status.Object, change map[string]any, subresources ...string,
) (status.Object, error) {
	data, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", ref, err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	answer, err := w.of(ref).Patch(ctx, ref.Name, types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: feedback.FieldManager}, subresources...)
	w.refused.Note("patch "+strings.Join(append([]string{pluralOf(ref.Kind)}, subresources...), "/"), err)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // It is gone, which is as good.
	}
	w.metrics.Wrote(feedback.Result(err))
	switch {
	case err == nil:
		return w.decode(ref, answer)
	case apierrors.IsConflict(err):
		return nil, fmt.Errorf("write %s at version %s: %w", ref, o.GetResourceVersion(), errConflict)
	default:
		return nil, fmt.Errorf("write %s: %w", ref, err)
	}
}

// Read reads an object; nil if it is gone.
func (w *writer) Read(ctx context.Context, ref object.Ref) (status.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	answer, err := w.of(ref).Get(ctx, ref.Name, metav1.GetOptions{})
	w.refused.Note("get "+pluralOf(ref.Kind), err)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // It is gone.
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	return w.decode(ref, answer)
}

func (w *writer) of(ref object.Ref) dynamic.ResourceInterface {
	return w.client.Resource(v1alpha1.GroupVersion.WithResource(pluralOf(ref.Kind))).Namespace(ref.Namespace)
}

func (w *writer) decode(ref object.Ref, u *unstructured.Unstructured) (status.Object, error) {
	made, err := w.scheme.New(v1alpha1.GroupVersion.WithKind(ref.Kind))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	o, ok := made.(status.Object)
	if !ok {
		return nil, fmt.Errorf("read %s: %T is not an object", ref, made)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	return o, nil
}

// statusPatch returns what to merge into the status of o: the fields of now, and null for those that now does not have.
func statusPatch(o status.Object, now any) (map[string]any, error) {
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("status of %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(now)
	if err != nil {
		return nil, fmt.Errorf("status of %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	had, _, _ := unstructured.NestedMap(whole, "status")
	for name := range had {
		if _, ok := fields[name]; !ok {
			fields[name] = nil
		}
	}
	return fields, nil
}

// pluralOf returns the name of a kind in API paths.
func pluralOf(kind string) string {
	r, _ := v1alpha1.ResourceOfKind(kind)
	return r.Plural
}
