package bench

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

func portUUID(name string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String() }

// newWorkload loads W(1000) into a rig with a simulated server, which has nothing but the ports yet.
func newWorkload(t *testing.T) (*simulator.Server, *oracle.Cluster, *rig) {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	cluster := policygen.Workload(1000)
	r := newRig(t, server.Addr())
	makePorts(t, r.client, cluster)
	r.load(t, cluster)
	return server, cluster, r
}

// TestWorkloadBudget limits W(1000) to the rows and transactions that it may take. The bounds are far below what other
// controllers need for it: 683 ACLs in 729 transactions are the fewest measured elsewhere.
func TestWorkloadBudget(t *testing.T) {
	server, cluster, r := newWorkload(t)

	server.Reset()
	plan := r.sync(t)
	counts := created(plan)
	t.Logf("W(1000): %v in %d transactions", counts, server.Transactions())
	require.LessOrEqual(t, counts["ACL"], 500)
	require.LessOrEqual(t, server.Transactions(), 20)
	require.LessOrEqual(t, memberships(t, r), 7*len(cluster.Pods), "ports of all port groups, for each of which an endpoint costs ovn-northd (ADR 44)")

	t.Run("a restart writes nothing", func(t *testing.T) {
		server.Reset()
		again := newRig(t, server.Addr())
		again.load(t, cluster)
		require.True(t, again.sync(t).Empty())
		require.Zero(t, server.Transactions())
	})
	t.Run("a flipped label is one transaction without an ACL", func(t *testing.T) {
		requireCheapFlips(t, server, r, cluster.Pods[17])
	})
}

// memberships counts the ports of all port groups; a port is counted for each group that has it.
func memberships(t *testing.T, r *rig) int {
	t.Helper()
	groups, err := r.client.Select(t.Context(), "Port_Group", nil, "ports")
	require.NoError(t, err)
	n := 0
	for _, g := range groups {
		n += len(ovsdb.Strings(g["ports"]))
	}
	require.Positive(t, n)
	return n
}

// TestLargeClusterFlip flips a label among 10,000 pods and 1,000 policies: what is written must not grow with them.
func TestLargeClusterFlip(t *testing.T) {
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	cluster := policygen.Workload(10000)
	cluster.Policies = cluster.Policies[:1000]
	r := newRig(t, server.Addr())
	makePorts(t, r.client, cluster)
	r.load(t, cluster)
	r.sync(t)
	requireCheapFlips(t, server, r, cluster.Pods[17])
}

// requireCheapFlips flips labels of a pod that is subject and peer, and back.
func requireCheapFlips(t *testing.T, server *simulator.Server, r *rig, pod *corev1.Pod) {
	t.Helper()
	for key, value := range map[string]string{"app": "a3", "tier": "db"} {
		server.Reset()
		require.NoError(t, r.translator.Put(relabel(pod, key, value)))
		flip := r.sync(t)
		require.False(t, flip.Empty())
		require.Equal(t, 1, server.Transactions())
		for i := range flip.Ops {
			require.Equal(t, backends.Mutate, flip.Ops[i].Verb)
			require.NotEqual(t, "ACL", flip.Ops[i].Kind)
		}
		require.NoError(t, r.translator.Put(pod))
		r.sync(t)
	}
}

// created counts the rows that a plan creates, by table.
func created(p *backends.Plan) map[string]int {
	counts := map[string]int{}
	for i := range p.Ops {
		if p.Ops[i].Verb == backends.Create {
			counts[p.Ops[i].Kind]++
		}
	}
	return counts
}
