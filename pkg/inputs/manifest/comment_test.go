package manifest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/manifest"
)

func TestComments(t *testing.T) {
	const file = `# note:this is for the whole
# another comment
apiVersion: v1
kind: Policy # note:this a line
spec:
  # note:this one field
  # with a second line

  ingress:
  - from:
    - a: 1 # note:this an item
      b: 2
    # note:this the next item
    - a: "# note:this is text"
      c: |
        # note:this is text too
        # note:that
    # note:that is a comment
  egress: [] # not note:this
---
# note:this document has nothing
---
# note:this other
# note:this again
kind: Policy
# note:this nothing follows
`
	require.Equal(t, []manifest.Comment{
		{1, 1, "is for the whole", 1, math.MaxInt},
		{1, 4, "a line", 4, 4},
		{1, 6, "one field", 9, 15},
		{1, 11, "an item", 11, 12},
		{1, 13, "the next item", 14, 15},
		{2, 21, "document has nothing", 20, math.MaxInt},
		{3, 23, "other", 22, math.MaxInt},
		{3, 24, "again", 22, math.MaxInt},
		{3, 26, "nothing follows", 26, 26},
	}, manifest.Comments([]byte(file), "note:this"))
	require.Empty(t, manifest.Comments([]byte(`{"a": "# note:this"}`), "note:this"))
	require.Empty(t, manifest.Comments([]byte("a: [ # note:this\n"), "note:this"))
	require.Empty(t, manifest.Comments([]byte("a: 1 # note:thisandthat\nb: x# note:this y\n"), "note:this"))
}

func FuzzComments(f *testing.F) {
	f.Add([]byte("# w a\na: 1 # w b\n---\n- x # w c\n"))
	f.Add([]byte("a: |\n  # w\n# w\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		line := 0
		for _, c := range manifest.Comments(content, "w") {
			if c.First < 1 || c.Last < c.First || c.Document < 1 || c.Line < line {
				t.Errorf("%+v after line %d", c, line)
			}
			line = c.Line
		}
	})
}
