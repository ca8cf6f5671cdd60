package kube

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/inputs/source"
)

func branchSecret(value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "branch"}, Data: map[string][]byte{"psk": []byte(value)},
	}
}

// gets counts the requests for single Secrets, and fails on any other request.
func gets(t *testing.T, client *fake.Clientset) int {
	t.Helper()
	n := 0
	for _, a := range client.Actions() {
		if a.GetResource().Resource == "secrets" && a.GetVerb() != "update" && a.GetVerb() != "create" {
			require.Equal(t, "get", a.GetVerb())
			n++
		}
	}
	return n
}

func TestSecretIsAskedForOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(branchSecret("one"))
		r := NewSecrets(client, time.Minute)
		read := func() string {
			data, err := r.Secret(t.Context(), "shop", "branch")
			require.NoError(t, err)
			return string(data["psk"])
		}
		require.Equal(t, "one", read())
		_, err := client.CoreV1().Secrets("shop").Update(t.Context(), branchSecret("two"), metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(59 * time.Second)
		require.Equal(t, "one", read())
		require.Equal(t, 1, gets(t, client))
		time.Sleep(time.Second)
		require.Equal(t, "two", read())
		require.Equal(t, 2, gets(t, client))
	})
}

func TestSecretThatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		r := NewSecrets(client, time.Minute)
		for range 3 {
			_, err := r.Secret(t.Context(), "shop", "branch")
			require.EqualError(t, err, "read Secret shop/branch: there is no such Secret")
			require.ErrorIs(t, err, source.ErrNoSecret)
		}
		require.Equal(t, 1, gets(t, client))
		_, err := client.CoreV1().Secrets("shop").Create(t.Context(), branchSecret("one"), metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		data, err := r.Secret(t.Context(), "shop", "branch")
		require.NoError(t, err)
		require.Equal(t, "one", string(data["psk"]))
	})
}

func TestSecretThatIsRefusedIsAskedForAgain(t *testing.T) {
	client := fake.NewClientset(branchSecret("one"))
	refused := true
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refused, nil, forbidden("secrets")
	})
	r := NewSecrets(client, time.Hour)
	_, err := r.Secret(t.Context(), "shop", "branch")
	require.ErrorContains(t, err, "read Secret shop/branch: ")
	require.ErrorContains(t, err, "forbidden")
	require.NotErrorIs(t, err, source.ErrNoSecret)
	refused = false
	_, err = r.Secret(t.Context(), "shop", "branch")
	require.NoError(t, err)
}

func TestConcurrentReadersShareOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(branchSecret("one"))
		client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(time.Second)
			return false, nil, nil
		})
		r := NewSecrets(client, time.Minute)
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				data, err := r.Secret(t.Context(), "shop", "branch")
				if err != nil || string(data["psk"]) != "one" {
					t.Error(err, data)
				}
				data["psk"][0] = 'X'
			})
		}
		group.Wait()
		require.Equal(t, 1, gets(t, client))
	})
}

// TestAnEndedReaderCostsOthersNothing ends the context of the reader that asks; those that wait with it ask themselves.
func TestAnEndedReaderCostsOthersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(branchSecret("one"))
		ctx, cancel := context.WithCancel(t.Context())
		first := true
		client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if !first {
				return false, nil, nil
			}
			first = false
			<-ctx.Done()
			return true, nil, ctx.Err()
		})
		r := NewSecrets(client, time.Minute)
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := r.Secret(ctx, "shop", "branch"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if data, err := r.Secret(t.Context(), "shop", "branch"); err != nil || string(data["psk"]) != "one" {
				t.Error(err, data)
			}
		})
		synctest.Wait()
		cancel()
		group.Wait()
	})
}

func TestUnusedAnswersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewSecrets(fake.NewClientset(), time.Minute)
		for _, name := range []string{"a", "b", "c"} {
			_, err := r.Secret(t.Context(), "shop", name)
			require.ErrorIs(t, err, source.ErrNoSecret)
		}
		time.Sleep(time.Minute)
		_, err := r.Secret(t.Context(), "shop", "d")
		require.ErrorIs(t, err, source.ErrNoSecret)
		require.Len(t, r.known, 1)
	})
}
