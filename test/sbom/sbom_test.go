package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// tags are the build tags of netloom.
const tags = "kustomize_disable_go_plugin_support"

// program is netloom, and its modules as `go version -m` lists them.
type program struct {
	content []byte
	modules map[string]string // versions by path
}

// build builds netloom once, with the flags of `make build`, so that both find what the other compiled.
var build = sync.OnceValues(func() (program, error) {
	dir, err := os.MkdirTemp("", "netloom-sbom-")
	if err != nil {
		return program{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin := filepath.Join(dir, "netloom")
	command := exec.CommandContext(context.Background(), "go", "build", "-tags", tags, "-o", bin, "../../cmd/netloom")
	if out, err := command.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("build netloom: %w\n%s", err, out)
	}
	content, err := os.ReadFile(bin)
	if err != nil {
		return program{}, err
	}
	out, err := exec.CommandContext(context.Background(), "go", "version", "-m", bin).Output()
	if err != nil {
		return program{}, err
	}
	modules := map[string]string{"std": strings.TrimPrefix(runtime.Version(), "go")}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) >= 3 && (words[0] == "dep" || words[0] == "=>") {
			modules[words[1]] = words[2]
		}
	}
	return program{content, modules}, nil
})

// TestEveryModuleIsListed compares the bill of the program with the output of `go version -m`.
func TestEveryModuleIsListed(t *testing.T) {
	netloom, err := build()
	require.NoError(t, err)
	content, modules := netloom.content, netloom.modules
	require.Greater(t, len(modules), 20)
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

// TestTheLinkerLeavesOutWhatNothingCalls looks for methods that nothing calls. A program that looks methods up by a name that the
// compiler does not know, or loads Go plugins, contains every exported method of its types: netloom would be a third larger.
func TestTheLinkerLeavesOutWhatNothingCalls(t *testing.T) {
	netloom, err := build()
	require.NoError(t, err)
	const clients = "k8s.io/client-go/kubernetes.(*Clientset)."
	require.True(t, bytes.Contains(netloom.content, []byte(clients+"CoreV1")), "functions have these names")
	for _, uncalled := range []string{"BatchV1", "StorageV1", "SchedulingV1"} {
		require.False(t, bytes.Contains(netloom.content, []byte(clients+uncalled)), "%s is in it although nothing calls it. To see why: "+
			"go build -tags %s -ldflags=-dumpdep ./cmd/netloom 2>&1 | grep -E '<ReflectMethod>|plugin[.][Oo]pen'", uncalled, tags)
	}
}

// TestReleasesAreBuiltAlike checks that whatever is released has the tags of the program that is tested here.
func TestReleasesAreBuiltAlike(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^TAGS +:= `+tags+`$`, string(makefile))
	for path, builds := range map[string]int{"Makefile": 1, "deploy/Dockerfile": 1, "test/krew/main.go": 1, "test/release/main.go": 1} {
		text, err := os.ReadFile("../../" + path)
		require.NoError(t, err)
		commands := strings.NewReplacer("\\\n", " ", "$(TAGS)", tags, `", "`, " ", `"`, " ").Replace(string(text))
		found := regexp.MustCompile(`(?m)^.* build .* \./cmd/netloom\b.*$`).FindAllString(commands, -1)
		require.Len(t, found, builds, path)
		for _, command := range found {
			require.Contains(t, command, " -tags "+tags+" ", path)
		}
	}
}

// TestSPDXListsTheSame compares the two forms of a bill.
func TestSPDXListsTheSame(t *testing.T) {
	netloom, err := build()
	require.NoError(t, err)
	info, err := buildinfo.Read(bytes.NewReader(netloom.content))
	require.NoError(t, err)
	bill, err := describe(info, netloom.content)
	require.NoError(t, err)
	d := inSPDX(bill)
	require.Len(t, d.Packages, len(bill.Components)+1)
	ids, listed := map[string]bool{"SPDXRef-DOCUMENT": true}, map[string]string{}
	for i, p := range d.Packages {
		require.Regexp(t, `^SPDXRef-[0-9a-f]+$`, p.ID)
		require.False(t, ids[p.ID], p.Name)
		ids[p.ID] = true
		if i > 0 {
			listed[p.Name] = p.Version
		}
	}
	require.Equal(t, netloom.modules, listed)
	for _, r := range d.Relationships {
		require.True(t, ids[r.Element] && ids[r.Related], "%+v", r)
	}
	require.Equal(t, []spdxChecksum{{"SHA256", bill.Metadata.Component.Hashes[0].Content}}, d.Packages[0].Checksums)
	require.NotEmpty(t, d.Creation.Created)
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
	require.ErrorContains(t, run(nil, io.Discard), "expected one program")
	require.ErrorContains(t, run([]string{"main.go"}, io.Discard), "main.go: ")
}

// TestEmbeddedPackagesAreListed lists what the web page has from npm, with the hashes of the lock file.
func TestEmbeddedPackagesAreListed(t *testing.T) {
	text, err := os.ReadFile("../../pkg/serve/web/npm/package-lock.json")
	require.NoError(t, err)
	packages, err := npmPackages(text)
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	require.Equal(t, "@dagrejs/dagre", packages[0].Name)
	require.Regexp(t, `^pkg:npm/%40dagrejs/dagre@\d+\.\d+\.\d+$`, packages[0].PURL)
	require.Regexp(t, `^[0-9a-f]{128}$`, packages[0].Hashes[0].Content)
	b, err := describe(&debug.BuildInfo{GoVersion: "go1.26", Path: "x/y"}, nil, packages...)
	require.NoError(t, err)
	require.Len(t, inSPDX(b).Packages, 2+len(packages), "with the program and the standard library")
	_, err = npmPackages([]byte(`{"packages":{"node_modules/a":{"version":"1","integrity":"md5-0"}}}`))
	require.ErrorContains(t, err, "a: integrity")
}
