package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/seeds"
)

// sample is a module with a random test that fails for some seeds.
const sample = `package sample

import (
	"flag"
	"fmt"
	"testing"
)

var seed, n = flag.Uint64("seed", 0, ""), flag.Uint64("seeds", 1, "")

func TestWalk(t *testing.T) {
	for s := *seed; s < *seed+*n; s++ {
		t.Run(fmt.Sprintf("seed %d", s), func(t *testing.T) {
			if s%4 == 3 {
				t.Error("lost a row")
			}
		})
	}
}

func TestMute(t *testing.T) {
	for s := *seed; s < *seed+*n; s++ {
		if s == 5 {
			panic("lost a row")
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		if text == "a" {
			t.Error("cannot parse it")
		}
	})
}
`

func write(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sample\n\ngo 1.26\n", "sample_test.go": sample} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

// TestFindsSeedsThatFail takes three turns, the third after a restart.
func TestFindsSeedsThatFail(t *testing.T) {
	t.Parallel()
	root := write(t)
	p, err := load(filepath.Join(root, state))
	require.NoError(t, err)
	p.Next["walk/."] = 1
	start := func() *random {
		r := &random{Test: seeds.Test{Name: "walk", Run: "TestWalk"}, dir: ".", root: root, progress: p, seeds: 1}
		require.NoError(t, r.prepare(t.Context()))
		return r
	}
	r := start()
	found, err := r.turn(t.Context())
	require.NoError(t, err)
	require.Empty(t, found, "seed 1")
	r.seeds = 3
	found, err = r.turn(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1, "seeds 2, 3 and 4")
	require.Regexp(t, `^  3  found \d{4}-\d\d-\d\d: what\?$`, found[0].line)
	require.Equal(t, "go test -C . -run '^(TestWalk)$' . -seed=3", found[0].repeat)

	p, err = load(filepath.Join(root, state))
	require.NoError(t, err)
	r = start()
	found, err = r.turn(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, map[string]uint64{"walk/.": 6}, p.Next)
}

func TestFindsTheSeedOfATestThatDoesNotName(t *testing.T) {
	t.Parallel()
	root := write(t)
	p, err := load(filepath.Join(root, state))
	require.NoError(t, err)
	p.Next["mute/."] = 2
	r := &random{Test: seeds.Test{Name: "mute", Run: "TestMute", Flags: []string{"-tags=e2e"}}, dir: ".", root: root, progress: p, seeds: 8}
	require.NoError(t, r.prepare(t.Context()))
	found, err := r.turn(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "go test -C . -tags=e2e -run '^(TestMute)$' . -seed=5", found[0].repeat)
}

func TestFindsInputsThatFail(t *testing.T) {
	t.Parallel()
	root := write(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "testdata", "fuzz", "FuzzParse"), 0o755))
	targets, err := fuzzTargets(root)
	require.NoError(t, err)
	require.Len(t, targets, 1)
	f, ok := targets[0].(*fuzz)
	require.True(t, ok)
	require.Equal(t, "fuzz/./FuzzParse", f.name())
	// What would find new inputs takes long to compile, and this input is an old one.
	f.program = filepath.Join(root, "fuzz.test")
	require.NoError(t, compile(t.Context(), root, []string{"test", "-c", "-o", f.program, "."}))
	// The input that the fuzzer would come to: it begins with those of the cache.
	cache := filepath.Join(root, ".cache", "fuzz", "FuzzParse")
	require.NoError(t, os.MkdirAll(cache, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(cache, "0a"), []byte("go test fuzz v1\nstring(\"a\")\n"), 0o600))
	found, err := f.turn(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.FileExists(t, filepath.Join(root, regexp.MustCompile(`testdata\S+`).FindString(found[0].line)))
}

// TestTheNextRunGoesOnBehindTheLastTurn has three explorers and a turn each, then one that is not there any more.
func TestTheNextRunGoesOnBehindTheLastTurn(t *testing.T) {
	t.Parallel()
	var all []explorer
	for _, target := range []string{"A", "B", "C"} {
		all = append(all, &fuzz{dir: ".", target: target})
	}
	names := func(some []explorer) (names []string) {
		for _, e := range some {
			names = append(names, e.name())
		}
		return names
	}
	require.Equal(t, []string{"fuzz/./C", "fuzz/./A", "fuzz/./B"}, names(after(all, "fuzz/./B")))
	require.Equal(t, []string{"fuzz/./A", "fuzz/./B", "fuzz/./C"}, names(after(all, "fuzz/./C")))
	require.Equal(t, []string{"fuzz/./A", "fuzz/./B", "fuzz/./C"}, names(after(all, "fuzz/./gone")))
}

// TestSeedsOfOneTestAreExploredOnce has two entries of one test, and one of the same test with another size.
func TestSeedsOfOneTestAreExploredOnce(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range randomTests([]seeds.Test{
		{Name: "walk", Run: "TestWalk", Packages: []string{"./a", "./b"}},
		{Name: "lost", Run: "TestWalk", Packages: []string{"./a", "./b"}},
		{Name: "long", Run: "TestWalk", Packages: []string{"./a"}, Flags: []string{"-steps=9"}},
	}) {
		names = append(names, r.name())
	}
	require.Equal(t, []string{"walk/a", "walk/b", "long/a"}, names)
}
