package reach_test

import (
	"testing"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/test/policygen"
)

// BenchmarkImpact compares two states of 1,000 pods and 200 policies that differ in one policy.
func BenchmarkImpact(b *testing.B) {
	c := policygen.Workload(1000)
	before := translate(b, c)
	edited := *c
	edited.Policies = c.Policies[1:]
	after := translate(b, &edited)
	places := placesOf(c, before, after)

	for b.Loop() {
		reach.Impact(before, after, places, nil)
	}
	b.ReportMetric(float64(len(reach.Classify(places, before, after))), "classes")
}
