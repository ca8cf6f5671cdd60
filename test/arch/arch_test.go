package arch_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/arch"
)

// TestTree judges the module that this test is part of.
func TestTree(t *testing.T) {
	sources, err := arch.Read(os.DirFS("../.."))
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(sources, func(s arch.Source) bool { return s.Path == "cmd/netloom/main.go" }),
		"these are not the module's files")
	for _, fault := range arch.Check(sources) {
		t.Error(fault)
	}
}

// TestMaps judges the pages that say which package is for what.
func TestMaps(t *testing.T) {
	tree := os.DirFS("../..")
	sources, err := arch.Read(tree)
	require.NoError(t, err)
	faults, err := arch.CheckMaps(tree, sources)
	require.NoError(t, err)
	for _, fault := range faults {
		t.Error(fault)
	}
}

// TestMapsNameWhatIsThere checks what counts as missing from a map.
func TestMapsNameWhatIsThere(t *testing.T) {
	tree := fstest.MapFS{"CONTRIBUTING.md": &fstest.MapFile{Data: []byte("| rows | `pkg/a`: `b.go`, `c.go` | `make x` |\n`pkg/gone` in a sentence\n")}}
	for _, p := range []string{"pkg/a/b.go", "pkg/a/atest/a.go", "pkg/d/d.go", "test/e/f/g.go", "test/h/h_test.go"} {
		tree[p] = &fstest.MapFile{}
	}
	tree["docs/architecture.md"] = &fstest.MapFile{Data: []byte("| package | |\n| `pkg/a`, `pkg/x/…` | is in `pkg/d` |\n")}
	sources, err := arch.Read(tree)
	require.NoError(t, err)
	faults, err := arch.CheckMaps(tree, sources)
	require.NoError(t, err)
	var got []string
	for _, f := range faults {
		got = append(got, f.String())
	}
	require.Equal(t, []string{
		"docs/architecture.md:2: pkg/x does not exist", "CONTRIBUTING.md:1: pkg/a/c.go does not exist",
		"docs/architecture.md:1: pkg/d has no row in the table of packages", "docs/architecture.md:1: test/e has no row in the table of packages",
	}, got)
}

// TestNestedModules judges what the tests of the modules within this one leave to luck.
func TestNestedModules(t *testing.T) {
	for _, dir := range []string{"test/browser", "test/conformance", "test/crds", "test/e2ekube", "test/kubetypes", "test/monitoring", "test/oldest"} {
		sources, err := arch.Read(os.DirFS("../../" + dir))
		require.NoError(t, err)
		require.NotEmpty(t, sources)
		for _, fault := range arch.CheckLuck(dir, sources) {
			t.Error(fault)
		}
	}
}

// TestReadLeavesOutWhatTheGoCommandPassesBy checks that other modules, testdata and hidden directories are skipped.
func TestReadLeavesOutWhatTheGoCommandPassesBy(t *testing.T) {
	tree := fstest.MapFS{}
	for _, p := range []string{
		"go.mod", "a/a.go", "a/a.txt", "a/testdata/b.go", "a/.hidden/c.go", "_d/d.go", "tools/go.mod", "tools/e.go",
	} {
		tree[p] = &fstest.MapFile{}
	}
	sources, err := arch.Read(tree)
	require.NoError(t, err)
	require.Equal(t, []arch.Source{{Path: "a/a.go", Text: []byte{}}}, sources)
}

// long is a file of n lines.
func long(n int) string {
	return "// Package version is long.\npackage version\n" + strings.Repeat("\n", n-2)
}

// file is a file with a package comment that imports paths.
func file(pkg string, imports ...string) string {
	text := fmt.Sprintf("// Package %s is an example.\npackage %s\n", pkg, pkg)
	for _, path := range imports {
		text += fmt.Sprintf("import _ %q\n", path)
	}
	return text
}

const netloom = "github.com/netloom/netloom/"

