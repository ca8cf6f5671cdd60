package pipeline_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/watch"
	"github.com/netloom/netloom/translator"
)

// TestWithheldKindsAreUnknownAreas says for each kind what is unknown without it.
func TestWithheldKindsAreUnknownAreas(t *testing.T) {
	source := pipelinetest.New()
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Policy("db", "web", "db"))
	source.Sync()
	p := pipeline.New(source, translator.Options{}, pipelinetest.Log(t))
	p.Step()
	require.Zero(t, p.Latest().Unknown())
	before := p.Latest()
	for _, kind := range slices.Concat(watch.SDWANKinds(), []watch.Kind{watch.KindService, watch.KindEndpointSlice}) {
		want := intent.AreaDevices
		if kind == watch.KindService || kind == watch.KindEndpointSlice {
			want = intent.AreaBalancers
		}
		source.Withhold(kind)
		p.Step()
		require.Equal(t, want, p.Latest().Unknown(), kind)
		require.Equal(t, []watch.Kind{kind}, p.Withheld())
	}
	changes, known := p.Latest().Since(before.Revision())
	require.True(t, known)
	require.True(t, changes[0].Unknown)
	source.Withhold()
	p.Step()
	require.Zero(t, p.Latest().Unknown())
}
