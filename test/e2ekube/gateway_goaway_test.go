//go:build e2e

package e2ekube_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

var writesFlag = flag.Int("gateway-writes", 1200, "writes of each row of TestGatewayLosesNoWrites")

// posts are writers, which send POSTs over one connection each, and repeat none.
type posts struct {
	t       *testing.T
	base    string
	clients []*http.Client
	name    string // of the objects that they create begins with it

	sent, failed atomic.Int64
	mu           sync.Mutex
	failures     map[string]int
}

// newPosts makes so many.
func newPosts(t *testing.T, config *rest.Config, n int, name string) *posts {
	t.Helper()
	w := &posts{t: t, base: config.Host, name: name, failures: map[string]int{}}
	for range n {
		transport, err := rest.TransportFor(rest.CopyConfig(config))
		require.NoError(t, err)
		w.clients = append(w.clients, &http.Client{Transport: transport})
	}
	return w
}

// write creates an object.
func (w *posts) write(client *http.Client) {
	w.sent.Add(1)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":%q}}`, w.name)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.base+"/api/v1/namespaces/gateway/configmaps", strings.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
		var response *http.Response
		if response, err = client.Do(r); err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusCreated {
				err = fmt.Errorf("%d: %s", response.StatusCode, text)
			}
		}
	}
	if err != nil {
		w.failed.Add(1)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failures[err.Error()]++
	}
}

// run writes until more returns false.
func (w *posts) run(more func() bool) {
	var group sync.WaitGroup
	for _, client := range w.clients {
		group.Go(func() {
			for more() {
				w.write(client)
			}
		})
	}
	group.Wait()
}

// during writes for as long as something happens.
func (w *posts) during(happens func()) {
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(func() bool { return !over.Load() })
	}()
	happens()
	over.Store(true)
	<-done
}

// some returns what is true so many times.
func some(n int) func() bool {
	var left atomic.Int64
	left.Store(int64(n))
	return func() bool { return left.Add(-1) >= 0 }
}

// requireOnce checks that no write was executed twice. The given errors may have happened.
func (w *posts) requireOnce(kube *kubelab.Lab, errors ...string) {
	w.t.Helper()
	created := 0
	all, err := kube.Client().CoreV1().ConfigMaps("gateway").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range all.Items {
		if strings.HasPrefix(all.Items[i].Name, w.name) {
			created++
		}
	}
	w.t.Logf("%s %d writers | %d writes | %d lost | %d objects | %v", w.name, len(w.clients), w.sent.Load(), w.failed.Load(), created, w.failures)
	require.LessOrEqual(w.t, created, int(w.sent.Load()), "none was executed twice")
	require.GreaterOrEqual(w.t, created, int(w.sent.Load()-w.failed.Load()))
	for failure := range w.failures {
		require.Contains(w.t, errors, failure)
	}
}

// TestGatewayLosesNoWrites writes through a gateway to API servers that end connections and restart.
func TestGatewayLosesNoWrites(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs(*kubeapiFlag)
	require.NoError(t, err)
	kube := kubelab.Start(t, kubelab.Options{Program: program, APIFlags: []string{"--goaway-chance=0.02", "--shutdown-delay-duration=3s"}})
	replica := kube.StartReplica()
	g := newGatewayRig(t, map[string]*kubelab.Lab{"a.example": kube}, "  dispatchPolicies: ["+everyRequest+"]\n")
	g.start()

	for _, n := range []int{8, 64} {
		t.Run(fmt.Sprintf("connections of %d writers end with GOAWAY", n), func(t *testing.T) {
			w := newPosts(t, g.config("a.example"), n, fmt.Sprintf("goaway-%d-", n))
			w.run(some(*writesFlag))
			w.requireOnce(kube)
		})
	}
	g.also = `, {endpoint: "` + replica.Host() + `"}`
	g.write("a.example", kube.Token(home, upstreamAccount))
	g.start()
	t.Run("one of two servers restarts in order", func(t *testing.T) {
		w := newPosts(t, g.config("a.example"), 8, "stop-")
		w.during(func() {
			require.NoError(t, replica.Signal(syscall.SIGTERM))
			<-replica.Exited()
			replica.Start()
		})
		w.requireOnce(kube)
	})
	t.Run("one of two servers is killed", func(t *testing.T) {
		w := newPosts(t, g.config("a.example"), 8, "kill-")
		w.during(func() {
			replica.Kill()
			replica.Start()
		})
		w.requireOnce(kube, notAnswered)
	})
}

// notAnswered is the error of a write that may have been executed.
const notAnswered = `502: {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the API server did not answer","reason":"InternalError","code":502}` + "\n"
