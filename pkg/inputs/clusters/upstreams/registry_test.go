package upstreams_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/clusters"
	"github.com/netloom/netloom/pkg/inputs/clusters/upstreams"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// server is an API server that has one pod.
type server struct {
	*httptest.Server
	watches atomic.Int32 // of pods
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.die)
	return s
}

// die ends every connection and accepts no more.
func (s *server) die() {
	s.CloseClientConnections()
	s.Close()
}

// ServeHTTP answers lists and watches, the first events of watches included.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, items := "Namespace", []any{}
	if strings.HasSuffix(r.URL.Path, "/pods") {
		kind = "Pod"
		items = append(items, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "shop", "name": "web", "resourceVersion": "1"},
			"status": map[string]any{"podIP": "10.245.0.1"},
		})
	}
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	switch {
	case r.URL.Path == "/readyz":
	case r.URL.Query().Get("watch") == "":
		_ = out.Encode(map[string]any{"apiVersion": "v1", "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "7"}, "items": items})
	default:
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			for _, o := range items {
				_ = out.Encode(map[string]any{"type": "ADDED", "object": o})
			}
			_ = out.Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
				"resourceVersion": "7", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
			}}})
		}
		_ = http.NewResponseController(w).Flush()
		if kind == "Pod" {
			s.watches.Add(1)
			defer s.watches.Add(-1)
		}
		<-r.Context().Done()
	}
}

// rig is a set that follows a directory, and a translator that it feeds.
type rig struct {
	t   *testing.T
	dir string
	set *clusters.Set
	of  *translator.Translator

	registry *upstreams.Registry
}

func newRig(t *testing.T, static ...clusters.Cluster) *rig {
	t.Helper()
	r := &rig{
		t: t, dir: t.TempDir(), set: clusters.New(static, 0, pipelinetest.Log(t)),
		of: translator.New(translator.Options{Cluster: "a", ClusterSet: field.LocalByDefault}),
	}
	r.registry = upstreams.FromDirectory(r.dir, "a", r.set, pipelinetest.Log(t))
	r.set.Follow(r.registry)
	return r
}

// start runs the set until the test ends.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.set.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		require.NoError(r.t, <-ended)
	})
}

// write puts a file into the directory at once.
func (r *rig) write(name, text string) {
	r.t.Helper()
	temporary := filepath.Join(r.t.TempDir(), name)
	require.NoError(r.t, os.WriteFile(temporary, []byte(text), 0o600))
	require.NoError(r.t, os.Rename(temporary, filepath.Join(r.dir, name)))
}

// await feeds the translator until something is true.
func (r *rig) await(what string, is func() bool) {
	r.t.Helper()
	await.True(r.t, func() bool { // not all that is waited for is news of the set
		r.set.Feed(r.of)
		return is()
	}, "%s", what)
}

// upstreamCluster is the object of a cluster with these API servers.
func upstreamCluster(name string, servers ...*server) string {
	text := "apiVersion: proxy.kubegateway.io/v1alpha1\nkind: UpstreamCluster\nmetadata: {name: " + name + "}\nspec:\n  servers:\n"
	for _, s := range servers {
		text += fmt.Sprintf("  - endpoint: %q\n", s.URL)
	}
	return text + "  dispatchPolicies: [{rules: [{verbs: [\"*\"], apiGroups: [\"*\"], resources: [\"*\"]}]}]\n"
}

// TestClustersJoinAndLeaveWithTheirFiles follows a cluster with two API servers, one of which dies, until its file is gone.
func TestClustersJoinAndLeaveWithTheirFiles(t *testing.T) {
	t.Parallel()
	r, one, two := newRig(t), newServer(t), newServer(t)
	r.start()
	r.await("the directory is read", r.set.Ready)
	require.Empty(t, r.set.States())

	r.write("a.yaml", upstreamCluster("a", one))
	r.write("b.yaml", upstreamCluster("b", one, two))
	r.await("b joins", func() bool { return r.of.OtherPods("b") == 1 })
	require.Len(t, r.set.States(), 1, "the own cluster is not another one")
	r.await("b is watched", func() bool { return one.watches.Load()+two.watches.Load() == 1 })
	dies, lives := one, two
	if two.watches.Load() == 1 {
		dies, lives = two, one
	}
	dies.die()
	r.await("the other API server is used", func() bool { return lives.watches.Load() == 1 })
	require.Equal(t, 1, r.of.OtherPods("b"))
	r.await("nothing is wrong", func() bool { return len(r.set.Problems()) == 0 })

	r.write("b.yaml", upstreamCluster("b", lives)+"  clientConfig: {insecure: maybe}\n")
	r.await("a fault is reported", func() bool { return len(r.set.Problems()) == 1 })
	require.Contains(t, r.set.Problems()[0].Error(), "UpstreamCluster b: ")
	require.Equal(t, 1, r.of.OtherPods("b"), "the version before stays in use")

	require.NoError(t, os.Remove(filepath.Join(r.dir, "b.yaml")))
	r.await("b leaves", func() bool { return r.of.OtherPods("b") == 0 && len(r.set.States()) == 0 })
	require.Empty(t, r.set.Problems())
	r.await("no watch stays open", func() bool { return lives.watches.Load() == 0 })
}

func TestNamesOfUpstreamClusters(t *testing.T) {
	t.Parallel()
	long, api := strings.Repeat("b", 64), newServer(t)
	r := newRig(t, clusters.Cluster{Name: "c", Source: pipelinetest.New()})
	r.write("x.yaml", upstreamCluster(long, api)+"---\n"+upstreamCluster("c", api))
	r.start()
	r.await("faults are reported", func() bool {
		return len(r.set.Problems()) == 2 && !strings.Contains(fmt.Sprint(r.set.Problems()), "not read yet")
	})
	require.Contains(t, r.set.Problems()[0].Error(), "the name has to be a label value, of at most 63 characters")
	require.Contains(t, r.set.Problems()[1].Error(), "UpstreamCluster c: there is already a cluster c")
	require.NoError(t, os.Remove(filepath.Join(r.dir, "x.yaml")))
	r.await("no fault stays", func() bool { return len(r.set.Problems()) == 0 })
	require.Len(t, r.set.States(), 1, "c does not leave with a file that never made it join")
}

