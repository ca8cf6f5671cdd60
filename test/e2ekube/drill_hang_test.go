//go:build e2e

package e2ekube_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestDrillHungLeader stops the leader of a cluster of three databases, which keeps its connections and answers nothing, while a
// policy changes, and then another one, so that there is no quorum. Times are printed.
func TestDrillHungLeader(t *testing.T) {
	t.Parallel()
	schema, err := os.ReadFile("/usr/share/ovn/ovn-nb.ovsschema")
	require.NoError(t, err)
	databases, err := ovsdbtest.StartCluster(t.Context(), t.TempDir(), 3, schema)
	require.NoError(t, err)
	t.Cleanup(func() { _ = databases.Kill() })

	leader, err := databases.Leader()
	require.NoError(t, err)
	other := databases.Endpoints()[0]
	if other == leader.Addr() {
		other = databases.Endpoints()[1]
	}
	dir := t.TempDir()
	allow := func(port int) (enforced func() bool) {
		file := filepath.Join(dir, "policy.yaml")
		require.NoError(t, os.WriteFile(file+".new", fmt.Appendf(nil, hangManifest, port), 0o600))
		require.NoError(t, os.Rename(file+".new", file)) // netloom must not read half of it
		return func() bool { return matches(t, other, fmt.Sprintf("tcp.dst == %d", port)) }
	}
	enforced := allow(1000)
	program, err := buildOnce()
	require.NoError(t, err)
	listen := ovnlab.FreeAddress(t)
	netloom := ovnlab.Spawn(t, filepath.Join(t.TempDir(), "netloom.log"), os.Environ(), program, "run", "--manifests", dir,
		"--ovn-nb", strings.Join(databases.Endpoints(), ","), "--listen", listen, "--debug-listen=")
	await.True(t, enforced, "the first policy is enforced")

	began := time.Now()
	require.NoError(t, leader.Hang())
	enforced = allow(2000)
	await.True(t, enforced, "the change is enforced")
	reportDrill(t, netloom.PID(), "the leader of three databases hangs", fmt.Sprintf("a change at that moment was in force after %.1f s", time.Since(began).Seconds()),
		"–", "log, `netloom_target_up` 0")

	for _, member := range databases.Members {
		if member.Addr() != other {
			require.NoError(t, member.Hang())
		}
	}
	began = time.Now()
	enforced = allow(3000)
	await.True(t, func() bool { return strings.Contains(metricsAt(t, listen), `netloom_target_up{target="ovn"} 0`) }, "the target is not up")
	told := time.Since(began)
	for _, member := range databases.Members {
		require.NoError(t, member.Resume())
	}
	await.True(t, enforced, "the change is enforced")
	await.True(t, func() bool { return strings.Contains(metricsAt(t, listen), `netloom_target_up{target="ovn"} 1`) }, "the target is up")
	reportDrill(t, netloom.PID(), "two of three databases hang, so that there is no quorum", "nothing; a change waits for them", "–",
		fmt.Sprintf("after %.1f s: log, `netloom_target_up` 0, `/readyz`", told.Seconds()))
}

// metricsAt returns the metrics of a program; "" if it does not answer.
func metricsAt(t *testing.T, listen string) string {
	t.Helper()
	return metricsFrom(t, http.DefaultClient, listen)
}

// metricsFrom is metricsAt over a client.
func metricsFrom(t *testing.T, client *http.Client, listen string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/metrics", http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(text)
}

// matches reports whether the database of a server has an ACL whose match contains a text.
func matches(t *testing.T, server, text string) bool {
	t.Helper()
	wire, err := ovsdbtest.DialRaw(t.Context(), server, "OVN_Northbound")
	if err != nil {
		return false
	}
	defer func() { _ = wire.Close() }()
	found, err := wire.Transact(map[string]any{"op": "select", "table": "ACL", "where": []any{}, "columns": []string{"match"}})
	return err == nil && strings.Contains(fmt.Sprint(found), text)
}

// hangManifest is a policy for a pod, with a port to fill in.
const hangManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop}
spec: {nodeName: node-a, containers: [{name: db, image: db}]}
status: {phase: Running, podIPs: [{ip: 10.0.0.1}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec: {podSelector: {}, ingress: [{ports: [{port: %d}]}]}
`
