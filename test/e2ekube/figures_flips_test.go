//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/bench/figures"
	"github.com/netloom/netloom/test/policygen"
)

const (
	kindFlip = "a flip"
	kindRaw  = "a raw write"
	// figuresEqual is how many policies are created that are equal to others.
	figuresEqual = 5
)

// cost is what changes took, each of which was made when nothing else was under way.
type cost struct {
	changes            []*change
	rows               []int
	installed          []time.Duration // from the request to the last OpenFlow flow, of those that changed flows
	northd, controller []time.Duration // processor time of each change
	recomputes         int
}

func (c *cost) median(f func(*change) time.Duration) time.Duration { return c.quantile(0.5, f) }

func (c *cost) quantile(q float64, f func(*change) time.Duration) time.Duration {
	var all []time.Duration
	for _, one := range c.changes {
		all = append(all, f(one))
	}
	return quantile(all, q)
}

// spread is how far the quartiles of a time are apart, as a share of its median.
func (c *cost) spread(f func(*change) time.Duration) float64 {
	var all []time.Duration
	for _, one := range c.changes {
		all = append(all, f(one))
	}
	return spread(all)
}

func spread(all []time.Duration) float64 {
	return float64(quantile(all, 0.75)-quantile(all, 0.25)) / float64(max(1, quantile(all, 0.5)))
}

// mean is the mean of times, in milliseconds.
func mean(all []time.Duration) float64 {
	var sum time.Duration
	for _, one := range all {
		sum += one
	}
	return inMillis(sum) / float64(len(all))
}

// measurePatience is after how long measure makes no further change: those of a large cluster take OVN half a minute each.
const measurePatience = 2 * time.Minute

// measure makes n changes, or fewer if they take long, waits after each until its row is committed and OVN has nothing to do, and returns what they took.
func (s *sizing) measure(n int, begin func(i int) *change) *cost {
	s.t.Helper()
	s.chassis.Settle()
	c, ends := &cost{}, time.Now().Add(measurePatience)
	recomputes := s.ovn.FlowRecomputes()
	for i := range n {
		if i > 0 && time.Now().After(ends) {
			break
		}
		rows, flows, northd, controller := s.times.seen(), s.installs.Changes(), s.ovn.NorthdCPU(), s.controllerCPU()
		one := begin(i)
		await.True(s.t, func() bool { return s.times.committed(one) }, "a change has its rows")
		s.chassis.Settle()
		c.changes, c.rows = append(c.changes, one), append(c.rows, s.times.seen()-rows)
		c.northd, c.controller = append(c.northd, s.ovn.NorthdCPU()-northd), append(c.controller, s.controllerCPU()-controller)
		if s.installs.Changes() > flows {
			c.installed = append(c.installed, s.installs.Last().Sub(one.sent))
		}
	}
	c.recomputes = s.ovn.FlowRecomputes() - recomputes
	slices.Sort(c.rows)
	return c
}

// flip gives the i-th pod of the chassis the label of another pod, and the next time its own again.
func (s *sizing) flip(key string, i int) *change {
	s.t.Helper()
	pods := s.load.cluster.Pods
	p := pods[s.spread(i/2, len(pods))]
	next := pods[(s.spread(i/2, len(pods))+policygen.WorkloadNamespaces)%len(pods)].Labels[key]
	if next == p.Labels[key] {
		next = "elsewhere" // there is only one value in a small cluster
	}
	value := next
	if i%2 == 1 {
		value = p.Labels[key]
	}
	c, done := s.times.follow(kindFlip, p.Namespace+"/"+p.Name, p.Status.PodIP)
	got, err := s.load.client.CoreV1().Pods(p.Namespace).Patch(s.t.Context(), p.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value), metav1.PatchOptions{})
	require.NoError(s.t, err)
	done(got.ResourceVersion)
	return c
}

// controllerCPU is the processor time of ovn-controller, 0 when it is stopped.
func (s *sizing) controllerCPU() time.Duration {
	if s.alone {
		return 0
	}
	return s.chassis.ControllerCPU()
}

// flips changes one label of pods of the chassis, one after the other, and back.
func (s *sizing) flips(key, what string) {
	s.t.Helper()
	stop := s.times.watch(s.t, s.kube)
	defer stop()
	moved := s.times.seenIn("Port_Group")
	c := s.measure(2*min(*flipsFlag, figuresPorts), func(i int) *change { return s.flip(key, i) })
	s.awaitEvents(c)
	rows, groups := c.rows[len(c.rows)/2], (s.times.seenIn("Port_Group")-moved)/len(c.changes)
	s.addDelivery(what, c, s.echoed(key, rows-groups, groups))
	if s.alone {
		return
	}
	raw := s.raw(rows)
	s.add(&figures.Figure{Name: "… rows, median", Measured: float64(rows), AtMost: s.at(1000, 6), Meaning: fmt.Sprintf("at most %d, of %d flips", c.rows[len(c.rows)-1], len(c.rows))})
	s.add(&figures.Figure{
		Name: "… recomputes of ovn-northd", Measured: float64(c.recomputes) / float64(len(c.changes)), AtMost: new(0.0),
		Meaning: "of its logical flows, for each flip",
	})
	s.add(&figures.Figure{Name: "… CPU of ovn-northd", Measured: mean(c.northd), Unit: "ms", Spread: spread(c.northd), Floor: mean(raw.northd), Meaning: "the floor is for address sets that no ACL has"})
	s.add(&figures.Figure{Name: "… CPU of ovn-controller", Measured: mean(c.controller), Unit: "ms", Spread: spread(c.controller), Meaning: "of the chassis that has the pod"})
	s.addInstalled(c)
}

