package quota_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/flow"
	"github.com/netloom/netloom/pkg/gateway/quota"
)

// world is the API with the Leases, and the instances of a gateway.
type world struct {
	ctx    context.Context //nolint:containedctx // ends with the test
	api    *fake.Clientset
	away   atomic.Bool // the API
	writes atomic.Int64
	schema *v1alpha1.FlowControlSchema
}

func newWorld(t *testing.T, schema *v1alpha1.FlowControlSchema) *world {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &world{ctx: ctx, api: fake.NewClientset(), schema: schema}
	t.Cleanup(func() {
		stop()
		time.Sleep(2 * time.Second) // for what sleeps
	})
	var version atomic.Int64
	w.api.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if w.away.Load() {
			return true, nil, errors.New("the API is away")
		}
		var written runtime.Object
		switch a := a.(type) {
		case clienttesting.CreateActionImpl:
			written = a.Object
		case clienttesting.UpdateActionImpl:
			written = a.Object
		}
		if written != nil {
			w.writes.Add(1)
			written.(metav1.Object).SetResourceVersion(fmt.Sprint(version.Add(1)))
		}
		return false, nil, nil
	})
	return w
}

// one is an instance of the gateway, and its clients.
type one struct {
	limiter  *flow.Limiter
	rate     atomic.Int64 // of requests per second; or clients that send one request after the other
	admitted atomic.Int64
	most     atomic.Int64 // in progress at the same time
	kill     context.CancelFunc
	stop     context.CancelFunc
	ended    chan struct{}
}

// start starts an instance, whose clients send requests at a rate.
func (w *world) start(name string, rate int64) *one {
	log, _ := logtest.NewNullLogger()
	ctx, stop := context.WithCancel(w.ctx)
	clients, kill := context.WithCancel(w.ctx)
	o := &one{limiter: flow.New(w.schema), stop: stop, kill: kill, ended: make(chan struct{})}
	o.rate.Store(rate)
	limit := quota.Limit{Key: "a.example/slow", Whole: w.schema.GlobalMaxRequestsInflight != nil}
	if limit.Whole {
		limit.Total, limit.Most = float64(w.schema.GlobalMaxRequestsInflight.Max), float64(w.schema.MaxRequestsInflight.Max)
	} else {
		limit.Total, limit.Most = float64(w.schema.GlobalTokenBucket.QPS), float64(w.schema.TokenBucket.QPS)
	}
	m := quota.New(quota.Options{
		Log: log, Leases: w.api.CoordinationV1().Leases("netloom-system"), Identity: name,
		Limits: func() []quota.Limit {
			now := limit
			now.Demand = o.limiter.Demand()
			return []quota.Limit{now}
		},
		Share: func(shares map[string]float64) {
			share, known := shares[limit.Key]
			if !known {
				share = -1
			}
			o.limiter.Share(share)
		},
	})
	go func() {
		defer close(o.ended)
		m.Run(ctx)
	}()
	go o.send(clients)
	return o
}

// send sends the requests, each of which takes a second.
func (o *one) send(ctx context.Context) {
	for ctx.Err() == nil {
		rate := o.rate.Load()
		if rate == 0 {
			time.Sleep(time.Second)
			continue
		}
		time.Sleep(time.Second / time.Duration(rate))
		release, ok := o.limiter.Admit(false)
		if !ok {
			continue
		}
		o.admitted.Add(1)
		o.most.Store(max(o.most.Load(), o.limiter.Inflight()))
		time.AfterFunc(time.Second, release)
	}
}

// die ends an instance without a word.
func (w *world) die(o *one) {
	o.kill()
	w.away.Store(true) // its last requests fail
	o.stop()
	<-o.ended
	w.away.Store(false)
}

// perSecond returns how many requests all instances together admit.
func perSecond(over time.Duration, all ...*one) float64 {
	for _, o := range all {
		o.admitted.Store(0)
	}
	time.Sleep(over)
	sum := int64(0)
	for _, o := range all {
		sum += o.admitted.Load()
	}
	return float64(sum) / over.Seconds()
}

