package translator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/translator"
)

func TestPoliciesHaveTheAgeOfTheirObjects(t *testing.T) {
	at := metav1.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name    string
		created metav1.Time
		want    int64
	}{
		{"known", at, at.Unix()},
		{"unknown", metav1.Time{}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := translator.New(translator.Options{})
			np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", CreationTimestamp: tc.created}}
			require.NoError(t, tr.Put(np))
			n := 0
			for p := range tr.Snapshot().Policies() {
				require.Equal(t, tc.want, p.Created)
				n++
			}
			require.Equal(t, 1, n)
		})
	}
}
