package confirm

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// BenchmarkLook compares a kind once, in clusters of different sizes: what netloom pays for it per interval, but for decoding the list.
func BenchmarkLook(b *testing.B) {
	for _, pods := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(pods), func(b *testing.B) {
			k := bigKind(b, pods)
			b.ReportAllocs()
			for b.Loop() {
				require.Equal(b, k.api.opts.Interval, k.look(b.Context()))
			}
		})
	}
}

// bigKind is a kind of that many objects, and what an informer holds of them.
func bigKind(tb testing.TB, pods int) *Kind {
	tb.Helper()
	held := cache.NewStore(cache.MetaNamespaceKeyFunc)
	all := make([]corev1.Pod, pods)
	for i := range all {
		all[i].ObjectMeta = metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("pod-%06d", i), UID: types.UID(fmt.Sprint("uid-", i)), ResourceVersion: fmt.Sprint(i + 1),
		}
		require.NoError(tb, held.Add(&all[i]))
	}
	log, _ := test.NewNullLogger()
	api := NewAPI(Options{Interval: time.Hour}, log)
	list := func(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		from := 0
		if opts.Continue != "" {
			if _, err := fmt.Sscan(opts.Continue, &from); err != nil {
				return nil, err
			}
		}
		to := min(from+int(opts.Limit), pods)
		out := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(pods)}, Items: all[from:to]}
		if left := int64(pods - to); left > 0 {
			out.Continue, out.RemainingItemCount = fmt.Sprint(to), &left
		}
		return out, nil
	}
	k := api.Follow("pods", &cache.ListWatch{ListWithContextFunc: list}, list)
	k.held = held
	return k
}