func TestImports(t *testing.T) {
	const notAllowed = "does not allow it"
	for _, tc := range []struct {
		name, path, imports string
		want                string // part of the only fault, or "" for none
	}{
		{"intents know no cluster objects", "pkg/intent/set.go", "k8s.io/api/core/v1", notAllowed},
		{"intents stand on one map", "pkg/intent/set.go", "github.com/hashicorp/go-immutable-radix/v2", ""},
		{"intents read no clock", "pkg/intent/set.go", "time", "a pure file"},
		{"addresses are no input", "pkg/intent/set.go", "net/netip", ""},
		{"identities are a leaf", "pkg/object/ref.go", netloom + "pkg/intent", notAllowed},
		{"identities know no objects of Kubernetes", "pkg/object/ref.go", "k8s.io/apimachinery/pkg/types", notAllowed},
		{"intents name objects", "pkg/intent/policy.go", netloom + "pkg/object", ""},
		{"the label cache is a leaf", "labelcache/cache.go", netloom + "pkg/intent", notAllowed},
		{"the label cache knows selectors", "labelcache/term.go", "k8s.io/apimachinery/pkg/labels", ""},
		{"the label cache knows no objects", "labelcache/term.go", "k8s.io/apimachinery/pkg/runtime", notAllowed},
		{"the translator joins the leaves", "translator/sets.go", netloom + "labelcache", ""},
		{"the translator asks its domains", "translator/translator.go", netloom + "translator/sdwan", ""},
		{"policies know no services", "translator/policy/table.go", netloom + "translator/service", notAllowed},
		{"policies know no SD-WAN", "translator/policy/table.go", netloom + "translator/sdwan", notAllowed},
		{"services know no policies", "translator/service/table.go", netloom + "translator/policy", notAllowed},
		{"SD-WAN knows no services", "translator/sdwan/table.go", netloom + "translator/service", notAllowed},
		{"a domain does not know who asks it", "translator/sdwan/table.go", netloom + "translator", notAllowed},
		{"domains share the sets", "translator/policy/table.go", netloom + "translator/sets", ""},
		{"the translator reads no cluster", "translator/sets.go", "k8s.io/client-go/tools/cache", notAllowed},
		{"the translator does not log", "translator/sets.go", "github.com/sirupsen/logrus", notAllowed},
		{"the translator does not log plainly", "translator/sets.go", "log/slog", "a pure file"},
		{"the translator looks no name up", "translator/sets.go", "net", "a pure file"},
		{"the translator serves nothing", "translator/sets.go", "net/http", "a pure file"},
		{"the translator opens nothing", "translator/sets.go", "os", "a pure file"},
		{"the translator waits for nothing", "translator/sets.go", "context", "a pure file"},
		{"the translator knows no backend", "translator/sets.go", netloom + "backends", notAllowed},
		{"tests of the translator ask the oracle", "translator/oracle_test.go", netloom + "test/oracle", ""},
		{"tests of the translator may look at the clock", "translator/oracle_test.go", "time", ""},
		{"a plan knows no client", "backends/plan.go", netloom + "pkg/ovsdb", notAllowed},
		{"a backend sees no cluster objects", "backends/ovn/apply.go", "k8s.io/api/core/v1", notAllowed},
		{"a backend sees no labels", "backends/ovn/apply.go", netloom + "labelcache", notAllowed},
		{"a backend sees no translator", "backends/ovn/apply.go", netloom + "translator", notAllowed},
		{"a backend sees its client", "backends/ovn/apply.go", netloom + "pkg/ovsdb", ""},
		{"a backend has no use for a server", "backends/ovn/apply.go", netloom + "pkg/simulator/ovn", notAllowed},
		{"a backend sees one client", "backends/openwrt/apply.go", netloom + "pkg/ovsdb", notAllowed},
		{"load balancers of OVN are below its backend", "backends/ovn/internal/lb/plan.go", netloom + "backends/ovn", notAllowed},
		{"they are planned without the database", "backends/ovn/internal/lb/plan.go", "context", "a pure file"},
		{"they are made of rows", "backends/ovn/internal/lb/plan.go", netloom + "backends/ovn/internal/nb", ""},
		{"rows know no load balancers", "backends/ovn/internal/nb/row.go", netloom + "backends/ovn/internal/lb", notAllowed},
		{"what a device should have is rendered below its backend", "backends/openwrt/internal/render/wan.go", netloom + "backends/openwrt", notAllowed},
		{"a device is compared without its client's calls", "backends/openwrt/internal/compare/diff.go", "context", "a pure file"},
		{"what a device should have does not depend on what it has", "backends/openwrt/internal/render/wan.go", netloom + "backends/openwrt/internal/device", notAllowed},
		{"the kernel is compared without the device", "backends/openwrt/internal/kernel/compare.go", "context", "a pure file"},
		{"names of a device know no intents", "backends/openwrt/internal/section/key.go", netloom + "pkg/intent", notAllowed},
		{"a backend may wait", "backends/ovn/apply.go", "time", ""},
		{"rendering reads no clock", "backends/ovn/render.go", "time", "a pure file"},
		{"comparing opens nothing", "backends/memory/diff.go", "os", "a pure file"},
		{"matches look no name up", "backends/ovn/match.go", "net", "a pure file"},
		{"names log nothing", "backends/tungsten/names.go", "log", "a pure file"},
		{"a client knows no intents", "pkg/ovsdb/client.go", netloom + "pkg/intent", notAllowed},
		{"a client knows no plans", "pkg/ovsdb/nbtrace/trace.go", netloom + "backends", notAllowed},
		{"a source knows no API", "pkg/inputs/source/source.go", "k8s.io/client-go/kubernetes", notAllowed},
		{"a source knows no translator", "pkg/inputs/source/source.go", netloom + "translator", notAllowed},
		{"one source reads an API", "pkg/inputs/kube/kube.go", "k8s.io/client-go/kubernetes", ""},
		{"it reads no manifests", "pkg/inputs/kube/kube.go", netloom + "pkg/inputs/manifest", notAllowed},
		{"the other reads manifests alone", "pkg/inputs/manifest/directory.go", netloom + "pkg/inputs/kube", notAllowed},
		{"manifests need no clients", "pkg/inputs/manifest/directory.go", "k8s.io/client-go/kubernetes", notAllowed},
		{"reviews are judged by what a source delivers", "pkg/serve/webhook/feed.go", netloom + "pkg/inputs/source", ""},
		{"the webhook watches nothing", "pkg/serve/webhook/feed.go", "k8s.io/client-go/tools/cache", notAllowed},
		{"commands need no daemon", "pkg/offline/load.go", netloom + "pkg/daemon", "only cmd imports the daemon"},
		{"offline reading serves nothing", "pkg/offline/load.go", netloom + "pkg/serve/web", notAllowed},
		{"a loop knows plans", "pkg/reconcile/loop.go", netloom + "backends", ""},
		{"a loop knows no backend by name", "pkg/reconcile/loop.go", netloom + "backends/ovn", notAllowed},
		{"a loop knows no cluster", "pkg/reconcile/loop.go", "k8s.io/client-go/kubernetes", notAllowed},
		{"the SD-WAN controller knows no backend by name", "pkg/feedback/sdwan/fleet.go", netloom + "backends/openwrt", notAllowed},
		{"the SD-WAN controller talks to devices", "pkg/feedback/sdwan/device.go", netloom + "pkg/openwrt", ""},
		{"controllers do not know each other", "pkg/feedback/sdwan/statuses.go", netloom + "pkg/feedback/policy/report", notAllowed},
		{"an election knows no backend by name", "pkg/election/fence.go", netloom + "backends/ovn", notAllowed},
		{"an election knows what can be claimed", "pkg/election/fence.go", netloom + "backends", ""},
		{"the pipeline feeds the translator", "pkg/pipeline/pipeline.go", netloom + "translator", ""},
		{"the pipeline knows no targets", "pkg/pipeline/pipeline.go", netloom + "backends", notAllowed},
		{"the pipeline is made of no tests", "pkg/pipeline/pipeline.go", netloom + "pkg/pipeline/pipelinetest", "only tests import"},
		{"controllers know no daemon", "pkg/feedback/echo.go", netloom + "pkg/daemon", "only cmd imports the daemon"},
		{"a controller reads snapshots", "pkg/feedback/policy/tracker.go", netloom + "pkg/pipeline", ""},
		{"a controller knows no backend by name", "pkg/feedback/policy/loops.go", netloom + "backends/ovn", notAllowed},
		{"a controller reads no source", "pkg/feedback/policy/tracker.go", netloom + "pkg/inputs/source", notAllowed},
		{"the page knows no backend by name", "pkg/serve/web/live/rows.go", netloom + "backends/builtin", notAllowed},
		{"the page shows what loops do", "pkg/serve/web/live/notes.go", netloom + "pkg/reconcile", ""},
		{"serving knows no daemon", "pkg/serve/handler.go", netloom + "pkg/daemon", "only cmd imports the daemon"},
		{"serving knows no controllers", "pkg/serve/handler.go", netloom + "pkg/feedback/policy", notAllowed},
		{"coverage is of any backend", "pkg/feedback/target/coverage.go", netloom + "backends/ovn", notAllowed},
		{"controllers share no translator", "pkg/feedback/events.go", netloom + "translator", notAllowed},
		{"the daemon knows everything", "pkg/daemon/daemon.go", netloom + "pkg/reconcile", ""},
		{"the daemon is made of no tests", "pkg/daemon/daemon.go", netloom + "test/oracle", "only tests import"},
		{"settings belong to no package", "pkg/config/setting/value.go", netloom + "pkg/config", notAllowed},
		{"settings know no backend", "pkg/config/settings.go", netloom + "backends/ovn", notAllowed},
		{"a backend has settings of its own", "backends/ovn/settings.go", netloom + "pkg/config/setting", ""},
		{"the command starts the daemon", "cmd/netloom/run.go", netloom + "pkg/daemon", ""},
		{"no other package does", "pkg/feedback/metrics/metrics.go", netloom + "pkg/daemon", "only cmd imports the daemon"},
		{"not even a test", "test/bench/bench_test.go", netloom + "pkg/daemon/demo", "only cmd imports the daemon"},
		{"but the daemon's own", "pkg/daemon/daemon_test.go", netloom + "pkg/daemon", ""},
		{"no package imports a command", "test/bench/rig.go", netloom + "cmd/netloom", "nothing imports a command"},
		{"the oracle knows the API", "test/oracle/judge.go", "k8s.io/api/networking/v1", ""},
		{"the oracle knows nothing of netloom", "test/oracle/judge.go", netloom + "pkg/intent", notAllowed},
		{"nor do its tests", "test/oracle/judge_test.go", netloom + "translator", notAllowed},
		{"pages are written without templates", "cmd/netloom/page.go", "html/template", "every exported method"},
		{"texts are, too", "pkg/offline/text.go", "text/template", "every exported method"},
		{"no plugins are loaded", "pkg/daemon/plugin.go", "plugin", "every exported method"},
		{"tests may use templates", "pkg/daemon/page_test.go", "text/template", ""},
		{"a room needs a row", "pkg/novel/novel.go", "fmt", "has no row"},
		{"a part of a room needs one too", "translator/inner/inner.go", "fmt", "has no row"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := tc.path[:strings.LastIndex(tc.path, "/")]
			text := file(dir[strings.LastIndex(dir, "/")+1:], tc.imports)
			if strings.HasPrefix(tc.path, "cmd/") {
				text = strings.ReplaceAll(text, "package netloom", "package main")
				text = strings.ReplaceAll(text, "Package", "Command")
			}
			requireFault(t, tc.want, arch.Source{Path: tc.path, Text: []byte(text)})
		})
	}
}

