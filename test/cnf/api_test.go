package cnf

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

const finalizer = "rule.finalizers.sdewan.akraino.org"

// resource is the client of the kind that these tests write.
func resource(a *API) dynamic.ResourceInterface {
	return a.Dynamic().Resource(v1alpha1.GroupVersion.WithResource("mwan3rules")).Namespace("default")
}

func rule(name string) *unstructured.Unstructured {
	return object("batch.sdewan.akraino.org/v1alpha1", "Mwan3Rule", "default", name, map[string]any{
		"spec": map[string]any{"policy": "p"}, "status": map[string]any{"state": "In Sync"},
	})
}

func TestTheServerCountsGenerationsOfTheSpecOnly(t *testing.T) {
	c := resource(NewAPI())
	o, err := c.Create(t.Context(), rule("r"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, o.GetGeneration())
	require.Nil(t, o.Object["status"], "a status is not created")

	o.Object["status"] = map[string]any{"state": "Idle"}
	first := o.GetResourceVersion()
	o, err = c.Update(t.Context(), o, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Nil(t, o.Object["status"], "nor written past its subresource")
	require.Equal(t, first, o.GetResourceVersion(), "nothing changed")

	o.Object["status"] = map[string]any{"state": "Idle"}
	o.Object["spec"] = map[string]any{"policy": "other"}
	o, err = c.UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"policy": "p"}, o.Object["spec"], "the subresource writes nothing else")
	require.Equal(t, map[string]any{"state": "Idle"}, o.Object["status"])
	require.EqualValues(t, 1, o.GetGeneration())
	require.NotEqual(t, first, o.GetResourceVersion())

	o.Object["spec"] = map[string]any{"policy": "other"}
	o, err = c.Update(t.Context(), o, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, o.GetGeneration())
}

func TestTheServerRefusesWhatIsStale(t *testing.T) {
	a := NewAPI()
	c := resource(a)
	old, err := c.Create(t.Context(), rule("r"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.True(t, a.Edit("mwan3rules", "default", "r", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }))
	old.SetFinalizers([]string{finalizer})
	_, err = c.Update(t.Context(), old, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	old.SetResourceVersion("")
	_, err = c.Update(t.Context(), old, metav1.UpdateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)

	a.Conflict(1)
	now, err := c.Get(t.Context(), "r", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = c.UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = c.Create(t.Context(), rule("r"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	_, err = c.Patch(t.Context(), "r", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestTheServerWaitsForFinalizers(t *testing.T) {
	a := NewAPI()
	c := resource(a)
	_, err := c.Create(t.Context(), rule("r"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Patch(t.Context(), "r", types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+finalizer+`"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Delete(t.Context(), "r", metav1.DeleteOptions{}))
	o, err := c.Get(t.Context(), "r", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, o.GetDeletionTimestamp())
	require.EqualValues(t, 2, o.GetGeneration(), "to go is another generation")
	require.NoError(t, c.Delete(t.Context(), "r", metav1.DeleteOptions{}), "it may be deleted again")

	o.SetFinalizers(append(o.GetFinalizers(), "late"))
	_, err = c.Update(t.Context(), o, metav1.UpdateOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	o.SetFinalizers(nil)
	_, err = c.Update(t.Context(), o, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Nil(t, a.Get("mwan3rules", "default", "r"))
	require.True(t, apierrors.IsNotFound(c.Delete(t.Context(), "r", metav1.DeleteOptions{})))
}

func TestTheServerSendsWatchersWhatTheyMissed(t *testing.T) {
	a := NewAPI()
	c := resource(a)
	require.NoError(t, a.Apply(rule("one")))
	list, err := c.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.NoError(t, a.Apply(rule("two")))
	require.True(t, a.Delete("mwan3rules", "default", "one"))

	w, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	require.NoError(t, err)
	var got []string
	for len(got) < 2 {
		e := <-w.ResultChan()
		got = append(got, string(e.Type)+" "+e.Object.(*unstructured.Unstructured).GetName())
	}
	require.Equal(t, []string{"ADDED two", "DELETED one"}, got)
	a.Down(true)
	_, open := <-w.ResultChan()
	require.False(t, open)
	_, err = c.List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	a.Down(false)
	_, err = c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	w.Stop()
}

func TestTheServerSupportsTypedClients(t *testing.T) {
	a := NewAPI()
	require.NoError(t, a.Apply(secret("default", "s", map[string]string{"password": "x"})))
	kube := a.Kubernetes()
	s, err := kube.CoreV1().Secrets("default").Get(context.Background(), "s", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []byte("x"), s.Data["password"])
	list, err := kube.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.NotEmpty(t, list.ResourceVersion)
	a.Forbid("secrets", true)
	_, err = kube.CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.Equal(t, 2, a.Requests()["get secrets"])
}