// TestTheOldestClustersJoin has room for two clusters. Which these are depends on what there is alone, not on which came first.
func TestTheOldestClustersJoin(t *testing.T) {
	t.Parallel()
	r, api := newRig(t), newServer(t)
	r.registry.Limit(2)
	joined := func(want string) func() bool {
		return func() bool {
			var names []string
			for _, s := range r.set.States() {
				names = append(names, s.Name)
			}
			return strings.Join(names, " ") == want
		}
	}
	r.write("d.yaml", upstreamCluster("d", api))
	r.write("e.yaml", upstreamCluster("e", api))
	r.start()
	r.await("both join", joined("d e"))
	r.write("f.yaml", upstreamCluster("f", api))
	waiting := func(want string) func() bool { // apart from what is said of clusters that are only being read
		return func() bool {
			var names []string
			for _, p := range r.set.Problems() {
				if name, _, full := strings.Cut(p.Error(), ": there are already 2 other clusters that are older, which is the limit"); full {
					names = append(names, name[strings.LastIndex(name, " ")+1:])
				}
			}
			return strings.Join(names, " ") == want
		}
	}
	r.await("there is no room", waiting("f"))
	r.write("c.yaml", upstreamCluster("c", api))
	r.await("an older one takes the place of the newest", joined("c d"))
	r.await("both are told", waiting("e f"))
	require.NoError(t, os.Remove(filepath.Join(r.dir, "c.yaml")))
	r.await("the oldest that waits has its place", joined("d e"))
	r.await("one waits", waiting("f"))
	require.NoError(t, os.Remove(filepath.Join(r.dir, "d.yaml")))
	r.await("all that there are", joined("e f"))
	r.await("nothing is wrong", func() bool { return len(r.set.Problems()) == 0 })
}

func TestADirectoryThatCannotBeReadIsWaitedFor(t *testing.T) {
	set := clusters.New(nil, time.Hour, pipelinetest.Log(t))
	set.Follow(upstreams.FromDirectory(filepath.Join(t.TempDir(), "none"), "a", set, pipelinetest.Log(t)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, set.Read(ctx), "the list of other clusters is not known")
	require.False(t, set.Ready())
	require.Equal(t, []string{"degraded: the list of other clusters has not been read: their pods match no policy"}, set.Degraded())
}

// host is a fake API with UpstreamClusters.
type host struct {
	*fake.FakeDynamicClient
	resource schema.GroupVersionResource
	down     atomic.Bool // no request is answered
}

func newHost() *host {
	resource := v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster)
	h := &host{resource: resource, FakeDynamicClient: fake.NewSimpleDynamicClientWithCustomListKinds(
		runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "UpstreamClusterList"},
	)}
	h.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return h.down.Load(), nil, errors.New("the host cluster is away")
	})
	return h
}

// apply creates or replaces the object of a cluster.
func (h *host) apply(t *testing.T, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
	_, err := h.Resource(h.resource).Create(t.Context(), o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = h.Resource(h.resource).Update(t.Context(), o, metav1.UpdateOptions{})
	}
	require.NoError(t, err)
}

// TestClustersJoinAndLeaveWithTheirObjects follows the objects of a host cluster, which cannot be read at first.
func TestClustersJoinAndLeaveWithTheirObjects(t *testing.T) {
	t.Parallel()
	h, api := newHost(), newServer(t)
	h.down.Store(true)
	r := &rig{t: t, set: clusters.New(nil, time.Hour, pipelinetest.Log(t)), of: translator.New(translator.Options{Cluster: "a", ClusterSet: field.LocalByDefault})}
	from, err := upstreams.FromAPI(h, "a", r.set, pipelinetest.Log(t))
	require.NoError(t, err)
	r.set.Follow(from)
	h.apply(t, upstreamCluster("a", api))
	h.apply(t, upstreamCluster("b", api))
	r.start()
	r.await("the fault is reported", func() bool { return strings.Contains(fmt.Sprint(r.set.Problems()), "the host cluster is away") })
	require.False(t, r.set.Ready())
	require.Contains(t, r.set.Degraded()[0], "the list of other clusters has not been read")

	h.down.Store(false)
	r.await("b joins", func() bool { return r.of.OtherPods("b") == 1 })
	r.await("all is read", r.set.Ready)
	require.Len(t, r.set.States(), 1, "the own cluster is not another one")
	r.await("nothing is wrong", func() bool { return len(r.set.Problems()) == 0 && len(r.set.Degraded()) == 0 })

	h.apply(t, strings.Replace(upstreamCluster("b", api), "http://", "ftp://", 1))
	r.await("a fault is reported", func() bool { return len(r.set.Problems()) == 1 })
	require.Contains(t, r.set.Problems()[0].Error(), "UpstreamCluster b: ")
	require.Equal(t, 1, r.of.OtherPods("b"), "the version before stays in use")

	require.NoError(t, h.Resource(h.resource).Delete(t.Context(), "b", metav1.DeleteOptions{}))
	r.await("b leaves", func() bool { return r.of.OtherPods("b") == 0 && len(r.set.States()) == 0 })
	require.Empty(t, r.set.Problems())
	for _, action := range h.Actions() {
		require.NotEqual(t, "status", action.GetSubresource(), "the status belongs to the gateway")
	}
}