// TestThreeInstancesEnforceOneLimit has one instance with most of the demand, which moves to another, one die, one join, and the API go away.
func TestThreeInstancesEnforceOneLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &v1alpha1.FlowControlSchema{
			Name: "slow", Strategy: v1alpha1.StrategyGlobalAllocate,
			TokenBucket: &v1alpha1.TokenBucket{QPS: 80, Burst: 80}, GlobalTokenBucket: &v1alpha1.TokenBucket{QPS: 100, Burst: 100},
		})
		within := func(want float64, all ...*one) {
			t.Helper()
			require.InEpsilon(t, want, perSecond(20*time.Second, all...), 0.1)
		}
		a, b, c := w.start("a", 150), w.start("b", 20), w.start("c", 1)
		time.Sleep(time.Minute)
		within(100, a, b, c)
		require.InEpsilon(t, 20, perSecond(20*time.Second, b), 0.1, "a small demand is met")

		a.rate.Store(1)
		c.rate.Store(150)
		time.Sleep(time.Minute)
		within(100, a, b, c)

		before := w.writes.Load()
		time.Sleep(time.Minute)
		require.LessOrEqual(t, w.writes.Load()-before, int64(3*7), "a Lease whose demands do not change is written every 10 seconds")

		b.rate.Store(150)
		time.Sleep(time.Minute)
		w.die(b)
		time.Sleep(time.Minute)
		within(81, a, c) // the most of c, and the demand of a

		d := w.start("d", 150)
		time.Sleep(time.Minute)
		within(100, a, c, d)

		w.away.Store(true)
		time.Sleep(time.Minute)
		within(161, a, c, d) // the local limits of c and d
		w.away.Store(false)
		time.Sleep(time.Minute)
		within(100, a, c, d)

		d.kill()
		d.stop() // it leaves in order
		<-d.ended
		time.Sleep(30 * time.Second)
		within(81, a, c)
	})
}

// TestRequestsInProgressAreDivided counts requests of three instances at the same time.
func TestRequestsInProgressAreDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &v1alpha1.FlowControlSchema{
			Name: "slow", Strategy: v1alpha1.StrategyGlobalCount,
			MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 50}, GlobalMaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 60},
		})
		a, b, c := w.start("a", 200), w.start("b", 200), w.start("c", 1)
		time.Sleep(time.Minute)
		sum := 0.0
		for _, o := range []*one{a, b, c} {
			o.most.Store(0)
			sum += o.limiter.Limit()
		}
		require.LessOrEqual(t, sum, 60.0)
		require.InEpsilon(t, 60, perSecond(20*time.Second, a, b, c), 0.1, "each takes a second, so that this is also how many there are at a time")
		require.LessOrEqual(t, a.most.Load()+b.most.Load()+c.most.Load(), int64(60))
	})
}

// TestNeverMoreThanAllLocalLimits looks at the limits all the time while instances come, die and lose the API.
func TestNeverMoreThanAllLocalLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &v1alpha1.FlowControlSchema{
			Name: "slow", Strategy: v1alpha1.StrategyGlobalAllocate,
			TokenBucket: &v1alpha1.TokenBucket{QPS: 60, Burst: 60}, GlobalTokenBucket: &v1alpha1.TokenBucket{QPS: 100, Burst: 100},
		})
		var all []*one
		over := 0
		watch := func(d time.Duration) {
			t.Helper()
			for range d / time.Second {
				time.Sleep(time.Second)
				sum := 0.0
				for _, o := range all {
					require.LessOrEqual(t, o.limiter.Limit(), 60.0)
					sum += o.limiter.Limit()
				}
				if sum > 100+1e-6 {
					over++
				}
			}
		}
		all = append(all, w.start("a", 200), w.start("b", 0))
		watch(time.Minute)
		over = 0
		for i := range 6 { // demand moves
			all[0].rate.Store(int64(200 * (i % 2)))
			all[1].rate.Store(int64(200 * ((i + 1) % 2)))
			watch(20 * time.Second)
		}
		require.Zero(t, over, "who needs more waits until the others have less")
		all = append(all, w.start("c", 200))
		watch(25 * time.Second)
		require.LessOrEqual(t, over, 10, "the others find the new one in a few seconds")
		over = 0
		w.away.Store(true)
		watch(24 * time.Second)
		w.away.Store(false)
		watch(25 * time.Second)
		require.Zero(t, over, "a short absence of the API changes nothing")
	})
}

// TestALeaseOfALongTimeAgoIsDeleted finds a Lease whose instance has not come back.
func TestALeaseOfALongTimeAgoIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &v1alpha1.FlowControlSchema{
			Name: "slow", Strategy: v1alpha1.StrategyGlobalAllocate,
			TokenBucket: &v1alpha1.TokenBucket{QPS: 60, Burst: 60}, GlobalTokenBucket: &v1alpha1.TokenBucket{QPS: 100, Burst: 100},
		})
		leases := w.api.CoordinationV1().Leases("netloom-system")
		a, b := w.start("a", 1), w.start("b", 1)
		time.Sleep(time.Minute)
		w.die(b)
		_, err := leases.Get(t.Context(), "netloom-gateway-quota-b", metav1.GetOptions{})
		require.NoError(t, err)
		time.Sleep(2 * time.Hour)
		list, err := leases.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.InDelta(t, 60.0, a.limiter.Limit(), 0, "it is alone")
	})
}
