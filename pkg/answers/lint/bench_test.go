package lint_test

import (
	"testing"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/test/policygen"
)

// BenchmarkRun judges 5,000 pods and 1,000 policies.
func BenchmarkRun(b *testing.B) {
	c := clusterOf(b, policygen.Workload(5000))
	for b.Loop() {
		lint.Run(c, lint.Options{})
	}
}
