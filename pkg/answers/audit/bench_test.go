package audit_test

import (
	"testing"

	"github.com/netloom/netloom/pkg/answers/audit"
	"github.com/netloom/netloom/test/policygen"
)

// BenchmarkOf audits 5,000 pods and 1,000 policies.
func BenchmarkOf(b *testing.B) {
	s := stateOf(b, policygen.Workload(5000), nil)
	for b.Loop() {
		audit.Of(s)
	}
}
