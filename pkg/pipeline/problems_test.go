package pipeline_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
)

// flipAmong returns a function that changes a label of a pod beside n policies with a problem each.
func flipAmong(t testing.TB, n int) func() {
	t.Helper()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	s := pipelinetest.New()
	s.Put(pipelinetest.Namespace("shop"))
	for i := range n {
		p := pipelinetest.Policy(fmt.Sprintf("p%d", i), "db", "web")
		p.Spec.Ingress[0].From = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/33"}}}
		s.Put(p)
	}
	s.Sync()
	p := pipeline.New(s, translator.Options{}, quiet)
	p.Step()
	require.Len(t, p.Problems(), n)
	flips := 0
	return func() {
		flips++
		s.Put(pipelinetest.Pod("web-0", fmt.Sprintf("web%d", flips%2), "n1", "10.0.0.1"))
		p.Step()
	}
}

func TestAChangeCostsNothingForTheProblemsOfOthers(t *testing.T) {
	const kept = 100 << 10 // less than a copy of the list
	require.InDelta(t, allocated(flipAmong(t, 1)), allocated(flipAmong(t, 4000)), kept)
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// BenchmarkFlipAmongProblems measures the step of a changed label beside policies with a problem each.
func BenchmarkFlipAmongProblems(b *testing.B) {
	for _, n := range []int{0, 10000} {
		b.Run(fmt.Sprintf("problems=%d", n), func(b *testing.B) {
			flip := flipAmong(b, n)
			for b.Loop() {
				flip()
			}
		})
	}
}
