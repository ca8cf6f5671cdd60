package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
)

// TestAliasesThatMultiplyAreAProblem has a document whose aliases stand for 9^9 values, beside a policy.
func TestAliasesThatMultiplyAreAProblem(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\na0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	dir := t.TempDir()
	good := "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(bomb.String()+"---\n"+good), 0o600))
	d, err := LoadDirectory(dir, Options{}, logrus.New())
	require.NoError(t, err)
	require.Len(t, d.Problems(), 1)
	require.Contains(t, d.Problems()[0].Message, "excessive aliasing")
	require.NotEmpty(t, d.Refs(), "the other document is read")
}

// TestLinksThatMultiplyAreAProblem has directories of links to the next, in which there are more paths than are looked at.
func TestLinksThatMultiplyAreAProblem(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it lists a quarter of a million entries")
	}
	root := t.TempDir()
	const links, depth = 65, 3
	dir := func(n int) string { return filepath.Join(root, fmt.Sprintf("d%d", n)) }
	for n := range depth {
		require.NoError(t, os.Mkdir(dir(n), 0o700))
	}
	for n := range depth - 1 {
		for i := range links {
			require.NoError(t, os.Symlink(dir(n+1), filepath.Join(dir(n), fmt.Sprintf("link%d", i))))
		}
	}
	for i := range links {
		require.NoError(t, os.WriteFile(filepath.Join(dir(depth-1), fmt.Sprintf("%d.txt", i)), nil, 0o600))
	}
	d, err := LoadDirectory(dir(0), Options{}, logrus.New())
	require.NoError(t, err)
	require.Len(t, d.Problems(), 1)
	require.Contains(t, d.Problems()[0].Message, fmt.Sprintf("more than %d entries", maxVisited))
}
