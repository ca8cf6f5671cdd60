//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/bench/figures"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
)

// The storm for which limits were set: so many changes, of which so many relabel a namespace.
const (
	stormChanges    = 4000
	stormNamespaces = 404
)

// storm relabels pods and namespaces as fast as the API server takes it. The name is that of its figures.
func (s *sizing) storm(name string, changes int) {
	s.t.Helper()
	gap := &figures.Figure{Name: fmt.Sprintf("%s of %d changes: longest time without a commit", name, changes), Unit: "ms", AtMost: new(250.0)}
	if changes == 0 {
		gap.Name, gap.Missing = name+": longest time without a commit", "the storm was left out (STORM=0)"
		s.add(gap)
		return
	}
	s.chassis.Settle()
	stop := s.times.watch(s.t, s.kube)
	defer stop()
	writes := s.writeBeside()
	before, rows, log := s.readBacks(), s.times.seen(), s.ovn.NBLog()
	already, _ := s.times.moments()
	began := time.Now()
	s.load.each(s.t, changes, func(i int) { s.load.upset(s.t, s.upset+i) })
	ended := time.Now()
	s.upset += changes // the next storm goes on from here: the same changes would change nothing
	raw := writes()
	require.NoError(s.t, raw.err)
	s.awaitNothingToDo()
	commits, events := s.times.moments()
	silence := figures.LongestGap(began, ended, events)
	gap.Measured, gap.Floor = inMillis(figures.LongestGap(began, ended, commits)), inMillis(max(silence, raw.longest))
	gap.Meaning = fmt.Sprintf("the floor is the longer of %s, in which the API server sent no event of a pod, and %s, which the database took to answer a write "+
		"of a minimal client beside netloom's; %.0f changes a second", millis(silence), millis(raw.longest), float64(changes)/ended.Sub(began).Seconds())
	s.add(gap)
	s.add(&figures.Figure{
		Name: "… rows", Measured: float64(s.times.seen() - rows), Unit: "rows",
		Meaning: fmt.Sprintf("in %d transactions; a row counts once for each", len(commits)-len(already)),
	})
	size := &figures.Figure{Name: "… log of the database", Measured: float64(s.ovn.NBLog()-log-raw.logged) / 1e6, Unit: "MB"}
	if changes == stormChanges {
		size.AtMost, size.Meaning = new(1.8), "450 bytes for each change"
	}
	if size.Measured < 0 {
		size.Missing = "ovsdb-server compacted the file"
	}
	s.add(size)
	var reasons []string
	n := 0.0
	for reason, count := range s.readBacks() {
		if more := count - before[reason]; more > 0 {
			reasons, n = append(reasons, fmt.Sprintf("%s %.0f", reason, more)), n+more
		}
	}
	slices.Sort(reasons)
	s.add(&figures.Figure{Name: "… read-backs", Measured: n, AtMost: new(0.0), Meaning: strings.Join(reasons, ", ")})
}

// rawWrites are the writes of a minimal client beside a storm.
type rawWrites struct {
	longest time.Duration // from a request to its reply
	logged  int64         // bytes of the database's file
	err     error         // ended them
}

// writeBeside has a minimal client change an address set of its own ten times a second, which the stopwatch does not count. It
// shows how long anyone who writes to the database during the storm waits, also for the transactions of netloom that are before.
// The function returned ends it.
func (s *sizing) writeBeside() (stop func() rawWrites) {
	s.t.Helper()
	wire := s.dial().wire
	_, err := wire.Transact(map[string]any{ // that of an earlier storm
		"op": "delete", "table": "Address_Set", "where": []any{[]any{"name", "==", besideKey}},
	}, map[string]any{
		"op": "insert", "table": "Address_Set",
		"row": map[string]any{"name": besideKey, "external_ids": []any{"map", []any{[]any{besideKey, "true"}}}},
	})
	require.NoError(s.t, err)
	write := func(i int) error {
		_, err := wire.Transact(map[string]any{
			"op": "update", "table": "Address_Set", "where": []any{[]any{"name", "==", besideKey}},
			"row": map[string]any{"addresses": fmt.Sprintf("192.0.2.%d", 100+i%100)}, // of equal length, for the log
		})
		return err
	}
	empty := s.ovn.NBLog()
	require.NoError(s.t, write(0))
	each := s.ovn.NBLog() - empty
	ctx, cancel := context.WithCancel(s.t.Context())
	var all rawWrites
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			sent := time.Now()
			if all.err = write(i); all.err != nil {
				return
			}
			all.longest, all.logged = max(all.longest, time.Since(sent)), all.logged+each
		}
	})
	return func() rawWrites {
		cancel()
		running.Wait()
		_ = wire.Close()
		return all
	}
}

// TestWritesBesideDoNotCount checks that the stopwatch counts only the rows of netloom.
func TestWritesBesideDoNotCount(t *testing.T) {
	s := newStopwatch()
	s.row(nbwatch.Change{At: time.Now(), Number: 1, Table: "Address_Set", Verb: nbwatch.Modified, ExternalIDs: map[string]string{besideKey: "true"}})
	commits, _ := s.moments()
	require.Empty(t, commits)
	require.Zero(t, s.seen())
	s.row(nbwatch.Change{At: time.Now(), Number: 2, Table: "Address_Set", Verb: nbwatch.Modified})
	commits, _ = s.moments()
	require.Len(t, commits, 1)
	require.Equal(t, 1, s.seen())
}

// readBacks is how many plans began with a read-back of everything, by reason.
func (s *sizing) readBacks() map[string]float64 {
	s.t.Helper()
	text, err := s.netloom.Get("/metrics")
	require.NoError(s.t, err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(s.t, err)
	counts := map[string]float64{}
	for _, m := range families["netloom_readbacks_total"].GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() == "reason" {
				counts[label.GetValue()] += m.GetCounter().GetValue()
			}
		}
	}
	require.NotEmpty(s.t, counts)
	return counts
}

// upset makes the i-th change of a storm: namespaces exchange their teams, pods their apps.
func (l *load) upset(t *testing.T, i int) {
	t.Helper()
	patch := func(key, value string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	}
	var err error
	if i*stormNamespaces/stormChanges != (i+1)*stormNamespaces/stormChanges {
		spaces := l.cluster.Namespaces
		team := spaces[(i+i/len(spaces))%len(spaces)].Labels["team"]
		_, err = l.client.CoreV1().Namespaces().Patch(t.Context(), spaces[i%len(spaces)].Name, types.MergePatchType, patch("team", team), metav1.PatchOptions{})
	} else {
		p := l.cluster.Pods[i*7%len(l.cluster.Pods)]
		app := fmt.Sprintf("a%d", (i+i/len(l.cluster.Pods))%5) // another each time
		_, err = l.client.CoreV1().Pods(p.Namespace).Patch(t.Context(), p.Name, types.MergePatchType, patch("app", app), metav1.PatchOptions{})
	}
	assert.NoError(t, err)
}
