package sdwan_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// TestSecretsAreRefusedByNamespace reads Secrets where some namespaces may be read: one answer says nothing of the others.
func TestSecretsAreRefusedByNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r feedback.Refusals
		client := fake.NewClientset()
		closed := map[string]bool{"far": true}
		client.PrependReactor("get", "secrets", func(a kubetesting.Action) (bool, runtime.Object, error) {
			if closed[a.GetNamespace()] {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "key", nil)
			}
			return a.GetNamespace() == "edge", &corev1.Secret{}, nil
		})
		secrets := sdwan.NoteRefusals(kube.NewSecrets(client, time.Second), &r, time.Hour)
		far := `degraded: when it last tried, netloom was not allowed to get secrets in far: read Secret far/key: secrets "key" is forbidden: <nil>`
		_, err := secrets.Secret(t.Context(), "far", "key")
		require.True(t, apierrors.IsForbidden(err))
		_, err = secrets.Secret(t.Context(), "edge", "key")
		require.NoError(t, err)
		require.Equal(t, []string{far}, r.Degraded(), "the right in one namespace is not one in another")

		time.Sleep(3*time.Hour - 1)
		require.Len(t, r.Degraded(), 1)
		_, _ = secrets.Secret(t.Context(), "far", "key")
		time.Sleep(3*time.Hour - 1)
		require.Len(t, r.Degraded(), 1, "it was asked again")
		time.Sleep(time.Nanosecond)
		require.Empty(t, r.Degraded(), "it is not needed any more")

		_, _ = secrets.Secret(t.Context(), "far", "key")
		require.Len(t, r.Degraded(), 1)
		closed["far"] = false
		_, err = secrets.Secret(t.Context(), "far", "key")
		require.ErrorIs(t, err, source.ErrNoSecret)
		require.Empty(t, r.Degraded(), "only a client with the right can know that there is none")
	})
}
