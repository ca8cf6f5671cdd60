//go:build e2e

package ovsdb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

const bigSet = 10_000

func address(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }

// fillSet adds an address set of n members.
func fillSet(t testing.TB, client *ovsdb.Client, n int) {
	t.Helper()
	members := make([]string, n)
	for i := range members {
		members[i] = address(i)
	}
	_, err := client.Transact(t.Context(), []libovsdb.Operation{
		ovsdb.Insert("Address_Set", id1, libovsdb.Row{"name": "big", "addresses": ovsdb.Set(members)}),
	})
	require.NoError(t, err)
}

// toggle is the operation that adds one member to the set, or takes it out again.
func toggle(i int) libovsdb.Operation {
	member := []string{address(bigSet + i/2)}
	if i%2 == 0 {
		return ovsdb.MutateSet("Address_Set", id1, "addresses", member, nil)
	}
	return ovsdb.MutateSet("Address_Set", id1, "addresses", nil, member)
}

// median is the median time of n calls of f.
func median(n int, f func(i int)) time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		start := time.Now()
		f(i)
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[n/2]
}

// TestMutateCostsWhatTheServerNeeds compares one mutation of a set of 10,000 with the floor. The two take turns, so that
// whatever else the machine does hits both.
func TestMutateCostsWhatTheServerNeeds(t *testing.T) {
	process := startProcess(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{process.Addr()}, LeaderOnly: true})
	fillSet(t, client, bigSet)
	raw := dialRaw(t, process.Addr())
	ratios := make([]float64, 0, 5)
	for range cap(ratios) {
		floor := median(400, func(i int) {
			_, err := raw.Transact(toggle(i))
			require.NoError(t, err)
		})
		ours := median(400, func(i int) {
			_, err := client.Transact(t.Context(), []libovsdb.Operation{toggle(i)})
			require.NoError(t, err)
		})
		ratios = append(ratios, float64(ours)/float64(floor))
		t.Logf("raw %s, client %s, ratio %.2f", floor, ours, ratios[len(ratios)-1])
	}
	slices.Sort(ratios)
	require.Less(t, ratios[len(ratios)/2], 2.0)
}

func BenchmarkMutate(b *testing.B) {
	process := startProcess(b)
	client := connect(b, ovsdb.Options{Endpoints: []string{process.Addr()}, LeaderOnly: true})
	fillSet(b, client, bigSet)
	raw := dialRaw(b, process.Addr())
	b.Run("raw", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_, err := raw.Transact(toggle(i))
			require.NoError(b, err)
		}
	})
	b.Run("client", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_, err := client.Transact(b.Context(), []libovsdb.Operation{toggle(i)})
			require.NoError(b, err)
		}
	})
}

// batch is n access control lists, each in a port group of its own.
func batch(n int) []libovsdb.Operation {
	ops := make([]libovsdb.Operation, 0, 2*n)
	for i := range n {
		name := fmt.Sprintf("pg%d", i)
		acl := simulator.UUIDOf("ACL", name)
		ops = append(ops,
			ovsdb.Insert("ACL", acl, libovsdb.Row{
				"action": "allow-related", "direction": "to-lport", "priority": 1001,
				"match":        "outport == @" + name + " && ip4.src == $as && tcp && tcp.dst == {80, 443}",
				"external_ids": ovsdb.Map(map[string]string{"owner": "netloom", "id": name}),
			}),
			ovsdb.Insert("Port_Group", simulator.UUIDOf("Port_Group", name), libovsdb.Row{
				"name": name, "acls": ovsdb.UUIDs([]string{acl}),
			}))
	}
	return ops
}

// BenchmarkBatch writes 1,000 pairs of rows in one transaction and reads them back.
func BenchmarkBatch(b *testing.B) {
	process := startProcess(b)
	client := connect(b, ovsdb.Options{Endpoints: []string{process.Addr()}, LeaderOnly: true})
	raw := dialRaw(b, process.Addr())
	ops := batch(1000)
	var untyped, away []any
	var drop []libovsdb.Operation
	for _, op := range ops {
		untyped = append(untyped, op)
		if op.Table == "Port_Group" {
			drop = append(drop, ovsdb.Delete("Port_Group", op.UUID))
			away = append(away, drop[len(drop)-1])
		}
	}
	columns := []string{"action", "direction", "priority", "match", "external_ids", "name", "options"}
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			_, err := raw.Transact(untyped...)
			require.NoError(b, err)
			rows, err := raw.Select("ACL", nil, columns...)
			require.NoError(b, err)
			require.Len(b, rows, 1000)
			_, err = raw.Transact(away...)
			require.NoError(b, err)
		}
	})
	b.Run("client", func(b *testing.B) {
		for b.Loop() {
			_, err := client.Transact(b.Context(), ops)
			require.NoError(b, err)
			rows, err := client.Select(b.Context(), "ACL", nil, columns...)
			require.NoError(b, err)
			require.Len(b, rows, 1000)
			_, err = client.Transact(b.Context(), drop)
			require.NoError(b, err)
		}
	})
}
