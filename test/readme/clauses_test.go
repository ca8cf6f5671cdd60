package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClausesOfDesignDocuments checks that the tests that tables of clauses name exist, and that each clause that is met has one.
func TestClausesOfDesignDocuments(t *testing.T) {
	exists := tests(t)
	for file, least := range map[string]int{"sdewan.md": 30, "tungsten.md": 20} {
		raw, err := os.ReadFile("../../docs/" + file)
		require.NoError(t, err)
		_, table, found := strings.Cut(string(raw), "## The design document, clause by clause")
		require.True(t, found, file)
		table, _, _ = strings.Cut(table, "\n## ")
		named := regexp.MustCompile("`(Test\\w+|[\\w-]+\\.txt)`").FindAllStringSubmatch(table, -1)
		require.GreaterOrEqual(t, len(named), least, file)
		for _, m := range named {
			require.True(t, exists[m[1]], "%s: %s", file, m[1])
		}
		for row := range strings.Lines(table) {
			if strings.Contains(row, "| yes") {
				require.Regexp(t, "`Test|\\.txt`", row, "%s: a clause that is met has a test", file)
			}
		}
	}
}

// tests returns the names of all tests, and of all scripts.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	exists := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != "../..":
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txt"):
			exists[e.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllSubmatch(text, -1) {
				exists[string(m[1])] = true
			}
		}
		return nil
	}))
	return exists
}
