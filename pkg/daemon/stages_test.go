package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/policy"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/serve/web/live"
)

// TestStagesAreInOrder checks that what reports takes a snapshot before a target can be synced with it.
func TestStagesAreInOrder(t *testing.T) {
	names := func(d *Daemon) (out []string) {
		for _, s := range d.stages() {
			out = append(out, s.name)
		}
		return out
	}
	require.Equal(t, []string{"metrics and log", "targets"}, names(&Daemon{}))
	d := &Daemon{resolver: &resolver.Resolver{}, page: &page{Page: &live.Page{}}, embedded: &Embedded{}, fabric: &EmbeddedController{}, sdwan: &sdwan.Controller{}, policies: policy.New(policy.Options{})}
	d.OnPublish(func(pipeline.Published) {})
	require.Equal(t, []string{
		"metrics and log", "web page", "logical ports of the embedded database", "interfaces of the embedded controller", "DNS names", "SD-WAN", "reports on policies", "watcher", "targets",
	}, names(d))
}

// TestTargetsGetASnapshotLast checks that a loop that its backend wakes does not sync a snapshot that is not through the stages
// before, which give pods their logical ports.
func TestTargetsGetASnapshotLast(t *testing.T) {
	d := &Daemon{}
	snapshot, early := intent.NewSnapshot(), true
	d.OnPublish(func(pipeline.Published) { early = d.staged.Load() != nil })
	for _, s := range d.stages()[1:] {
		s.take(pipeline.Published{Snapshot: snapshot})
	}
	require.False(t, early)
	require.Same(t, snapshot, d.staged.Load())
}
