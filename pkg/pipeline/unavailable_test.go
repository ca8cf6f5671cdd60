package pipeline_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
)

// TestUnavailableKindsAreUnknownAreas lists for each kind what is unknown without it.
func TestUnavailableKindsAreUnknownAreas(t *testing.T) {
	src := pipelinetest.New()
	src.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Policy("db", "web", "db"))
	src.Sync()
	p := pipeline.New(src, translator.Options{}, pipelinetest.Log(t))
	p.Step()
	require.Zero(t, p.Latest().Unknown())
	before := p.Latest()
	balanced := []string{object.KindService, object.KindServiceImport, object.KindEndpointSlice}
	kinds := slices.Clone(balanced)
	for _, r := range v1alpha1.Resources() {
		kinds = append(kinds, r.Kind)
	}
	for _, kind := range kinds {
		want := intent.AreaDevices
		if slices.Contains(balanced, kind) {
			want = intent.AreaBalancers
		}
		src.SetUnavailable(kind)
		p.Step()
		require.Equal(t, want, p.Latest().Unknown(), kind)
		require.Equal(t, []string{kind}, p.Unavailable())
	}
	changes, known := p.Latest().Since(before.Revision())
	require.True(t, known)
	require.True(t, changes[0].Unknown)
	src.SetUnavailable()
	p.Step()
	require.Zero(t, p.Latest().Unknown())
}
