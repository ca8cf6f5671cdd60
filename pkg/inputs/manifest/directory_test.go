package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

func quiet() logrus.FieldLogger {
	log, _ := test.NewNullLogger()
	return log
}

// pod is a document that declares a pod of the namespace shop; v distinguishes its versions.
func pod(name, v string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: shop, labels: {v: " + v + "}}\n"
}

// badPod declares an invalid pod.
func badPod(name string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: shop}\nstatus: {podIP: nowhere}\n"
}

func write(t *testing.T, dir, path, content string) {
	t.Helper()
	path = filepath.Join(dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func remove(t *testing.T, dir, path string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(dir, path)))
}

// pods lists what is in force as "name v", without the namespace.
func pods(d *Directory) []string {
	var list []string
	for _, ref := range d.Refs() {
		if o, ok := d.Get(ref); ok && ref.Kind == object.KindPod {
			list = append(list, ref.Name+" "+o.(source.Object).GetLabels()["v"])
		}
	}
	return list
}

// faults lists the problems with paths relative to dir.
func faults(d *Directory, dir string) []string {
	var list []string
	for _, p := range d.Problems() {
		list = append(list, strings.ReplaceAll(p.Error(), dir+"/", ""))
	}
	return list
}

func TestDirectoryOverTime(t *testing.T) {
	const nowhere = `status.podIP: Invalid value: "nowhere": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`
	const broken = "line 2: did not find expected ',' or ']'"
	const empty = "the file no longer declares anything: what it declared stays in force until the file is removed or declares something"
	type step struct {
		do       func(t *testing.T, dir string)
		want     []string // pods in force
		problems []string
		dirty    []string // names of dirty pods
	}
	put := func(path, content string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { t.Helper(); write(t, dir, path, content) }
	}
	drop := func(path string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { t.Helper(); remove(t, dir, path) }
	}
	both := func(do ...func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			for _, f := range do {
				f(t, dir)
			}
		}
	}
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"an object is edited and its file removed", []step{
			{do: put("x/y/a.yaml", pod("a", "v1")+pod("b", "v1")), want: []string{"a v1", "b v1"}, dirty: []string{"a", "b"}},
			{do: put("x/y/a.yaml", pod("b", "v2")+pod("a", "v1")), want: []string{"a v1", "b v2"}, dirty: []string{"b"}},
			{do: drop("x"), dirty: []string{"a", "b"}},
		}},
		{"only manifests are read", []step{
			{do: both(
				put("a.yml", pod("a", "v1")), put("b.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"shop"}}`),
				put(".a.yaml", pod("c", "v1")), put("..2024/a.yaml", pod("d", "v1")), put("a.yaml~", "["), put("#a.yaml#", "["),
				put(".a.yaml.swp", "["), put("4913", "["), put("README.md", "["), put(".#a.yaml", "["),
			), want: []string{"a v1", "b "}, dirty: []string{"a", "b"}},
		}},
		{"a faulty document keeps the version before, the others change", []step{
			{do: put("a.yaml", pod("a", "v1")+pod("b", "v1")), want: []string{"a v1", "b v1"}, dirty: []string{"a", "b"}},
			{
				do: put("a.yaml", badPod("a")+pod("b", "v2")), want: []string{"a v1", "b v2"}, dirty: []string{"b"},
				problems: []string{"a.yaml: document 1: Pod/shop/a: " + nowhere},
			},
			{
				do: put("c.yaml", pod("c", "v1")), want: []string{"a v1", "b v2", "c v1"}, dirty: []string{"c"},
				problems: []string{"a.yaml: document 1: Pod/shop/a: " + nowhere},
			},
			{do: put("a.yaml", pod("b", "v2")), want: []string{"b v2", "c v1"}, dirty: []string{"a"}},
		}},
		{"a faulty document that was never good gives nothing", []step{
			{
				do: put("a.yaml", badPod("a")+pod("b", "v1")), want: []string{"b v1"}, dirty: []string{"b"},
				problems: []string{"a.yaml: document 1: Pod/shop/a: " + nowhere},
			},
			{do: put("a.yaml", pod("a", "v1")+pod("b", "v1")), want: []string{"a v1", "b v1"}, dirty: []string{"a"}},
		}},
		{"a faulty version that moved to another file keeps the version before, until removed", []step{
			{do: put("a.yaml", pod("a", "v1")), want: []string{"a v1"}, dirty: []string{"a"}},
			{
				do: both(drop("a.yaml"), put("b.yaml", badPod("a"))), want: []string{"a v1"},
				problems: []string{"b.yaml: document 1: Pod/shop/a: " + nowhere},
			},
			{do: drop("b.yaml"), dirty: []string{"a"}},
		}},
		{"a half-written file keeps what it no longer declares", []step{
			{do: put("a.yaml", pod("a", "v1")+pod("b", "v1")), want: []string{"a v1", "b v1"}, dirty: []string{"a", "b"}},
			{
				do: put("a.yaml", pod("a", "v2")+"---\n["), want: []string{"a v2", "b v1"}, dirty: []string{"a"},
				problems: []string{"a.yaml: document 2: line 6: did not find expected node content"},
			},
			{do: put("a.yaml", "[a\nb"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: document 1: " + broken}},
			{do: put("a.yaml", ""), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: " + empty}},
			{do: put("a.yaml", "# none\n"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: " + empty}},
			{do: put("a.yaml", "\n\n"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: " + empty}},
			{do: put("a.yaml", "null\n"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: " + empty}},
			{do: put("a.yaml", "---\n---\n# none\n"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: " + empty}},
			{do: put("a.yaml", "{apiVersion: v1, kind: List, items: []}"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: " + empty}},
			{do: put("a.yaml", "\xff\xfe"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: " + empty}},
			{do: put("a.yaml", "\xff\xfe#"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: the file is UTF-16 and ends within a character"}},
			{do: put("a.yaml", "a\x00b\x00"), want: []string{"a v2", "b v1"}, problems: []string{"a.yaml: the file is neither UTF-8 nor UTF-16 with a byte order mark"}},
			{do: put("a.yaml", inUTF16(pod("b", "v2")+pod("c", "v1"))), want: []string{"b v2", "c v1"}, dirty: []string{"a", "b", "c"}},
			{do: put("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), dirty: []string{"b", "c"}},
		}},
		{"a misspelt version keeps the object", []step{
			{do: put("a.yaml", pod("a", "v1")), want: []string{"a v1"}, dirty: []string{"a"}},
			{
				do: put("a.yaml", strings.Replace(pod("a", "v2"), "apiVersion: v1", "apiVersion: V1", 1)), want: []string{"a v1"},
				problems: []string{`a.yaml: document 1: apiVersion: no matches for kind "Pod" in version "V1"; expected v1`},
			},
			{do: put("a.yaml", pod("a", "v3")), want: []string{"a v3"}, dirty: []string{"a"}},
		}},
		{"a blank file that never declared anything is fine", []step{{do: put("a.yaml", "# none\n")}}},
		{"an object of a half-written file can be taken over by another file", []step{
			{do: put("b.yaml", pod("a", "v1")), want: []string{"a v1"}, dirty: []string{"a"}},
			{
				do: both(put("b.yaml", "[a\nb"), put("a.yaml", pod("a", "v2"))), want: []string{"a v2"}, dirty: []string{"a"},
				problems: []string{"b.yaml: document 1: " + broken},
			},
			{do: drop("a.yaml"), dirty: []string{"a"}, problems: []string{"b.yaml: document 1: " + broken}},
		}},
		{"a name that became impossible keeps the object", []step{
			{do: put("a.yaml", pod("a", "v1")), want: []string{"a v1"}, dirty: []string{"a"}},
			{
				do: put("a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {namespace: shop}\n"), want: []string{"a v1"},
				problems: []string{"a.yaml: document 1: metadata.name: Required value: name or generateName is required"},
			},
		}},
		{"of two declarations the first by path counts, and then the one in force", []step{
			{
				do: both(put("a.yaml", pod("a", "v1")), put("b.yaml", pod("a", "v2"))), want: []string{"a v1"}, dirty: []string{"a"},
				problems: []string{"b.yaml: document 1: Pod/shop/a: also declared in a.yaml: document 1, which is in force"},
			},
			{do: drop("a.yaml"), want: []string{"a v2"}, dirty: []string{"a"}},
			{
				do: put("a.yaml", pod("a", "v1")), want: []string{"a v2"},
				problems: []string{"a.yaml: document 1: Pod/shop/a: also declared in b.yaml: document 1, which is in force"},
			},
			{
				do: put("b.yaml", pod("a", "v3")), want: []string{"a v3"}, dirty: []string{"a"},
				problems: []string{"a.yaml: document 1: Pod/shop/a: also declared in b.yaml: document 1, which is in force"},
			},
			{
				do: put("b.yaml", badPod("a")), want: []string{"a v3"},
				problems: []string{
					"a.yaml: document 1: Pod/shop/a: also declared in b.yaml: document 1, which is in force",
					"b.yaml: document 1: Pod/shop/a: " + nowhere,
				},
			},
			{do: drop("b.yaml"), want: []string{"a v1"}, dirty: []string{"a"}},
		}},
		{"of two declarations in one file the one in force counts wherever it moves", []step{
			{do: put("a.yaml", pod("a", "v1")), want: []string{"a v1"}, dirty: []string{"a"}},
			{
				do: put("a.yaml", pod("a", "v2")+pod("a", "v1")), want: []string{"a v1"},
				problems: []string{"a.yaml: document 1: Pod/shop/a: also declared in a.yaml: document 2, which is in force"},
			},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			d := NewDirectory(dir, Options{}, quiet())
			require.False(t, d.Synced())
			for i, s := range tc.steps {
				s.do(t, dir)
				require.NoError(t, d.ReadOnce())
				require.True(t, d.Synced())
				require.Equal(t, s.want, pods(d), "step %d", i)
				require.Equal(t, s.problems, faults(d, dir), "step %d", i)
				var dirty []string
				for _, ref := range d.Drain() {
					if ref.Kind == object.KindPod {
						dirty = append(dirty, ref.Name)
					}
				}
				require.Equal(t, s.dirty, dirty, "step %d", i)
			}
		})
	}
}

func TestUndeclaredNamespaces(t *testing.T) {
	dir := t.TempDir()
	shop := object.Ref{Kind: object.KindNamespace, Name: "shop"}
	labels := func(d *Directory) map[string]string {
		o, ok := d.Get(shop)
		require.True(t, ok)
		return o.(source.Object).GetLabels()
	}
	write(t, dir, "a.yaml", pod("a", "v1"))
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"kubernetes.io/metadata.name": "shop"}, labels(d))
	require.Contains(t, d.Drain(), shop)

	write(t, dir, "a.yaml", pod("b", "v1"))
	require.NoError(t, d.ReadOnce())
	require.NotContains(t, d.Drain(), shop, "it is the same namespace still")

	write(t, dir, "b.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n")
	require.NoError(t, d.ReadOnce())
	require.Equal(t, map[string]string{"kubernetes.io/metadata.name": "shop", "team": "a"}, labels(d))
	require.Contains(t, d.Drain(), shop)

	remove(t, dir, "b.yaml")
	require.NoError(t, d.ReadOnce())
	require.Equal(t, map[string]string{"kubernetes.io/metadata.name": "shop"}, labels(d))
	require.Contains(t, d.Drain(), shop)

	remove(t, dir, "a.yaml")
	require.NoError(t, d.ReadOnce())
	require.Empty(t, d.Refs())
	require.Contains(t, d.Drain(), shop)
}

func TestDirectoryThatDoesNotExist(t *testing.T) {
	dir := t.TempDir()
	_, err := LoadDirectory(filepath.Join(dir, "none"), Options{}, quiet())
	require.ErrorIs(t, err, os.ErrNotExist)
	write(t, dir, "a.yaml", pod("a", "v1"))
	require.Error(t, NewDirectory(filepath.Join(dir, "a.yaml"), Options{}, quiet()).Run(t.Context()))
}

func TestUnreadablePathsKeepWhatTheyGave(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	write(t, root, "x/a.yaml", pod("a", "v1"))
	write(t, root, "b.yaml", pod("b", "v1"))
	write(t, dir, "other.yaml", pod("c", "v1"))
	require.NoError(t, os.Symlink(filepath.Join(dir, "other.yaml"), filepath.Join(root, "c.yaml")))
	d, err := LoadDirectory(root, Options{}, quiet())
	require.NoError(t, err)
	require.Equal(t, []string{"a v1", "b v1", "c v1"}, pods(d))

	remove(t, dir, "other.yaml") // the link leads nowhere now
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"a v1", "b v1", "c v1"}, pods(d))
	require.Len(t, d.Problems(), 1)
	require.Equal(t, filepath.Join(root, "c.yaml"), d.Problems()[0].Where())

	require.NoError(t, os.Rename(root, filepath.Join(dir, "away")))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"a v1", "b v1", "c v1"}, pods(d))
	require.Len(t, d.Problems(), 1)
	require.Equal(t, root, d.Problems()[0].Where())

	require.NoError(t, os.Rename(filepath.Join(dir, "away"), root))
	remove(t, root, "c.yaml")
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"a v1", "b v1"}, pods(d))
	require.Empty(t, d.Problems())
}

func TestLinkedDirectoryThatIsAway(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mounted/sub/a.yaml", pod("a", "v1"))
	write(t, dir, "root/b.yaml", pod("b", "v1"))
	t.Chdir(filepath.Join(dir, "root"))
	require.NoError(t, os.Symlink("../mounted", "link"))
	require.NoError(t, os.Symlink("nothing", "stray"))
	d, err := LoadDirectory(".", Options{}, quiet())
	require.NoError(t, err)
	require.Equal(t, []string{"a v1", "b v1"}, pods(d))
	require.Empty(t, d.Problems())

	remove(t, dir, "mounted")
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"a v1", "b v1"}, pods(d))
	require.Len(t, d.Problems(), 1)
	require.Equal(t, "link", d.Problems()[0].Where())

	require.NoError(t, os.Remove("link"))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"b v1"}, pods(d))
	require.Empty(t, d.Problems())

	require.NoError(t, os.Rename(filepath.Join(dir, "root"), filepath.Join(dir, "moved")))
	remove(t, dir, "moved")
	require.NoError(t, d.ReadOnce())
	require.Equal(t, []string{"b v1"}, pods(d), "a directory that is gone says nothing")
	require.Len(t, d.Problems(), 1)
}

func TestLinksInCirclesEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x/a.yaml", pod("a", "v1"))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "x", "up")))
	require.NoError(t, os.Symlink("self.yaml", filepath.Join(dir, "self.yaml")))
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	require.Equal(t, []string{"a v1"}, pods(d))
	require.Len(t, d.Problems(), 1)
	require.Contains(t, d.Problems()[0].Message, "too many links")
}
