//go:build e2e

package e2e_test

import (
	"io"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestAWrongPortNameOpensNoPod starts a daemon that looks for logical ports by names which a live database does not have:
// nothing that was dropped may pass, a new policy must be in force, and the daemon must say what is wrong.
func TestAWrongPortNameOpensNoPod(t *testing.T) {
	dir := gather(t, "testdata/base", "testdata/verdicts/deny-both")
	cluster := load(t, dir)
	lab := ovnlab.Start(t)
	lab.Install(network(t, cluster))
	mustApply(t, dir, lab.NBUnix())
	var flows []ovnlab.Flow
	for _, from := range live(cluster) {
		for _, to := range live(cluster) {
			src, dst := netip.MustParseAddr(from.Status.PodIP), netip.MustParseAddr(to.Status.PodIP)
			if src != dst && src.Is4() == dst.Is4() {
				flows = append(flows, ovnlab.Flow{Src: src, Dst: dst, Protocol: "tcp", Port: 80})
			}
		}
	}
	dropped := func() map[ovnlab.Flow]bool {
		lab.Sync()
		out := map[ovnlab.Flow]bool{}
		for _, f := range flows {
			if lab.Trace(f) == ovnlab.Drop {
				out[f] = true
			}
		}
		return out
	}
	before := dropped()
	require.NotEmpty(t, before)
	require.Less(t, len(before), len(flows))

	daemon, listen := startWith(t, dir, lab.NBUnix(), "--ovn-port-names={pod}.{namespace}")
	require.Equal(t, before, dropped())

	intoTheBank := ovnlab.Flow{
		Src: netip.MustParseAddr("10.244.1.30"), Dst: netip.MustParseAddr("10.244.1.20"), Protocol: "tcp", Port: 80,
	}
	require.False(t, before[intoTheBank])
	put(t, dir, "closed.yaml", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {namespace: bank, name: closed}\n"+
		"spec: {podSelector: {}, policyTypes: [Ingress]}\n")
	await.True(t, func() bool {
		running(t, daemon)
		lab.Sync()
		return lab.Trace(intoTheBank) == ovnlab.Drop
	}, "the new policy is enforced")
	after := dropped()
	for f := range before {
		require.True(t, after[f], "%v passes", f)
	}
	require.Contains(t, readiness(t, listen), "protected only by an earlier port that is kept")
}

// readiness is what a daemon answers to /readyz.
func readiness(t *testing.T, listen string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/readyz", http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(body)
}
