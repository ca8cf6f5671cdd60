package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/controller/policy"
	"github.com/netloom/netloom/pkg/controller/sdwan"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/webui/live"
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
	d := &Daemon{page: &page{Page: &live.Page{}}, embedded: &Embedded{}, sdwan: &sdwan.Controller{}, policies: policy.New(policy.Options{})}
	d.OnPublish(func(pipeline.Published) {})
	require.Equal(t, []string{
		"metrics and log", "web page", "logical ports of the embedded database", "SD-WAN", "reports on policies", "watcher", "targets",
	}, names(d))
}
