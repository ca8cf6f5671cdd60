package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// built builds netloom with the flags of `make build`, so that both find what the other compiled, and reads what it is.
func built(t *testing.T) (content []byte, modules map[string]string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "netloom")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", bin, "../../cmd/netloom")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	content, err = os.ReadFile(bin)
	require.NoError(t, err)
	out, err = exec.CommandContext(t.Context(), "go", "version", "-m", bin).Output()
	require.NoError(t, err)
	modules = map[string]string{"std": strings.TrimPrefix(runtime.Version(), "go")}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) >= 3 && (words[0] == "dep" || words[0] == "=>") {
			modules[words[1]] = words[2]
		}
	}
	require.Greater(t, len(modules), 20)
	return content, modules
}

// TestEveryModuleIsListed compares the bill of the program with the output of `go version -m`.
func TestEveryModuleIsListed(t *testing.T) {
	content, modules := built(t)
	info, err := buildinfo.Read(bytes.NewReader(content))
	require.NoError(t, err)
	bill, err := describe(info, content)
	require.NoError(t, err)
	listed := map[string]string{}
	refs := map[string]bool{bill.Metadata.Component.Ref: true}
	for _, c := range bill.Components {
		listed[c.Name] = c.Version
		require.False(t, refs[c.Ref], "%s is there twice", c.Ref)
		refs[c.Ref] = true
		require.Equal(t, "pkg:golang/"+c.Name+"@"+strings.ReplaceAll(c.Version, "+", "%2B"), c.PURL)
		if c.Name != "std" {
			require.Len(t, c.Hashes, 1, c.Name)
			require.Regexp(t, `^[0-9a-f]{64}$`, c.Hashes[0].Content)
		}
	}
	require.Equal(t, modules, listed)
	require.Equal(t, "netloom", bill.Metadata.Component.Name)
	require.Len(t, bill.Dependencies[0].On, len(modules))
	for _, d := range bill.Dependencies {
		require.True(t, refs[d.Ref], d.Ref)
	}

	one, err := json.Marshal(bill)
	require.NoError(t, err)
	again, err := describe(info, content)
	require.NoError(t, err)
	other, err := json.Marshal(again)
	require.NoError(t, err)
	require.Equal(t, string(one), string(other))
	require.Regexp(t, `^\{"bomFormat":"CycloneDX","specVersion":"1\.6","serialNumber":"urn:uuid:[0-9a-f-]{36}","version":1,`, string(one))
}

// TestTheImageContainsTheProgramAlone checks that the bill of the program is that of the image.
func TestTheImageContainsTheProgramAlone(t *testing.T) {
	text, err := os.ReadFile("../../deploy/Dockerfile")
	require.NoError(t, err)
	_, last, found := strings.Cut(string(text), "\nFROM scratch\n")
	require.True(t, found)
	copies := regexp.MustCompile(`(?m)^(COPY|ADD|RUN) .*$`).FindAllString(last, -1)
	require.Len(t, copies, 1, "what else is in the image has to be in the bill")
	require.Regexp(t, `^COPY --from=\S+ \S*netloom /netloom$`, copies[0])
}

func TestOtherFilesAreRefused(t *testing.T) {
	require.ErrorContains(t, run(nil), "expected one program")
	require.ErrorContains(t, run([]string{"main.go"}), "main.go: ")
}
