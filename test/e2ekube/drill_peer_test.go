//go:build e2e

package e2ekube_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
)

// TestDrillPeer has another cluster deliver pods with large labels as fast as they are read, and then answer nothing any more. What is
// closed stays closed, and what closes is enforced meanwhile. Memory and times are printed.
func TestDrillPeer(t *testing.T) {
	t.Parallel()
	pods := 2000
	if *drillsFlag {
		pods = 10_000
	}
	peer := newPeer(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, peerKubeconfig, peer.url), 0o600))
	f := newFilesDrillIn(t, t.TempDir(), "--confirm-interval", "2s", "--budget-memory", "256Mi", "--cluster", "a", "--peer-clusters", "b", "--peer-kubeconfig", kubeconfig)
	f.denied(0)
	f.awaitPeer("", 0)

	t.Log("the other cluster floods")
	began := time.Now()
	peer.flood(pods)
	var slowest time.Duration
	for k := 1; k < 5; k++ {
		began := time.Now()
		f.denied(k)
		slowest = max(slowest, time.Since(began))
	}
	f.awaitPeer("", pods)
	took := time.Since(began)
	problems, err := f.ask(http.MethodGet, "/debug/problems")
	require.NoError(t, err)
	require.Contains(t, problems, "Budget/b/peers: the pods and namespaces of cluster b exceed their budget: ")
	reportDrill(t, f.netloom.PID(), fmt.Sprintf("another cluster delivers %d pods with 20 labels each, no two alike, in %.0f s", pods, took.Seconds()),
		"nothing: pods beyond the budget match no policy", fmt.Sprintf("the slowest of 4: %v", slowest.Round(time.Millisecond)),
		"a problem of the budget, with its use and the largest object")

	t.Log("the other cluster hangs")
	peer.hang()
	began = time.Now()
	f.denied(5)
	f.awaitPeer("confirmed", pods)
	told := time.Since(began)
	f.denied(6)
	f.relabelled(7)
	peer.mend()
	f.awaitPeer("", pods)
	reportDrill(t, f.netloom.PID(), "another cluster accepts connections and answers nothing", "nothing: its pods stay peers", "–",
		fmt.Sprintf("after %.0f s: `/readyz` degraded", told.Seconds()))
}

// awaitPeer waits until netloom has this many pods of the other cluster, and says this of it: "" is that it can be read.
func (f *filesDrill) awaitPeer(degraded string, pods int) {
	f.t.Helper()
	await.True(f.t, func() bool {
		f.running()
		f.witness.check()
		said, err := f.ask(http.MethodGet, "/readyz")
		require.NoError(f.t, err)
		metrics, err := f.ask(http.MethodGet, "/metrics")
		require.NoError(f.t, err)
		if degraded != "" && strings.Contains(said, "degraded") {
			f.t.Log(said)
		}
		return strings.Contains(said, "degraded") == (degraded != "") && strings.Contains(said, degraded) &&
			strings.Contains(metrics, fmt.Sprintf("netloom_peer_pods{cluster=%q} %d\n", "b", pods))
	}, "%d pods of the other cluster, %q", pods, degraded)
}

const peerKubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: b, cluster: {server: %q}}]
users: [{name: b, user: {}}]
contexts: [{name: b, context: {cluster: b, user: b}}]
`

// peer is the API server of another cluster, as far as netloom asks it, in the hands of somebody else.
type peer struct {
	url string

	mu      sync.Mutex
	pods    int // that it has
	more    chan struct{}
	hanging chan struct{} // closed once it answers again; nil while it does
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{more: make(chan struct{})}
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		p.mend()
		server.CloseClientConnections()
		server.Close()
	})
	p.url = server.URL
	return p
}

// flood has it have this many pods.
func (p *peer) flood(pods int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods = pods
	close(p.more)
	p.more = make(chan struct{})
}

func (p *peer) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hanging = make(chan struct{})
	close(p.more) // watches end, and are answered no more
	p.more = make(chan struct{})
}

func (p *peer) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hanging != nil {
		close(p.hanging)
		p.hanging = nil
	}
}

func (p *peer) now() (pods int, more, hanging chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pods, p.more, p.hanging
}

// ServeHTTP answers lists of one page, and watches.
func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, _, hanging := p.now(); hanging != nil {
		select {
		case <-hanging:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	kind, isPods := "Namespace", strings.HasSuffix(r.URL.Path, "/pods")
	if isPods {
		kind = "Pod"
	}
	q := r.URL.Query()
	pods, _, _ := p.now()
	if !isPods {
		pods = 0
	}
	if q.Get("watch") == "" {
		first, limit := 0, pods
		_, _ = fmt.Sscanf(q.Get("continue"), "%d", &first)
		_, _ = fmt.Sscanf(q.Get("limit"), "%d", &limit)
		last, more := min(pods, first+limit), ""
		if last < pods {
			more = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, last, pods-last)
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"%sList","metadata":{"resourceVersion":"%d"%s},"items":[`, kind, 1+pods, more)
		for i := first; i < last; i++ {
			if i > first {
				_, _ = io.WriteString(w, ",")
			}
			_, _ = w.Write(peerPod(i))
		}
		_, _ = io.WriteString(w, "]}")
		return
	}
	p.watch(w, r, kind)
}

func (p *peer) watch(w http.ResponseWriter, r *http.Request, kind string) {
	q, sent := r.URL.Query(), 0
	initial := q.Get("sendInitialEvents") == "true"
	if !initial {
		_, _ = fmt.Sscanf(q.Get("resourceVersion"), "%d", &sent)
		sent = max(0, sent-1)
	}
	for {
		pods, more, hanging := p.now()
		if hanging != nil {
			return
		}
		for ; kind == "Pod" && sent < pods; sent++ {
			if _, err := fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":%s}\n", peerPod(sent)); err != nil {
				return
			}
		}
		if initial {
			initial = false
			_, _ = fmt.Fprintf(w, "{\"type\":\"BOOKMARK\",\"object\":{\"apiVersion\":\"v1\",\"kind\":%q,\"metadata\":{\"resourceVersion\":\"%d\",\"annotations\":{%q:\"true\"}}}}\n",
				kind, 1+sent, metav1.InitialEventsAnnotationKey)
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// peerPod is the ith pod of the other cluster.
func peerPod(i int) []byte {
	labels := map[string]string{}
	for k := range 20 {
		labels[fmt.Sprintf("example.com/label-%02d", k)] = fmt.Sprintf("%06d-%02d-", i, k) + strings.Repeat("x", 50)
	}
	address := fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&255, i&255)
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("pod-%06d", i), "uid": fmt.Sprint(i), "resourceVersion": fmt.Sprint(2 + i), "labels": labels},
		"spec":     map[string]any{"nodeName": "n", "containers": []any{map[string]any{"name": "main", "image": "example.com/main"}}},
		"status":   map[string]any{"phase": "Running", "podIP": address, "podIPs": []any{map[string]any{"ip": address}}},
	})
	if err != nil {
		panic(err)
	}
	return bytes.TrimSpace(raw)
}