func TestFiles(t *testing.T) {
	for _, tc := range []struct{ name, path, text, want string }{
		{"a name says something", "test/bench/util/util.go", file("util"), "the name says nothing"},
		{"a package says its job", "pkg/version/version.go", "package version\n", "no file of this package"},
		{"a command says its job", "cmd/netloom/main.go", "// Starts.\npackage main\n", "no file of this package"},
		{"a comment names the package", "pkg/version/version.go", "// All about it.\npackage version\n", "no file of this package"},
		{"nothing happens at start", "pkg/version/version.go", file("version") + "func init() {}\n", "no init"},
		{"a method may be called so", "pkg/version/version.go", file("version") + "func (t) init() {}\n", ""},
		{"pure rooms start nothing", "translator/sets.go", file("translator") + "func f() { go f() }\n", "no goroutines"},
		{"backends start nothing", "backends/ovn/apply.go", file("ovn") + "func f() { func() { go f() }() }\n", "no goroutines"},
		{"the daemon starts what it needs", "pkg/daemon/daemon.go", file("daemon") + "func f() { go f() }\n", ""},
		{"no dot imports", "pkg/version/version.go", file("version") + "import . \"fmt\"\n", "no dot imports"},
		{"files end", "pkg/version/version.go", long(450), ""},
		{"files end early", "pkg/version/version.go", long(451), "a second noun"},
		{"tests may be longer", "pkg/version/version_test.go", long(451), ""},
		{
			"generated files may be longer", "pkg/version/zz_generated.go",
			"// Code generated by hand. DO NOT EDIT.\n\n" + long(451), "",
		},
		{"files parse", "pkg/version/version.go", "package", "does not parse"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			requireFault(t, tc.want, arch.Source{Path: tc.path, Text: []byte(tc.text)})
		})
	}
}

