package tungsten_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/netloom/netloom/pkg/tungsten"
)

// TestTogether makes calls of which each waits for all others: if they were not made at once, the bubble would be in a deadlock.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var all sync.WaitGroup
		all.Add(8)
		call := func() {
			all.Done()
			all.Wait()
		}
		new(tungsten.Client).Together(call, call, call, call, call, call, call, call)
	})
}
