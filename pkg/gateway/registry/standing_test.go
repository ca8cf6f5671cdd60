package registry_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/registry"
)

// messages returns the messages of the conditions of an object, by their types.
func messages(t *testing.T, clusters dynamic.ResourceInterface, name string) map[string]string {
	t.Helper()
	o, err := clusters.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	out := map[string]string{}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		c, ok := each.(map[string]any)
		require.True(t, ok)
		out[c["type"].(string)], _ = c["message"].(string)
	}
	return out
}

// TestReportStanding has a condition of one cluster that changes all the time, and one of another that does not. The first is written every
// 30 seconds, the second once, and what the API itself reports stays.
func TestReportStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logtest.NewNullLogger()
		client, clusters := fakeAPI()
		api, err := registry.NewAPI(client, newSet(), registry.APIOptions{}, log)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- api.Run(ctx) }()
		for _, name := range []string{"flaps", "calm"} {
			o := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(object(name, "https://"+name)), &o.Object))
			_, err := clusters.Create(ctx, o, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		client.ClearActions()
		changes := 0
		go func() {
			api.ReportStanding(ctx, func(name string, _ time.Time) []metav1.Condition {
				c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Tried", Message: "calm"}
				if name == "flaps" {
					changes++
					c.Message = strconv.Itoa(changes)
				}
				return []metav1.Condition{c}
			})
			done <- nil
		}()
		time.Sleep(3*time.Minute - time.Second)
		stop()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		writes := map[string]int{}
		for _, a := range client.Actions() {
			if written, ok := a.(k8stesting.UpdateAction); ok && a.GetSubresource() == "status" {
				writes[written.GetObject().(*unstructured.Unstructured).GetName()]++
			}
		}
		require.Equal(t, map[string]int{"flaps": 6, "calm": 1}, writes)
		require.Equal(t, map[string]string{"Accepted": "This version is served.", "Ready": "calm"}, messages(t, clusters, "calm"))
		require.Equal(t, "This version is served.", messages(t, clusters, "flaps")["Accepted"])
	})
}
