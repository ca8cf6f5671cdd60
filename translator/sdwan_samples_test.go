package translator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSamples translates each of upstream's samples alone, and compares with testdata/samples.txt.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../pkg/apis/sdewan/v1alpha1/testdata/samples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var b strings.Builder
	for _, f := range files {
		b.WriteString("# " + filepath.Base(f) + "\n" + translate(t, load(t, f)))
	}
	const want = "testdata/samples.txt"
	if *update {
		require.NoError(t, os.WriteFile(want, []byte(b.String()), 0o600))
	}
	text, err := os.ReadFile(want)
	require.NoError(t, err)
	require.Equal(t, string(text), b.String(), "rewrite with -update")
}
