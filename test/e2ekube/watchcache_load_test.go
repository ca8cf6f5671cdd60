//go:build e2e

package e2ekube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/await"
)

// TestSourcesReadTrimmedObjects lets the source of netloom read a cluster directly and through the cache, and requires the
// same objects.
func TestSourcesReadTrimmedObjects(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.namespace("a")
	for i := range 10 {
		s.pod("a", fmt.Sprint("p", i), "web", "")
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: s.server.URL, InsecureSkipTLSVerify: true}},
		Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c"}}, CurrentContext: "c",
	}, path))
	shared, err := kube.Client(kube.Login{Kubeconfig: path})
	require.NoError(t, err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	through, direct := kube.New(shared, kube.Options{}, log), kube.New(s.kube.Client(), kube.Options{}, log)
	sourcetest.Run(t, through)
	sourcetest.Run(t, direct)
	s.relabel("a", "p3", "db")
	s.delete("a", "p4")
	last := s.pod("a", "last", "web", "")
	for _, k := range []*kube.Source{through, direct} {
		ref := object.Ref{Kind: object.KindPod, Namespace: "a", Name: last.Name}
		sourcetest.Await(t, k, func() bool {
			_, ok := k.Get(ref)
			return ok && k.Synced()
		})
	}
	for name := range map[string]bool{"p0": true, "p3": true, "p4": true, "last": true} {
		ref := object.Ref{Kind: object.KindPod, Namespace: "a", Name: name}
		want, has := direct.Get(ref)
		got, ok := through.Get(ref)
		require.Equal(t, has, ok, name)
		require.Equal(t, want, got)
	}
	for _, kind := range s.cache.Stats().Kinds[:6] {
		require.Equal(t, 1, kind.Watches, "%s come from the cache", kind.Resource)
	}

	size := func(value string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/api/v1/pods?resourceVersion=0", http.NoBody)
		require.NoError(t, err)
		req.Header.Set(source.HeaderObjects, value)
		resp, err := s.server.Client().Transport.RoundTrip(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return len(body)
	}
	whole, trimmed := size("of another build"), size(source.Trimmed())
	t.Logf("a list of 11 new pods: %d bytes, trimmed %d", whole, trimmed)
	require.Less(t, 3*trimmed, whole)
}

// watching is a number of watches of all pods, and the events that arrived. A server may end a watch at any time, and ends
// those of slow readers, so each is continued where it ended.
type watching struct {
	through http.RoundTripper
	base    string
	arrived atomic.Int64
	ended   atomic.Int64 // watches that were ended and continued
}

// watchAll opens n watches from now and returns when all have begun.
func (s *sharing) watchAll(ctx context.Context, through http.RoundTripper, base string, n int) *watching {
	list, err := s.kube.Client().CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	require.NoError(s, err)
	w := &watching{through: through, base: base}
	failed := make(chan error, n)
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			body, err := w.open(ctx, list.ResourceVersion)
			if err != nil {
				failed <- err
				return
			}
			go w.follow(ctx, body, list.ResourceVersion)
		})
	}
	group.Wait()
	close(failed)
	for err := range failed {
		require.NoError(s, err)
	}
	return w
}

// open begins a watch of what happened after a version.
func (w *watching) open(ctx context.Context, version string) (io.ReadCloser, error) {
	q := url.Values{"watch": {"1"}, "resourceVersion": {version}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+"/api/v1/pods?"+q.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", runtime.ContentTypeJSON)
	resp, err := w.through.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("a watch was answered with %s", resp.Status)
	}
	return resp.Body, nil
}

// follow reads a watch until ctx ends, and continues it when it is ended.
func (w *watching) follow(ctx context.Context, body io.ReadCloser, version string) {
	for {
		var event struct {
			Object metav1.PartialObjectMetadata `json:"object"`
		}
		for from := json.NewDecoder(body); from.Decode(&event) == nil && event.Object.ResourceVersion != ""; w.arrived.Add(1) {
			version = event.Object.ResourceVersion
		}
		_ = body.Close()
		for {
			if ctx.Err() != nil {
				return
			}
			again, err := w.open(ctx, version)
			if err == nil {
				body = again
				w.ended.Add(1)
				break
			}
		}
	}
}

// TestSharedWatchesRelieveTheAPIServer logs what the same watches cost the API server directly and through the cache.
func TestSharedWatchesRelieveTheAPIServer(t *testing.T) {
	const clients, changes = 1000, 50
	s := newSharing(t)
	s.namespace("a")
	s.pod("a", "p", "web", "")
	u, err := url.Parse(s.server.URL)
	require.NoError(t, err)
	shared, err := transport.New(u, transport.Config{Insecure: true})
	require.NoError(t, err)
	t.Cleanup(shared.Close)
	cost := map[string]float64{}
	for name, through := range map[string]http.RoundTripper{"direct": s.direct, "shared": shared} {
		ctx, cancel := context.WithCancel(t.Context())
		before := s.watches.Load()
		w := s.watchAll(ctx, through, map[string]string{"direct": s.kube.Config().Host, "shared": s.server.URL}[name], clients)
		cpu, began := cpuOf(t, s.kube.APIServer().PID()), time.Now()
		for i := range changes {
			s.relabel("a", "p", fmt.Sprint(name, i))
		}
		await.True(t, func() bool { return w.arrived.Load() >= clients*changes }, "all clients have all events")
		cost[name] = cpuOf(t, s.kube.APIServer().PID()) - cpu
		t.Logf("%s: %d changes to %d watches in %s, %.2f s of the API server's processor time, watches of the cache: %d, continued: %d",
			name, changes, clients, time.Since(began).Round(time.Millisecond), cost[name], s.watches.Load()-before, w.ended.Load())
		cancel()
	}
	require.LessOrEqual(t, s.watches.Load(), int64(1))
	require.Less(t, cost["shared"], cost["direct"])
}