// awaitEvents waits until the plain watch has the event of every change.
func (s *sizing) awaitEvents(c *cost) {
	s.t.Helper()
	await.True(s.t, func() bool {
		return !slices.ContainsFunc(c.changes, func(one *change) bool { return !s.times.delivered(one) })
	}, "the plain watch has every event")
}

// addDelivery adds the times until the rows of changes were committed, beside those of a program that only passes events on.
func (s *sizing) addDelivery(what string, c, echoed *cost) {
	row := func(one *change) time.Duration { return one.committed.Sub(one.sent) }
	beyond := func(one *change) time.Duration { return one.committed.Sub(one.watched) }
	limit := 1.5
	if len(s.load.cluster.Pods) <= 1000 {
		limit = 1
	}
	s.add(&figures.Figure{
		Name: what + ": from the request to the row, p50", Measured: inMillis(c.median(row)), Unit: "ms", Spread: c.spread(row),
		Floor: inMillis(echoed.median(row)), Meaning: "the floor is a program in netloom's place that writes as many rows of the same tables for every event, whatever it is",
	})
	s.add(&figures.Figure{
		Name: "… beyond the event, p50", Measured: inMillis(c.median(beyond)), Unit: "ms", AtMost: &limit, Spread: c.spread(beyond),
		Floor: inMillis(echoed.median(beyond)), Meaning: "p99 " + millis(c.quantile(0.99, beyond)) + "; the floor is that program's",
	})
}

// addInstalled adds the times until the flows of the chassis were as they stayed.
func (s *sizing) addInstalled(c *cost) {
	for _, q := range []float64{0.5, 0.99} {
		f := &figures.Figure{
			Name: fmt.Sprintf("… from the request to installed OpenFlow flows, p%.0f", 100*q), Measured: inMillis(quantile(c.installed, q)), Unit: "ms",
			Meaning: fmt.Sprintf("the last flow that the switch reports; %d of %d flips changed flows there", len(c.installed), len(c.changes)),
		}
		if len(c.installed) == 0 {
			f.Missing = "no flip changed a flow of the chassis"
		}
		s.add(f)
	}
}

// raw changes as many address sets as a flip changes rows, in transactions of a minimal client.
func (s *sizing) raw(rows int) *cost {
	s.t.Helper()
	var ops []any
	for i := range rows {
		ops = append(ops, map[string]any{"op": "insert", "table": "Address_Set", "row": map[string]any{"name": rawSet(i)}})
	}
	s.dial().transact(ops)
	c := s.measure(min(*flipsFlag, figuresPorts), func(n int) *change {
		address := netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}).String()
		var ops []any
		for i := range rows {
			ops = append(ops, map[string]any{
				"op": "mutate", "table": "Address_Set", "where": []any{[]any{"name", "==", rawSet(i)}},
				"mutations": []any{[]any{"addresses", "insert", address}},
			})
		}
		client := s.dial()
		c, done := s.times.follow(kindRaw, address, address)
		client.transact(ops)
		done("")
		return c
	})
	ops = nil
	for i := range rows {
		ops = append(ops, map[string]any{"op": "delete", "table": "Address_Set", "where": []any{[]any{"name", "==", rawSet(i)}}})
	}
	s.dial().transact(ops)
	return c
}

// minimal is a client for one transaction: it does not answer the probes of a server that it keeps waiting.
type minimal struct {
	t    *testing.T
	wire *ovsdbtest.Raw
}

func (s *sizing) dial() minimal {
	s.t.Helper()
	wire, err := ovsdbtest.DialRaw(s.t.Context(), s.ovn.NBTCP(), "OVN_Northbound")
	require.NoError(s.t, err)
	return minimal{s.t, wire}
}

func (m minimal) transact(ops []any) {
	m.t.Helper()
	_, err := m.wire.Transact(ops...)
	require.NoError(m.t, err)
	require.NoError(m.t, m.wire.Close())
}

func rawSet(i int) string { return fmt.Sprintf("raw%d", i) }

// equalPolicies creates policies that differ from others by their names.
func (s *sizing) equalPolicies() {
	s.t.Helper()
	s.chassis.Settle()
	recomputes, acls, groups, sets := s.ovn.FlowRecomputes(), s.times.seenIn("ACL"), s.times.seenIn("Port_Group"), s.times.seenIn("Address_Set")
	for i := range figuresEqual {
		p := s.load.cluster.Policies[i].DeepCopy()
		p.ObjectMeta = metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("equal-%d", i)}
		_, err := s.load.client.NetworkingV1().NetworkPolicies(p.Namespace).Create(s.t.Context(), p, metav1.CreateOptions{})
		require.NoError(s.t, err)
		s.awaitNothingToDo()
		s.chassis.Settle()
	}
	each := func(n int) float64 { return float64(n) / figuresEqual }
	s.add(&figures.Figure{
		Name: "a policy equal to another: rows of ACLs and port groups", Measured: each(s.times.seenIn("ACL") - acls + s.times.seenIn("Port_Group") - groups),
		AtMost: new(0.0), Meaning: fmt.Sprintf("what makes ovn-northd recompute; and %.1f address sets, which do not", each(s.times.seenIn("Address_Set")-sets)),
	})
	s.add(&figures.Figure{Name: "… recomputes of ovn-northd", Measured: each(s.ovn.FlowRecomputes() - recomputes), AtMost: new(0.0), Meaning: "for each policy"})
}

func inMillis(d time.Duration) float64 { return d.Seconds() * 1000 }
