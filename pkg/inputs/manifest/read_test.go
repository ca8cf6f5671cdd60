package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALongFileIsAProblemAndIsNotRead checks that objects of a file stay while it is too long, and that others are read.
func TestALongFileIsAProblemAndIsNotRead(t *testing.T) {
	dir := t.TempDir()
	const limit = 2000
	d := NewDirectory(dir, Options{MaxFile: limit}, quiet())
	write(t, dir, "a.yaml", pod("a", "v1"))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"a v1"}, pods(d))

	long := pod("a", "v2") + "#" + strings.Repeat("x", limit)
	write(t, dir, "a.yaml", long)
	write(t, dir, "b.yaml", pod("b", "v1"))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"a v1", "b v1"}, pods(d))
	require.Equal(t, []string{fmt.Sprintf("a.yaml: the file has %d bytes, the limit is 2000", len(long))}, faults(d, dir))

	text := pod("a", "v3") + "#"
	write(t, dir, "a.yaml", text+strings.Repeat("x", limit-len(text)))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"a v3", "b v1"}, pods(d), "just as long as it may be")
	require.Empty(t, d.Problems())
}

// TestNoMoreThanTheLimitIsRead reads a file whose size is not known before, and one that has a size and no bytes on the disk.
func TestNoMoreThanTheLimitIsRead(t *testing.T) {
	endless, err := ReadFile("/dev/zero", 1000)
	require.EqualError(t, err, "larger than the limit of 1000 bytes")
	require.Empty(t, endless)
	sparse := filepath.Join(t.TempDir(), "a.yaml")
	f, err := os.Create(sparse)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<40))
	require.NoError(t, f.Close())
	_, err = ReadFile(sparse, DefaultMaxFile)
	require.EqualError(t, err, "the file has 1099511627776 bytes, the limit is "+strconv.Itoa(DefaultMaxFile))
}
