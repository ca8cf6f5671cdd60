package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDescribe(t *testing.T) {
	for _, tc := range []struct {
		name    string
		release string
		build   debug.BuildInfo
		want    string
	}{
		{"a build that knows nothing", "", debug.BuildInfo{}, "netloom devel ("},
		{"a build from a checkout", "", debug.BuildInfo{
			Main: debug.Module{Version: "(devel)"},
			Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123456789abcdef"},
				{Key: "vcs.modified", Value: "true"},
			},
		}, "netloom devel (commit 0123456789ab with changes, "},
		{"an installed module", "", debug.BuildInfo{Main: debug.Module{Version: "v0.3.0"}}, "netloom v0.3.0 ("},
		{"a release", "v1.2.3", debug.BuildInfo{
			Main: debug.Module{Version: "(devel)"},
		}, "netloom v1.2.3 ("},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tc.want + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
			require.Equal(t, want, describe(tc.release, &tc.build).String())
		})
	}
}

func TestCurrentIsNeverEmpty(t *testing.T) {
	require.NotEmpty(t, Current().Version)
}
