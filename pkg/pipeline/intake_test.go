package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func changed(namespace, name string, cost int64) change {
	return change{ref: object.Ref{Kind: object.KindNetworkPolicy, Namespace: namespace, Name: name}, cost: cost, since: time.Unix(1, 0)}
}

func namesOf(list []change) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.ref.Namespace+"/"+c.ref.Name)
	}
	return out
}

func TestNamespacesThatChangeLittleDoNotWait(t *testing.T) {
	var q intake
	for i := range 6 {
		q.add(changed("flood", fmt.Sprint(i), sliceSize/2))
		q.add(changed("storm", fmt.Sprint(i), sliceSize*2/5))
	}
	q.add(changed("shop", "a", lightMost/2))
	q.add(change{ref: object.Ref{Kind: object.KindPod, Namespace: "flood", Name: "pod"}, cost: sliceSize})
	q.add(change{ref: object.Ref{Kind: object.KindService, Namespace: "flood", Name: "service"}, cost: 1})
	q.add(changed("shop", "b", lightMost/2))
	require.Equal(t, []string{"flood/pod", "flood/service", "shop/a", "shop/b"}, namesOf(q.light()))
	require.Empty(t, q.light())
	require.Equal(t, []string{"flood/0", "flood/1"}, namesOf(q.slice()))
	require.Equal(t, []string{"storm/0", "storm/1"}, namesOf(q.slice()), "each has its turn")
	q.add(changed("shop", "c", 1))
	require.Equal(t, []string{"shop/c"}, namesOf(q.light()))
	require.Equal(t, []string{"flood/2", "flood/3"}, namesOf(q.slice()))
	require.Equal(t, []string{"storm/2", "storm/3"}, namesOf(q.slice()))
	require.Equal(t, []string{"flood/4", "flood/5"}, namesOf(q.slice()), "in their order")
	require.Equal(t, []string{"storm/4", "storm/5"}, namesOf(q.all()))
	require.False(t, q.waits())
	require.Empty(t, q.slice())
	require.Empty(t, q.queues)
}

func TestALargeObjectHasASliceOfItsOwn(t *testing.T) {
	var q intake
	q.add(changed("a", "small", lightMost))
	q.add(changed("a", "large", 9*sliceSize))
	q.add(changed("a", "last", lightMost))
	require.Empty(t, q.light())
	require.Equal(t, []string{"a/small"}, namesOf(q.slice()))
	require.Equal(t, []string{"a/large"}, namesOf(q.slice()))
	require.Equal(t, []string{"a/last"}, namesOf(q.light()), "which is not much")
}

func TestAQueueThatGrowsTooLongIsOneSlice(t *testing.T) {
	var q intake
	for i := range mostQueued + 1 {
		q.add(changed("a", fmt.Sprint(i), sliceSize))
	}
	require.Len(t, q.slice(), mostQueued+1)
	require.False(t, q.waits())
}

func TestTheOldestChangeThatWaits(t *testing.T) {
	var q intake
	require.True(t, q.oldest().IsZero())
	for i, ns := range []string{"b", "a", "c"} {
		c := changed(ns, "x", sliceSize)
		c.since = time.Unix(int64(10+i), 0)
		q.add(c)
	}
	require.Equal(t, time.Unix(10, 0), q.oldest())
	q.slice()
	require.Equal(t, time.Unix(10, 0), q.oldest(), "a was the first by name")
	q.slice()
	require.Equal(t, time.Unix(12, 0), q.oldest())

	b := backlog{queued: time.Unix(7, 0)}
	require.Equal(t, time.Unix(7, 0), b.oldest(3))
	b.take(time.Unix(5, 0))
	require.Equal(t, time.Unix(5, 0), b.oldest(3))
	b.publish(4, 3)
	require.Equal(t, time.Unix(5, 0), b.oldest(3))
	require.Equal(t, time.Unix(7, 0), b.oldest(4), "what waits is not in force")
	b.take(time.Unix(5, 0))
	b.queued = time.Unix(2, 0)
	require.Equal(t, time.Unix(2, 0), b.oldest(4))
}
