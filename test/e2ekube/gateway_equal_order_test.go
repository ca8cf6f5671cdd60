//go:build e2e

package e2ekube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/await"
)

// writersCount is how many clients write at once, evenly on all legs, and roundsOfWriter what each of them does.
const (
	writersCount   = 51
	roundsOfWriter = 4
)

// order has many clients write at once, and judges what they read after their writes, and what watches on all legs see.
func (e *equal) order() {
	e.kube.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: writers}}")
	await.True(e.t, func() bool {
		_, err := e.kube.Client().CoreV1().ServiceAccounts("writers").Get(e.t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, "pods may be created")
	recent, err := e.legs[2].client.CoreV1().Pods("writers").List(e.t.Context(), metav1.ListOptions{ // a version that the shared watch remembers
		ResourceVersion: e.pods().ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	require.NoError(e.t, err)
	open := e.follow("/api/v1/namespaces/writers/pods", recent.ResourceVersion)
	held := make([]stores, len(e.legs))
	for i, l := range e.legs {
		held[i], _ = e.reflect(l, "writers")
	}
	failed := make(chan error, writersCount)
	for n := range writersCount {
		l := e.legs[n%len(e.legs)]
		go func() {
			for round := range roundsOfWriter {
				if err := writeAndRead(e.t.Context(), l, fmt.Sprintf("w-%d-%d", n, round)); err != nil {
					failed <- fmt.Errorf("%s: %w", l.name, err)
					return
				}
			}
			failed <- nil
		}()
	}
	for range writersCount {
		require.NoError(e.t, <-failed)
	}
	e.kube.Apply("{apiVersion: v1, kind: Pod, metadata: {name: last, namespace: writers}, spec: {containers: [{name: c, image: i}]}}")
	for i, w := range open {
		await.True(e.t, func() bool { return w.has(`"name":"last"`) || w.has(`"ERROR"`) }, "%s sees the last pod", e.legs[i].name)
		require.Empty(e.t, w.difference(open[0]), "all watches see the same events in the same order")
		e.judge(w)
		e.awaitStores(e.legs[i], held[i], "writers")
	}
	e.row().answers += len(open[0].all()) + writersCount*roundsOfWriter*len(readings)
}

// readings are how a client looks for what it has written, at a version.
var readings = map[string]func(name, version string) metav1.ListOptions{
	"get": nil,
	"list of the most recent state": func(name, _ string) metav1.ListOptions {
		return metav1.ListOptions{LabelSelector: "name=" + name}
	},
	"list not older than the write": func(name, version string) metav1.ListOptions {
		return metav1.ListOptions{LabelSelector: "name=" + name, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	},
	"list by name": func(name, version string) metav1.ListOptions {
		return metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: version}
	},
}

// writeAndRead creates, changes and deletes a pod that waits for a finalizer, and after each write reads it in all ways.
func writeAndRead(ctx context.Context, l *leg, name string) error {
	pods := l.client.CoreV1().Pods("writers")
	reads := func(written *corev1.Pod, deleted bool) error {
		for how, options := range readings {
			var got *corev1.Pod
			var err error
			if options == nil {
				got, err = pods.Get(ctx, name, metav1.GetOptions{})
			} else {
				var list *corev1.PodList
				if list, err = pods.List(ctx, options(name, written.ResourceVersion)); err == nil && len(list.Items) == 1 {
					got = &list.Items[0]
				}
			}
			if err != nil || got == nil || got.ResourceVersion != written.ResourceVersion || (got.DeletionTimestamp != nil) != deleted {
				return fmt.Errorf("%s does not find %s at %s: %v, %w", how, name, written.ResourceVersion, got, err)
			}
		}
		return nil
	}
	written, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}, Finalizers: []string{"example.com/wait"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := reads(written, false); err != nil {
		return err
	}
	if written, err = pods.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"x":"1"}}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := reads(written, false); err != nil {
		return err
	}
	now := int64(0)
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		return err
	}
	if written, err = pods.Get(ctx, name, metav1.GetOptions{}); err != nil {
		return err
	}
	if err := reads(written, true); err != nil {
		return err
	}
	if _, err = pods.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	if _, err = pods.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s is still there: %v", name, err)
	}
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "name=" + name})
	if err == nil && len(list.Items) > 0 {
		err = fmt.Errorf("%s is still listed", name)
	}
	return err
}

// judge requires that versions rise, and that each object is added, changed, being deleted, and deleted, in this order.
func (e *equal) judge(w *legWatch) {
	e.t.Helper()
	version, steps := uint64(0), map[string][]string{}
	for _, line := range w.all() {
		var event struct {
			Type   string
			Object corev1.Pod
		}
		require.NoError(e.t, json.Unmarshal([]byte(line), &event), line)
		now, err := strconv.ParseUint(event.Object.ResourceVersion, 10, 64)
		require.NoError(e.t, err)
		require.Greater(e.t, now, version)
		version = now
		step := event.Type
		if event.Object.DeletionTimestamp != nil {
			step += " in deletion"
		}
		name := event.Object.Name
		if all := steps[name]; len(all) == 0 || all[len(all)-1] != step {
			steps[name] = append(steps[name], step)
		}
	}
	for name, all := range steps {
		if strings.HasPrefix(name, "w-") {
			require.Equal(e.t, []string{"ADDED", "MODIFIED", "MODIFIED in deletion", "DELETED in deletion"}, all, name)
		}
	}
	require.Len(e.t, steps, writersCount*roundsOfWriter+1)
}
