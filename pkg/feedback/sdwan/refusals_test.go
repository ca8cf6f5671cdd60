package sdwan_test

import (
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
)

// TestRefusalsAreLoggedWithoutAnAPI has objects that are not in effect where no status can say so: the log does, once.
func TestRefusalsAreLoggedWithoutAnAPI(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Options.Dynamic = nil
		hook := test.NewLocal(r.Log)
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Rule("waits", "10.1.0.0/24")) // for a policy that does not exist
		r.Apply(sdwantest.Rule("wrong", "10.1.0.0/33"))
		r.start()
		count := func(message, field, text string) int {
			n := 0
			for _, e := range hook.AllEntries() {
				if value, _ := e.Data[field].(string); e.Message == message && value == text {
					n++
				}
			}
			return n
		}
		r.After(3 * time.Minute)
		require.Equal(t, 1, count("SD-WAN object is not accepted", "object", "Mwan3Rule/site/wrong"))
		require.Equal(t, 1, count("the CNF does not have an object as it should be", "intent", "site/cnf/Mwan3Rule/site/waits"))
	})
}
