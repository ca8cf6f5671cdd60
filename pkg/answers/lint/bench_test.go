package lint_test

import (
	"fmt"
	"testing"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/test/policygen"
)

// BenchmarkRun judges 1,000, 3,000 and 10,000 pods with a policy for every five of them.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1000, 3000, 10_000} {
		c := clusterOf(b, policygen.Workload(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				lint.Run(c, lint.Options{})
			}
		})
	}
}