// requireFault expects one fault that contains want, or none when want is "".
func requireFault(t *testing.T, want string, source arch.Source) {
	t.Helper()
	faults := arch.Check([]arch.Source{source})
	if want == "" {
		require.Empty(t, faults)
		return
	}
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].String(), want)
	require.True(t, strings.HasPrefix(faults[0].String(), source.Path+":"))
}

// TestReleaseHasNoTestPackages follows imports from the commands.
func TestReleaseHasNoTestPackages(t *testing.T) {
	command := arch.Source{Path: "cmd/netloom/main.go", Text: []byte("// Command netloom starts.\n" +
		strings.TrimPrefix(file("main", netloom+"pkg/daemon"), "// Package main is an example.\n"))}
	daemon := arch.Source{Path: "pkg/daemon/embedded.go", Text: []byte(file("daemon", netloom+"pkg/ovsdb/ovsdbtest"))}
	require.Empty(t, arch.Check([]arch.Source{daemon}), "no command is made of it")

	faults := arch.Check([]arch.Source{command, daemon})
	require.Len(t, faults, 1)
	require.Equal(t, "pkg/daemon/embedded.go:3: import github.com/netloom/netloom/pkg/ovsdb/ovsdbtest: "+
		"a package for tests would be part of the released command", faults[0].String())

	daemon.Path = "pkg/daemon/embedded_test.go"
	described := arch.Source{Path: "pkg/daemon/doc.go", Text: []byte(file("daemon"))}
	require.Empty(t, arch.Check([]arch.Source{command, daemon, described}), "tests may import it")
}
