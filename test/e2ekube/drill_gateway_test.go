//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// TestDrillGateway has somebody without credentials hold as many connections to the gateway as it gets, half of them silent, half with a
// handshake that never ends, while a client at another address reads. Each of its requests is answered.
func TestDrillGateway(t *testing.T) {
	t.Parallel()
	g := newGatewayRig(t, map[string]*kubelab.Lab{"a.example": startKube(t)}, "  dispatchPolicies: ["+everyRequest+"]\n")
	health := ovnlab.FreeAddress(t)
	g.start("--metrics-listen="+health, "--shared-watches")
	config := g.config("a.example")
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
		return from.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", g.port))
	}
	config.QPS = -1
	const reads = 50
	read := func() (took []time.Duration) {
		for range reads {
			client, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			began := time.Now()
			_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			took = append(took, time.Since(began))
		}
		return took
	}
	alone, before := read(), peakOf(g.process.PID())

	connections := 2000
	if *drillsFlag {
		connections = 10_000
	}
	hello := []byte{22, 3, 1, 16, 0, 1, 0, 15, 252} // a record of 4 KiB that does not come
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for i := range connections / 20 {
				c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", g.port))
				if err != nil {
					continue // there are too many
				}
				t.Cleanup(func() { _ = c.Close() })
				if i%2 == 0 {
					_, _ = c.Write(hello) // it may be closed already
				}
			}
		})
	}
	beside := read()
	clients.Wait()
	beside = append(beside, read()...)
	await.True(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+health+"/healthz", http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == http.StatusOK
	}, "health is answered")
	const served = 4096 // connections of one address, without a memory limit
	require.Less(t, peakOf(g.process.PID())-before, int64(min(connections, served))*64<<10)
	reportDrill(t, g.process.PID(), fmt.Sprintf("%d connections to the gateway send nothing, or half of a handshake", connections), "–",
		fmt.Sprintf("a list: %v, alone %v", quantile(beside, 0.99).Round(time.Millisecond), quantile(alone, 0.99).Round(time.Millisecond)),
		"log: `there are too many connections`; every request from another address is answered")
}
