package registry_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/registry"
)

// set records what is served.
type set struct {
	mu       sync.Mutex
	served   map[string]string // the first endpoint, by cluster
	rejected map[string]bool
	conflict map[string]string
}

func newSet() *set {
	return &set{served: map[string]string{}, rejected: map[string]bool{}, conflict: map[string]string{}}
}

func (s *set) Put(o *v1alpha1.UpstreamCluster) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Spec.Servers[0].Endpoint == "https://bad" {
		return errors.New("it cannot be served")
	}
	s.served[o.Name] = o.Spec.Servers[0].Endpoint
	delete(s.rejected, o.Name)
	return nil
}

func (s *set) Reject(name string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected[name] = true
}

func (s *set) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, name)
	delete(s.rejected, name)
}

func (s *set) Conflict(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conflict[name]
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
	require.True(t, s.rejected["a"], "the last good version stays, the other object changes")

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
	require.Contains(t, hook.LastEntry().Message, "is defined in a.yaml already")
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
	require.NoError(t, os.Remove(filepath.Join(dir, "z.yaml")))
	d.Load()
	s.has(t, map[string]string{})
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

func TestAPI(t *testing.T) {
	s := newSet()
	s.conflict["c"] = "the host name x belongs to cluster a"
	log, _ := logtest.NewNullLogger()
	resource := v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster)
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "UpstreamClusterList"})
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
	clusters := client.Resource(resource)
	for _, text := range []string{object("a", "https://a1"), object("b", "ftp://b1"), object("c", "https://c1")} {
		_, err := clusters.Create(ctx, decode(text, 1), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	accepted := func(name, status, reason, message string, generation int64) {
		t.Helper()
		require.Eventually(t, func() bool {
			o, err := clusters.Get(ctx, name, metav1.GetOptions{})
			require.NoError(t, err)
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			if len(conditions) != 1 {
				return false
			}
			c, _ := conditions[0].(map[string]any)
			text, _ := c["message"].(string)
			return c["status"] == status && c["reason"] == reason && strings.Contains(text, message) && c["observedGeneration"] == generation
		}, 20*time.Second, 5*time.Millisecond, name)
	}
	accepted("a", "True", "Served", "", 1)
	accepted("b", "False", "Invalid", "spec.servers[0].endpoint", 1)
	accepted("c", "False", "Conflict", "belongs to cluster a", 1)
	require.Eventually(t, func() bool { return api.State().Synced }, 20*time.Second, time.Millisecond)
	s.has(t, map[string]string{"a": "https://a1", "c": "https://c1"})

	_, err = clusters.Update(ctx, decode(object("a", "https://bad"), 2), metav1.UpdateOptions{})
	require.NoError(t, err)
	accepted("a", "False", "Invalid", "cannot be served", 2)
	s.has(t, map[string]string{"a": "https://a1", "c": "https://c1"})
	_, err = clusters.Update(ctx, decode(object("a", "https://a2"), 3), metav1.UpdateOptions{})
	require.NoError(t, err)
	accepted("a", "True", "Served", "", 3)
	require.NoError(t, clusters.Delete(ctx, "c", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.served) == 1
	}, 20*time.Second, time.Millisecond)
	stop()
	require.NoError(t, <-done)
	s.has(t, map[string]string{"a": "https://a2"})
}
