package cnf

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClausesOfTheDesignDocument checks that the tests that the table of clauses names exist.
func TestClausesOfTheDesignDocument(t *testing.T) {
	raw, err := os.ReadFile("../../docs/sdewan.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(raw), "## The design document, clause by clause")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
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
	named := regexp.MustCompile("`(Test\\w+|[\\w-]+\\.txt)`").FindAllStringSubmatch(table, -1)
	require.Greater(t, len(named), 30)
	for _, m := range named {
		require.True(t, exists[m[1]], m[1])
	}
	for row := range strings.Lines(table) {
		if strings.Contains(row, "| yes") {
			require.Regexp(t, "`Test|\\.txt`", row, "a clause that is met has a test")
		}
	}
}
