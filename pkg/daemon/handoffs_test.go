package daemon_test

import (
	"fmt"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
)

// convergences receives each time that a target is in sync.
type convergences struct {
	reconcile.Observers // nil: events that are not overridden are ignored

	reached chan intent.Revision
}

func (c *convergences) Converged(_ string, r intent.Revision, _ int) { c.reached <- r }

// TestADeletionTakesWhatACreationTakes deletes policies, creates them again and changes labels, one after the other, and counts rounds and
// transactions until the target is in sync. What has to be done besides for a policy that went, as to look whether its rows were kept, must not
// wake the target's loop.
func TestADeletionTakesWhatACreationTakes(t *testing.T) {
	const policies = 300
	p := newPlace(t)
	source := pipelinetest.New()
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Pod("db-0", "db", "n2", "10.0.0.3"))
	policy := func(i int) *networkingv1.NetworkPolicy {
		return pipelinetest.Policy(fmt.Sprint("p", i), fmt.Sprint("from-", i), fmt.Sprint("to-", i))
	}
	for i := range policies {
		source.Put(policy(i))
	}
	source.Sync()
	opts := p.options()
	opts.Manifests, opts.Source = "", source
	log := testLog(t)
	log.SetLevel(logrus.WarnLevel)
	d, err := daemon.New(opts, log)
	require.NoError(t, err)
	in := &convergences{reached: make(chan intent.Revision, policies)}
	d.Observe(in)
	startMade(t, d)
	<-in.reached
	each := func(name string, change func(i int)) {
		before, rounds := p.server.Transactions(), 0
		for i := range policies {
			was := d.Pipeline().Latest().Revision()
			change(i)
			for rounds++; <-in.reached <= was; rounds++ {
			}
		}
		require.Equal(t, policies, rounds, "rounds: %s", name)
		require.Equal(t, policies, p.server.Transactions()-before, "transactions: %s", name)
	}
	each("a policy is deleted", func(i int) { source.Remove(policy(i)) })
	each("a policy is created", func(i int) { source.Put(policy(i)) })
	each("a label changes", func(i int) { source.Put(pipelinetest.Pod("web-0", fmt.Sprint("from-", i), "n1", "10.0.0.1")) })
}
