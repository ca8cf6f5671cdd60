package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/test/await"
)

// set records what is served.
type set struct {
	mu       sync.Mutex
	served   map[string]string // the first endpoint, by cluster
	rejected map[string]error
	beyond   map[string]bool   // clusters that have no place
	names    map[string]string // of clusters whose host names belong to another while that is served
}

func newSet() *set {
	return &set{served: map[string]string{}, rejected: map[string]error{}}
}

func (s *set) Put(o *v1alpha1.UpstreamCluster) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.beyond[o.Name] {
		return fmt.Errorf("%w: there are too many", registry.ErrBeyond)
	}
	if o.Spec.Servers[0].Endpoint == "https://bad" {
		return errors.New("it cannot be served")
	}
	s.served[o.Name] = o.Spec.Servers[0].Endpoint
	delete(s.rejected, o.Name)
	return nil
}

func (s *set) Reject(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected[name] = err
}

func (s *set) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, name)
	delete(s.rejected, name)
}

func (s *set) Beyond(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beyond[name]
}

func (s *set) Conflict(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner := s.names[name]; s.served[owner] != "" {
		return "the host name x belongs to cluster " + owner
	}
	return ""
}

func (s *set) has(t *testing.T, want map[string]string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, want, s.served)
}

func object(name, endpoint string) string {
	return `{apiVersion: proxy.kubegateway.io/v1alpha1, kind: UpstreamCluster, metadata: {name: ` + name + `}, spec: {servers: [{endpoint: "` + endpoint +
		`"}], dispatchPolicies: [{rules: [{verbs: ["*"], nonResourceURLs: ["*"]}]}]}}` + "\n"
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	s := newSet()
	log, hook := logtest.NewNullLogger()
	d := registry.NewDirectory(dir, s, nil, log)
	write("a.yaml", object("a", "https://a1")+"---\n"+object("b", "https://b1"))
	write("c.json", `{"apiVersion": "proxy.kubegateway.io/v1alpha1", "kind": "UpstreamCluster"}`)
	write(".hidden.yaml", object("hidden", "https://h"))
	write("notes.txt", "notes")
	require.False(t, d.State().Synced)
	d.Load()
	require.True(t, d.State().Synced)
	s.has(t, map[string]string{"a": "https://a1", "b": "https://b1"})

	write("a.yaml", object("a", "ftp://a2")+"---\n"+object("b", "https://b2"))
	d.Load()
	s.has(t, map[string]string{"a": "https://a1", "b": "https://b2"})
	require.Error(t, s.rejected["a"], "the last good version stays, the other object changes")

	write("a.yaml", "{")
	d.Load()
	s.has(t, map[string]string{"a": "https://a1", "b": "https://b2"})
	require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a.yaml"), 0o700))
	d.Load()
	s.has(t, map[string]string{"a": "https://a1", "b": "https://b2"})
	require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))

	write("a.yaml", object("a", "https://a3"))
	write("z.yaml", object("a", "https://other"))
	d.Load()
	s.has(t, map[string]string{"a": "https://a3"})
	logged := len(hook.AllEntries())
	require.Contains(t, hook.AllEntries()[logged-2].Message, "no longer served")
	const again = "metadata.name: it is defined more than once: in a.yaml, which is used, and again in z.yaml"
	require.EqualError(t, hook.LastEntry().Data["error"].(error), again)
	require.EqualError(t, s.rejected["a"], again)
	require.ErrorIs(t, s.rejected["a"], registry.ErrDuplicate)
	require.Len(t, d.State().Faults, 1, "that of c.json: everything else can be read")
	d.Load()
	require.Len(t, hook.AllEntries(), logged, "faults are logged once")

	require.NoError(t, os.Rename(dir, dir+"-away"))
	d.Load()
	d.Load()
	s.has(t, map[string]string{"a": "https://a3"})
	require.NoError(t, os.Rename(dir+"-away", dir))
	require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))
	d.Load()
	s.has(t, map[string]string{"a": "https://other"})
	require.Len(t, d.State().Faults, 1, "that of c.json")
	require.NotContains(t, s.rejected, "a")
	require.NoError(t, os.Remove(filepath.Join(dir, "z.yaml")))
	d.Load()
	s.has(t, map[string]string{})
}

