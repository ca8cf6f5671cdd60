package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// TestAVolumeThatGoesIsNoDeletion has a link that leads to another mount: the same as a volume that is no longer mounted.
func TestAVolumeThatGoesIsNoDeletion(t *testing.T) {
	dir, volume := t.TempDir(), t.TempDir()
	write(t, dir, "a.yaml", pod("a", "v1"))
	write(t, volume, "deep/b.yaml", pod("b", "v1"))
	relink := func(to string) {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "volume")))
		require.NoError(t, os.Symlink(to, filepath.Join(dir, "volume")))
	}
	relink(volume)
	d := NewDirectory(dir, Options{}, quiet())
	require.NoError(t, d.ReadOnce())
	require.Len(t, d.Changes(), 3)
	b := source.Change{Ref: object.Ref{Kind: object.KindPod, Namespace: "shop", Name: "b"}}

	relink("/proc/sys/dev")
	require.NoError(t, d.ReadOnce())
	b.Gone = source.Lost
	require.Equal(t, []source.Change{b}, d.Changes())

	relink(volume)
	require.NoError(t, d.ReadOnce())
	require.Len(t, d.Changes(), 1)
	require.NoError(t, os.RemoveAll(filepath.Join(volume, "deep")))
	require.NoError(t, d.ReadOnce())
	b.Gone = source.Missing
	require.Equal(t, []source.Change{b}, d.Changes(), "the volume is there, and the file is not")
}
