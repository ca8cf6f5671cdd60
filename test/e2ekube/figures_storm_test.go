//go:build e2e

package e2ekube_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/bench/figures"
)

// The storm for which limits were set: so many changes, of which so many relabel a namespace.
const (
	stormChanges    = 4000
	stormNamespaces = 404
)

// storm relabels pods and namespaces as fast as the API server takes it.
func (s *sizing) storm(changes int) {
	s.t.Helper()
	gap := &figures.Figure{Name: fmt.Sprintf("a storm of %d changes: longest time without a commit", changes), Unit: "ms", AtMost: new(250.0)}
	if changes == 0 {
		gap.Name, gap.Missing = "a storm: longest time without a commit", "the storm was left out (STORM=0)"
		s.add(gap)
		return
	}
	s.chassis.Settle()
	stop := s.times.watch(s.t, s.kube)
	defer stop()
	before, rows, log := s.readBacks(), s.times.seen(), s.ovn.NBLog()
	already, _ := s.times.moments()
	began := time.Now()
	s.load.each(s.t, changes, func(i int) { s.load.upset(s.t, i) })
	ended := time.Now()
	s.awaitNothingToDo()
	commits, events := s.times.moments()
	gap.Measured, gap.Floor = inMillis(figures.LongestGap(began, ended, commits)), inMillis(figures.LongestGap(began, ended, events))
	gap.Meaning = fmt.Sprintf("the floor is the longest time without an event of a pod; %.0f changes a second", float64(changes)/ended.Sub(began).Seconds())
	s.add(gap)
	s.add(&figures.Figure{
		Name: "… rows", Measured: float64(s.times.seen() - rows),
		Meaning: fmt.Sprintf("in %d transactions; a row counts once for each", len(commits)-len(already)),
	})
	size := &figures.Figure{Name: "… log of the database", Measured: float64(s.ovn.NBLog()-log) / 1e6, Unit: "MB"}
	if changes == stormChanges {
		size.AtMost, size.Meaning = new(0.24), "ovn-kubernetes wrote 0.24 MB"
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
