package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

func awaitPods(t *testing.T, d *Directory, want ...string) {
	t.Helper()
	sourcetest.Await(t, d, func() bool {
		return strings.Join(pods(d), ",") == strings.Join(want, ",") && len(d.Problems()) == 0
	})
}

func TestWatchedDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", pod("a", "v1"))
	d := NewDirectory(dir, Options{}, quiet())
	sourcetest.Run(t, d)
	sourcetest.Await(t, d, d.Synced)
	require.Equal(t, []string{"a v1"}, pods(d))

	write(t, dir, "a.yaml", pod("a", "v2"))
	awaitPods(t, d, "a v2")

	write(t, dir, ".a.yaml.tmp", pod("a", "v3")) // the way editors and kubectl write
	require.NoError(t, os.Rename(filepath.Join(dir, ".a.yaml.tmp"), filepath.Join(dir, "a.yaml")))
	awaitPods(t, d, "a v3")

	write(t, dir, "new/deep/b.yaml", pod("b", "v1"))
	awaitPods(t, d, "a v3", "b v1")
	write(t, dir, "new/deep/b.yaml", pod("b", "v2"))
	awaitPods(t, d, "a v3", "b v2")

	require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, ".new")))
	awaitPods(t, d, "a v3")
	require.NoError(t, os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, "old")))
	awaitPods(t, d, "a v3", "b v2")
	write(t, dir, "old/deep/b.yaml", pod("b", "v3"))
	awaitPods(t, d, "a v3", "b v3")

	remove(t, dir, "a.yaml")
	awaitPods(t, d, "b v3")
}

func TestMountedConfigMap(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "..1/a.yaml", pod("a", "v1"))
	write(t, dir, "..1/b.yaml", pod("b", "v1"))
	require.NoError(t, os.Symlink("..1", filepath.Join(dir, "..data")))
	for _, name := range []string{"a.yaml", "b.yaml"} {
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	d := NewDirectory(dir, Options{}, quiet())
	sourcetest.Run(t, d)
	awaitPods(t, d, "a v1", "b v1")

	write(t, dir, "..2/a.yaml", pod("a", "v2")) // as the kubelet does it
	write(t, dir, "..2/b.yaml", pod("b", "v2"))
	require.NoError(t, os.Symlink("..2", filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	remove(t, dir, "..1")
	awaitPods(t, d, "a v2", "b v2")
}

func TestDirectoryBehindLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "work/1/a.yaml", pod("a", "v1"))
	write(t, dir, "work/2/a.yaml", pod("a", "v2"))
	write(t, dir, "else/text", pod("b", "v1"))
	for _, n := range []string{"1", "2"} {
		require.NoError(t, os.Symlink(filepath.Join(dir, "else", "text"), filepath.Join(dir, "work", n, "b.yaml")))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "links"), 0o755))
	link := filepath.Join(dir, "links", "current")
	require.NoError(t, os.Symlink(filepath.Join("..", "work", "1"), link))
	d := NewDirectory(link, Options{}, quiet())
	sourcetest.Run(t, d)
	awaitPods(t, d, "a v1", "b v1")

	require.NoError(t, os.Symlink(filepath.Join("..", "work", "2"), link+".tmp")) // as git-sync does it
	require.NoError(t, os.Rename(link+".tmp", link))
	awaitPods(t, d, "a v2", "b v1")
	write(t, dir, "work/2/a.yaml", pod("a", "v3"))
	awaitPods(t, d, "a v3", "b v1")
	write(t, dir, "else/text", pod("b", "v2"))
	awaitPods(t, d, "a v3", "b v2")
}

func TestProblemsWake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", pod("a", "v1"))
	d := NewDirectory(dir, Options{}, quiet())
	sourcetest.Run(t, d)
	awaitPods(t, d, "a v1")
	write(t, dir, "a.yaml", pod("a", "v1")+"---\n[")
	sourcetest.Await(t, d, func() bool { return len(d.Problems()) == 1 })
	require.Equal(t, []string{"a v1"}, pods(d))
	write(t, dir, "a.yaml", pod("a", "v1"))
	sourcetest.Await(t, d, func() bool { return len(d.Problems()) == 0 })
}

// An edit becomes visible within a second even while the directory keeps changing.
func TestEditIsSeenInUnrest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", pod("a", "v1"))
	d := NewDirectory(dir, Options{}, quiet())
	sourcetest.Run(t, d)
	awaitPods(t, d, "a v1")
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- nil
				return
			case <-tick.C:
				if err := os.WriteFile(filepath.Join(dir, "noise.yaml"), []byte("# noise\n"), 0o600); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	write(t, dir, "a.yaml", pod("a", "v2"))
	sourcetest.Await(t, d, func() bool { return strings.Join(pods(d), ",") == "a v2" })
	close(stop)
	require.NoError(t, <-done)
}

func TestNothingIsDeletedFromADirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yaml")
	require.NoError(t, os.WriteFile(file, []byte(
		"apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"), 0o600))
	d := NewDirectory(dir, Options{}, quiet())
	require.NoError(t, d.ReadOnce())
	require.Len(t, d.Changes(), 2)
	require.NoError(t, os.Remove(file))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []source.Change{{Ref: object.Ref{Kind: object.KindNamespace, Name: "shop"}, Gone: source.Implied}, {Ref: webService}}, d.Changes())
}
