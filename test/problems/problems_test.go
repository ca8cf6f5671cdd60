package problems_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/translator"
)

// rooms are the packages that find what targets cannot express.
var rooms = []string{
	"backends/ovn", "backends/ovn/internal/lb", "backends/tungsten", "backends/openwrt", "backends/openwrt/internal/firewall",
	"backends/openwrt/internal/render",
}

// elsewhere reads the messages that no file can lead to, each with the reason, from elsewhere.txt: "message<TAB>reason".
func elsewhere(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "elsewhere.txt"))
	require.NoError(t, err)
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		message, reason, ok := strings.Cut(line, "\t")
		require.True(t, ok && reason != "", "expected a message, a tab and the reason: %s", line)
		out[message] = reason
	}
	return out
}

// manifests lists the files in testdata, and one with objects that are too large to be there.
func manifests(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return append(files, large(t))
}

// found lists the problems of a file or directory, for every backend that explains its limits.
func found(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for _, backend := range builtin.Explained() {
		state, err := offline.Load(offline.Manifests{Paths: []string{path}, Backend: backend})
		require.NoError(t, err)
		out = append(out, lines(state.Problems)...)
	}
	return out
}

func lines(problems []object.Problem) []string {
	out := make([]string, len(problems))
	for i, p := range problems {
		out[i] = p.Ref.Path() + ": " + p.Field + ": " + p.Message
	}
	return out
}

// TestDaemonAndCommandsAgree reads each file as the daemon does. Commands report the same problems, and those of targets.
func TestDaemonAndCommandsAgree(t *testing.T) {
	t.Parallel()
	for _, file := range manifests(t) {
		log := logrus.New()
		log.SetOutput(io.Discard)
		dir := t.TempDir()
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "all.yaml"), text, 0o600))
		source := manifest.NewDirectory(dir, manifest.Options{}, log)
		require.NoError(t, source.ReadOnce())
		made := translator.New(translator.Options{})
		for _, ref := range source.Refs() {
			o, ok := source.Get(ref)
			require.True(t, ok)
			require.NoError(t, made.Put(o))
		}
		daemon := lines(slices.Concat(source.Problems(), made.Problems()))
		require.Subset(t, found(t, dir), daemon, file)
	}
}

// TestEveryProblemIsFoundOffline goes through all places in the source that report a problem of an object, or something that a target cannot
// express. Each is reported for a file in testdata, through the list that translate, plan, lint and reports share, or elsewhere.txt says why
// a file cannot lead to it. Somebody who adds a problem adds its file.
func TestEveryProblemIsFoundOffline(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, file := range manifests(t) {
		b.WriteString(strings.Join(found(t, file), "\n") + "\n")
	}
	all, excepted := b.String(), elsewhere(t)
	used := map[string]bool{}
	for _, room := range rooms {
		for _, s := range sitesOf(t, room) {
			p := s.pattern()
			if p == nil {
				continue
			}
			_, except := excepted[s.message]
			used[s.message] = true
			switch is := p.MatchString(all); {
			case is && except:
				t.Errorf("%s: %q is found offline, and elsewhere.txt says that it cannot be", s.at, s.message)
			case !is && !except:
				t.Errorf("%s: %q is not found offline: add an object to testdata that has this problem", s.at, s.message)
			}
		}
	}
	for message := range excepted {
		if !used[message] {
			t.Errorf("elsewhere.txt: %q is not in the source", message)
		}
	}
	if t.Failed() {
		t.Logf("found:\n%s", all)
	}
}
