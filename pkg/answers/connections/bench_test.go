package connections_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/policygen"
)

// worldOf is n pods and a policy for each five of them, which isolates for ingress.
func worldOf(t testing.TB, n int) *world.World {
	c := policygen.Workload(n)
	for _, p := range c.Policies {
		p.Spec.PolicyTypes, p.Spec.Egress = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, nil
	}
	return world.New(answerstest.StateOf(t, policygen.Objects(c)))
}

// BenchmarkOf lists what 1,000 and 10,000 pods may do.
func BenchmarkOf(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		w := worldOf(b, n)
		b.Run(fmt.Sprintf("%d pods", n), func(b *testing.B) {
			var r connections.Report
			for b.Loop() {
				r = connections.Of(w, connections.Filter{})
			}
			b.ReportMetric(float64(len(r.Groups)), "groups")
			b.ReportMetric(float64(len(r.Connections)), "connections")
		})
	}
}

// BenchmarkWrite writes what 10,000 pods may do in each form.
func BenchmarkWrite(b *testing.B) {
	r := connections.Of(worldOf(b, 10_000), connections.Filter{})
	for _, form := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"csv", r.WriteCSV},
		{"dot", r.WriteDOT},
		{"svg", r.WriteSVG},
		{"lines", func(io.Writer) error { r.Lines(); return nil }},
	} {
		b.Run(form.name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, form.write(io.Discard))
			}
		})
	}
}
