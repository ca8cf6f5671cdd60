package seeds

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests, err := parse(`# a comment
walk: TestWalk ./a ./b -walk.steps=9

  14     the first
  17-19  three that
          # a comment in between
  7      lost a row
roads: Test(This|That)Road ./c
  1  the first
`)
	require.NoError(t, err)
	require.Equal(t, []Test{
		{Name: "walk", Run: "TestWalk", Packages: []string{"./a", "./b"}, Flags: []string{"-walk.steps=9"}, Seeds: []uint64{14, 17, 18, 19, 7}},
		{Name: "roads", Run: "Test(This|That)Road", Packages: []string{"./c"}, Seeds: []uint64{1}},
	}, tests)
}

func TestParseNamesTheLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"a seed before the first test", "  1  why\n", "seeds.txt:1: a seed before the first test"},
		{"no package", "a: TestA\n  1  why\n", `seeds.txt:1: "a: TestA": expected NAME: FUNCTION PACKAGE... [FLAG...]`},
		{"no seed", "a: TestA ./a\n", `seeds.txt: "a" has no seed`},
		{"seed zero", "a: TestA ./a\n  0  why\n", `seeds.txt:2: "0": expected a seed of 1 or more, or FIRST-LAST`},
		{"a range that runs backwards", "a: TestA ./a\n  3-2  why\n", `seeds.txt:2: "3-2": expected a seed of 1 or more, or FIRST-LAST`},
		{"no reason", "a: TestA ./a\n  3\n", "seeds.txt:2: seed 3: say what it found or is there for"},
		{"twice", "a: TestA ./a\n  3  why\na: TestA ./b\n  3  why\n", `seeds.txt:3: a second entry "a"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tc.text)
			require.EqualError(t, err, tc.want)
		})
	}
}

// TestListIsOfTestsThatExist has every function of the list in every package that it is said to be in.
func TestListIsOfTestsThatExist(t *testing.T) {
	t.Parallel()
	tests, err := List()
	require.NoError(t, err)
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, test := range tests {
		run := regexp.MustCompile("^(" + test.Run + ")$")
		for _, dir := range test.Packages {
			files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
			require.NoError(t, err)
			var found bool
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				for _, match := range function.FindAllStringSubmatch(string(data), -1) {
					found = found || run.MatchString(match[1])
				}
			}
			require.True(t, found, "%s: no test %s in %s", test.Name, test.Run, dir)
		}
	}
}

// TestEveryListedTestAsksForItsSeeds finds the name of each entry where a test asks for it.
func TestEveryListedTestAsksForItsSeeds(t *testing.T) {
	t.Parallel()
	tests, err := List()
	require.NoError(t, err)
	var asked strings.Builder
	for _, root := range []string{"../../backends", "../../cmd", "../../labelcache", "../../pkg", "../../test", "../../translator"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			data, err := os.ReadFile(path)
			for _, line := range regexp.MustCompile(`(seeds\.(Each|Of)|also)\(.*`).FindAll(data, -1) {
				asked.Write(line)
				asked.WriteByte('\n')
			}
			return err
		}))
	}
	for _, test := range tests {
		require.Contains(t, asked.String(), `"`+test.Name+`"`)
	}
}
