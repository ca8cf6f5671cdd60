//go:build e2e

package e2ekube_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/await"
)

// rightsOfWeb allow a service account to watch pods.
const rightsOfWeb = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, namespace: fixed}
rules: [{apiGroups: [""], resources: [pods], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: fixed}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: gateway}]
`

// TestRightsTakenAwayEndWatches takes a user's right to watch away while watches are open, directly, through the gateway, and shared. A real
// API server lets a watch go on until its time limit, and so does the gateway; one that is shared ends with its next review. New ones are
// refused everywhere.
func TestRightsTakenAwayEndWatches(t *testing.T) {
	t.Parallel()
	e := newEqual(t, "--review-interval=4s")
	e.prepare()
	e.kube.Apply(rightsOfWeb)
	var clients []kubernetes.Interface
	for _, l := range e.legs {
		config := rest.AnonymousClientConfig(l.config)
		config.BearerToken = e.web
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		clients = append(clients, client)
	}
	open := func(i int, limit int64) (watch.Interface, error) {
		return clients[i].CoreV1().Pods("fixed").Watch(t.Context(), metav1.ListOptions{ResourceVersion: e.pods().ResourceVersion, TimeoutSeconds: &limit})
	}
	var watches, short []watch.Interface
	for i, l := range e.legs {
		var w watch.Interface
		await.NoError(t, func() (err error) { w, err = open(i, 3600); return err }, "%s: the watch is allowed", l.name)
		t.Cleanup(w.Stop)
		watches = append(watches, w)
		w, err := open(i, 5)
		require.NoError(t, err, l.name)
		short = append(short, w)
	}
	require.NotZero(t, e.sharedRequests(), "watches are shared")
	for i, l := range e.legs {
		e.delivers(watches[i], l.name)
	}

	require.NoError(t, e.kube.Client().RbacV1().RoleBindings("fixed").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	for i, l := range e.legs {
		await.True(t, func() bool {
			w, err := open(i, 1)
			if err == nil {
				w.Stop()
			}
			return apierrors.IsForbidden(err)
		}, "%s: a new watch is refused", l.name)
	}
	const direct, plain, shared = 0, 1, 2
	ends(t, watches[shared], "shared, with its review")
	for _, i := range []int{direct, plain} {
		e.delivers(watches[i], e.legs[i].name)
		ends(t, short[i], e.legs[i].name+", with its time limit")
	}
}

// delivers requires that a change reaches a watch.
func (e *equal) delivers(w watch.Interface, name string) {
	e.t.Helper()
	before := e.pods().ResourceVersion
	pod, err := e.kube.Client().CoreV1().Pods("fixed").Patch(e.t.Context(), "a", "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"since":"`+before+`"}}}`), metav1.PatchOptions{})
	require.NoError(e.t, err)
	for event := range w.ResultChan() {
		require.Equal(e.t, watch.Modified, event.Type, name)
		if event.Object.(metav1.Object).GetResourceVersion() == pod.ResourceVersion {
			return
		}
	}
	e.t.Fatalf("%s: the watch has ended", name)
}

// ends waits until a watch ends, which has to be without an error.
func ends(t *testing.T, w watch.Interface, name string) {
	t.Helper()
	limit := await.Context(t)
	for {
		select {
		case event, more := <-w.ResultChan():
			if !more {
				return
			}
			require.NotEqual(t, watch.Error, event.Type, "%s: %v", name, event.Object)
		case <-limit.Done():
			t.Fatalf("%s: the watch goes on", name)
		}
	}
}