// TestAClusterIsDefinedTwice has definitions of a cluster besides the one that is used.
func TestAClusterIsDefinedTwice(t *testing.T) {
	const again = "metadata.name: it is defined more than once: in a.yaml, which is used, and again in "
	for name, tc := range map[string]struct {
		files  map[string]string
		beyond bool
		served string
		want   string
	}{
		"in one file": {
			files:  map[string]string{"a.yaml": object("a", "https://a1") + "---\n" + object("a", "https://a2")},
			served: "https://a1", want: again + "a.yaml",
		},
		"in many files": {
			files: map[string]string{
				"b.yaml": object("a", "https://a2"), "c.yaml": object("a", "no URL"), "d.yaml": object("a", "https://a4"),
				"e.yaml": object("a", "https://a5"), "a.yaml": object("a", "https://a1"),
			},
			served: "https://a1", want: again + "b.yaml, c.yaml, d.yaml and 1 more",
		},
		"and the first cannot be served": {
			files: map[string]string{"a.yaml": object("a", "https://bad"), "b.yaml": object("a", "https://a2")}, want: "it cannot be served; " + again + "b.yaml",
		},
		"and has no place": {
			files: map[string]string{"a.yaml": object("a", "https://a1"), "b.yaml": object("a", "https://a2")}, beyond: true,
			want: again + "b.yaml",
		},
		"and has faults and no place": {
			files: map[string]string{"a.yaml": object("a", "no URL"), "b.yaml": object("a", "https://a2")}, beyond: true,
			want: "; " + again + "b.yaml",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tc.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			s := newSet()
			s.beyond = map[string]bool{"a": tc.beyond}
			log, _ := logtest.NewNullLogger()
			d := registry.NewDirectory(dir, s, nil, log)
			d.Load()
			require.Empty(t, d.State().Faults)
			require.Equal(t, tc.served, s.served["a"])
			require.ErrorContains(t, s.rejected["a"], tc.want)
			only := strings.HasPrefix(tc.want, again)
			require.Equal(t, only, errors.Is(s.rejected["a"], registry.ErrDuplicate), "it has no other fault, for which it would lose its place")
		})
	}
}

// named adds host names to an object.
func named(object, hosts string) string {
	return strings.Replace(object, "spec: {", "spec: {secureServing: {serverNames: ["+hosts+"]}, ", 1)
}

// TestCheckFindsNamesThatBelongToOthers has a cluster in two files, and host names of other clusters.
func TestCheckFindsNamesThatBelongToOthers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": named(object("a", "https://a1"), "p, c"),
		"b.yaml": object("a", "https://a2") + "---\n" + named(object("c", "https://c1"), "p, q"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	clusters, err := registry.Check(dir)
	require.Len(t, clusters, 2)
	require.EqualError(t, err, "b.yaml: a: metadata.name: the cluster is defined in a.yaml already\n"+
		"a.yaml: a: spec.secureServing.serverNames[1]: c is a name of cluster c, in b.yaml\n"+
		"b.yaml: c: spec.secureServing.serverNames[0]: p is a name of cluster a, in a.yaml")

	dir = t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": named(object("z", "https://z1"), "p") + "---\n" + object("faulty", "no URL"),
		"b.yaml": named(object("c", "https://c1"), "p") + "---\n" + object("faulty", "https://f1"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, err = registry.Check(dir)
	require.ErrorContains(t, err, "b.yaml: faulty: metadata.name: the cluster is defined in a.yaml already", "the gateway does not serve it either")
	require.ErrorContains(t, err, "a.yaml: z: spec.secureServing.serverNames[0]: p is a name of cluster c, in b.yaml", "the file does not decide")
}

// unknown returns n fields with long names that an UpstreamCluster does not have.
func unknown(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s%d: 1, ", strings.Repeat("поле", 50), i)
	}
	return out.String()
}

// TestAConflictAppears has a cluster that gets the host name of one that is served already, and is served itself as before.
func TestAConflictAppears(t *testing.T) {
	s := newSet()
	s.names = map[string]string{"c": "a"}
	log, _ := logtest.NewNullLogger()
	resource := v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster)
	decode := func(text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
		return o
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "UpstreamClusterList"},
		decode(object("c", "https://c1")))
	api, err := registry.NewAPI(client, s, registry.APIOptions{}, log)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- api.Run(ctx) }()
	clusters := client.Resource(resource)
	reason := func(want string) {
		t.Helper()
		await.True(t, func() bool {
			o, err := clusters.Get(ctx, "c", metav1.GetOptions{})
			require.NoError(t, err)
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			return len(conditions) == 1 && conditions[0].(map[string]any)["reason"] == want
		}, "the reason %s", want)
	}
	reason("Served")
	_, err = clusters.Create(ctx, decode(object("a", "https://a1")), metav1.CreateOptions{})
	require.NoError(t, err)
	reason("Conflict")
	stop()
	require.NoError(t, <-done)
}

// TestTooManyFilesChangeNothing has more files than a directory of UpstreamClusters may have.
func TestTooManyFilesChangeNothing(t *testing.T) {
	dir, s := t.TempDir(), newSet()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(object("b", "https://b")), 0o600))
	log, _ := logtest.NewNullLogger()
	d := registry.NewDirectory(dir, s, nil, log)
	d.Load()
	for i := range 1000 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("a%d.yaml", i)), nil, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(object("b", "https://b2")), 0o600))
	d.Load()
	s.has(t, map[string]string{"b": "https://b"})
	require.Contains(t, d.State().Faults[0], "the limit is 1000")
	require.NoError(t, os.Remove(filepath.Join(dir, "a0.yaml")))
	d.Load()
	s.has(t, map[string]string{"b": "https://b2"})
}

func TestCheckReportsAllFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": object("a", "https://a"), "b.yaml": object("b", "ftp://b"), "c.yaml": object("c", "https://c") + "---\n" + object("d", "nonsense"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	good, err := registry.Check(dir)
	require.Len(t, good, 2)
	require.ErrorContains(t, err, "b.yaml: b: ")
	require.ErrorContains(t, err, "c.yaml: d: ")
	_, err = registry.Check(dir + "/none")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestAFileThatIsNoneIsAFault has a named pipe, which could not be opened before somebody writes to it.
func TestAFileThatIsNoneIsAFault(t *testing.T) {
	dir, s := t.TempDir(), newSet()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.Symlink("pipe", filepath.Join(dir, "a.yaml")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(object("b", "https://b")), 0o600))
	found, err := registry.Check(dir)
	require.ErrorContains(t, err, "a.yaml: not a regular file")
	require.Len(t, found, 1)

	log, _ := logtest.NewNullLogger()
	registry.NewDirectory(dir, s, nil, log).Load()
	s.has(t, map[string]string{"b": "https://b"})
}

// fakeAPI is an API that has UpstreamClusters.
func fakeAPI() (*fake.FakeDynamicClient, dynamic.ResourceInterface) {
	resource := v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster)
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "UpstreamClusterList"})
	return client, client.Resource(resource)
}

func TestAPI(t *testing.T) {
	s := newSet()
	s.names, s.beyond = map[string]string{"c": "a"}, map[string]bool{"d": true}
	log, _ := logtest.NewNullLogger()
	client, clusters := fakeAPI()
	decode := func(text string, generation int64) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
		o.SetGeneration(generation)
		return o
	}
	api, err := registry.NewAPI(client, s, registry.APIOptions{}, log)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- api.Run(ctx) }()
	for _, text := range []string{object("a", "https://a1"), object("b", "ftp://b1"), object("c", "https://c1")} {
		_, err := clusters.Create(ctx, decode(text, 1), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	accepted := func(name, status, reason, message string, generation int64) {
		t.Helper()
		await.True(t, func() bool {
			o, err := clusters.Get(ctx, name, metav1.GetOptions{})
			require.NoError(t, err)
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			if len(conditions) != 1 {
				return false
			}
			c, _ := conditions[0].(map[string]any)
			text, _ := c["message"].(string)
			return c["status"] == status && c["reason"] == reason && strings.Contains(text, message) && c["observedGeneration"] == generation
		}, "the condition of cluster %s", name)
	}
	accepted("a", "True", "Served", "", 1)
	accepted("b", "False", "Invalid", "spec.servers[0].endpoint", 1)
	accepted("c", "False", "Conflict", "belongs to cluster a", 1)
	await.True(t, func() bool { return api.State().Synced }, "the objects have been read")
	s.has(t, map[string]string{"a": "https://a1", "c": "https://c1"})
	s.mu.Lock()
	require.Len(t, s.rejected, 1)
	require.Error(t, s.rejected["b"])
	s.mu.Unlock()

	_, err = clusters.Update(ctx, decode(object("a", "https://bad"), 2), metav1.UpdateOptions{})
	require.NoError(t, err)
	accepted("a", "False", "Invalid", "cannot be served", 2)
	s.has(t, map[string]string{"a": "https://a1", "c": "https://c1"})
	_, err = clusters.Update(ctx, decode(object("a", "https://a2"), 3), metav1.UpdateOptions{})
	require.NoError(t, err)
	accepted("a", "True", "Served", "", 3)
	_, err = clusters.Create(ctx, decode(object("d", "https://d"), 1), metav1.CreateOptions{})
	require.NoError(t, err)
	accepted("d", "False", "Beyond", "there are too many", 1)
	s.mu.Lock()
	s.beyond = nil
	s.mu.Unlock()
	require.NoError(t, clusters.Delete(ctx, "a", metav1.DeleteOptions{}))
	accepted("c", "True", "Served", "", 1)
	accepted("d", "True", "Served", "", 1)
	require.NoError(t, clusters.Delete(ctx, "d", metav1.DeleteOptions{}))

	many := strings.Replace(object("b", "https://b"), "spec: {", "spec: {"+unknown(100), 1)
	_, err = clusters.Update(ctx, decode(many, 2), metav1.UpdateOptions{})
	require.NoError(t, err)
	accepted("b", "False", "Invalid", "unknown field", 2)
	o, err := clusters.Get(ctx, "b", metav1.GetOptions{})
	require.NoError(t, err)
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	message, _ := conditions[0].(map[string]any)["message"].(string)
	require.LessOrEqual(t, len(message), 32<<10, "more is rejected by an API server")
	require.Greater(t, len(message), 30<<10)
	require.True(t, utf8.ValidString(message))
	stop()
	require.NoError(t, <-done)
	s.has(t, map[string]string{"c": "https://c1"})
}
