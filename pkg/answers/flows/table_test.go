package flows_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/netloom/netloom/pkg/answers/answerstest"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/inputs/acllog/acllogtest"
)

const shop = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.2}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop, annotations: {netloom.io/acl-logging: '{"allow": "info", "deny": "alert"}'}}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{podSelector: {matchLabels: {app: api}}}], ports: [{port: 5432}]}]
`

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// guide returns the guide of the shop.
func guide(t testing.TB) *flows.Guide {
	t.Helper()
	state := answerstest.StateOf(t, answerstest.ObjectsOf(t, shop))
	return flows.NewGuide(world.New(state), ovn.LogNames(state.Snapshot))
}

func key(t testing.TB, g *flows.Guide, e acllog.Entry) flows.Key {
	t.Helper()
	k, ok := g.Key(&e)
	require.True(t, ok)
	return k
}

func entry(name, src, dst string, port uint16) acllog.Entry {
	return acllog.Entry{
		Name: name, Verdict: acllog.Drop, Direction: "to-lport", Protocol: "tcp", Port: port,
		Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst),
	}
}

func TestEntriesBecomeFlowsOfPods(t *testing.T) {
	g := guide(t)
	for _, tc := range []struct {
		name                   string
		entry                  acllog.Entry
		from, to, policy, rule string
	}{
		{"a default deny", entry("shop/db ingress", "10.0.0.1", "10.0.0.2", 5432), "shop/web-0", "shop/db-0", "NetworkPolicy/shop/db", flows.Isolation},
		{"a rule", entry("shop/db ingress[0]", "10.0.0.1", "10.0.0.2", 5432), "shop/web-0", "shop/db-0", "NetworkPolicy/shop/db", "spec.ingress[0]"},
		{"an address outside", entry("shop/db ingress", "203.0.113.7", "10.0.0.2", 5432), "203.0.113.7", "shop/db-0", "NetworkPolicy/shop/db", flows.Isolation},
		{"a name that no policy has", entry("shop/other ingress", "10.0.0.1", "10.0.0.2", 5432), "shop/web-0", "shop/db-0", "", ""},
		{"a rule of ovn-kubernetes", entry("NP:shop:db:Ingress:0", "10.0.0.1", "10.0.0.2", 1), "shop/web-0", "shop/db-0", "NetworkPolicy/shop/db", "spec.ingress[0]"},
		{"the default deny of ovn-kubernetes", entry("NP:shop:Ingress", "10.0.0.1", "10.0.0.2", 1), "shop/web-0", "shop/db-0", "the NetworkPolicies of namespace shop", flows.Isolation},
		{"a rule of kube-ovn", entry("np/db.v1.shop/ingress/IPv4/0", "10.0.0.1", "10.0.0.2", 1), "shop/web-0", "shop/db-0", "NetworkPolicy/shop/db.v1", "spec.ingress[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := key(t, g, tc.entry)
			require.Equal(t, []string{tc.from, tc.to, tc.policy, tc.rule}, []string{got.From, got.To, got.Policy, got.Rule})
			require.Equal(t, flows.Denied, got.Verdict)
		})
	}
	other := entry("shop/db ingress", "10.0.0.1", "10.0.0.2", 5432)
	other.Direction = "from-lport"
	require.Empty(t, key(t, g, other).Policy, "the policy has no such ACL")
	passed := entry("", "10.0.0.1", "10.0.0.2", 1)
	passed.Verdict = acllog.Pass
	_, ok := g.Key(&passed)
	require.False(t, ok)
	hostile := key(t, g, entry("\x1b[2J\n"+string(make([]byte, 500))+"\u202e", "10.0.0.1", "10.0.0.2", 1))
	require.NotRegexp(t, `[\x00-\x1f]`, hostile.ACL)
	require.LessOrEqual(t, len(hostile.ACL), 500)
}

func TestCountsExpireWithTheWindow(t *testing.T) {
	g, table := guide(t), flows.NewTable(time.Hour)
	web, far := key(t, g, entry("shop/db ingress", "10.0.0.1", "10.0.0.2", 5432)), key(t, g, entry("shop/db ingress", "203.0.113.7", "10.0.0.2", 5432))
	require.True(t, table.Add(web, noon, noon))
	require.False(t, table.Add(web, noon.Add(30*time.Minute), noon.Add(time.Hour)))
	table.Add(web, noon.Add(10*time.Minute), noon.Add(time.Hour)) // another node's log, late
	require.EqualValues(t, 3, table.Report(time.Time{}).Flows[0].Count)
	table.Add(far, noon.Add(80*time.Minute), noon.Add(80*time.Minute))
	got := table.Report(time.Time{})
	require.Equal(t, noon.Add(80*time.Minute), got.Until)
	require.Len(t, got.Flows, 2)
	require.Equal(t, []uint64{1, 1}, []uint64{got.Flows[0].Count, got.Flows[1].Count})
	require.Equal(t, noon, got.Flows[1].First)
	table.Add(web, noon, noon.Add(80*time.Minute)) // too old
	require.EqualValues(t, 1, table.Report(time.Time{}).Flows[1].Count)
	require.Empty(t, table.Report(noon.Add(5*time.Hour)).Flows)
	table.Add(far, time.Time{}, noon.Add(2*time.Hour))
	require.Equal(t, noon.Add(2*time.Hour), table.Report(time.Time{}).Until, "a line without a stamp is of now")
	table.Add(far, noon.AddDate(50, 0, 0), noon.Add(2*time.Hour))
	table.Add(far, time.Date(-3, 1, 1, 0, 0, 0, 0, time.UTC), noon.Add(2*time.Hour))
	require.Equal(t, noon.Add(2*time.Hour), table.Report(time.Time{}).Until, "no stamp expires all others")
}

// TestHistoryGoesBackSixWindows counts entries that are before the window, and drops them where there is no room.
func TestHistoryGoesBackSixWindows(t *testing.T) {
	g, table := guide(t), flows.NewTable(time.Hour)
	web := key(t, g, entry("shop/db ingress", "10.0.0.1", "10.0.0.2", 5432))
	require.True(t, table.Add(web, noon, noon))
	require.True(t, table.Add(web, noon.Add(3*time.Hour), noon.Add(3*time.Hour)), "new after an hour without it")
	late := noon.Add(5*time.Hour + 50*time.Minute)
	require.Empty(t, table.Report(late).Flows, "not within the window")
	past := table.History(late)
	require.Equal(t, []any{72, 5 * time.Minute, noon.Add(5*time.Hour + 55*time.Minute)}, []any{past.Parts, past.Step, past.Until})
	require.Len(t, past.Flows, 1)
	require.Len(t, past.Flows[0].Counts, past.Parts)
	counted := map[time.Time]uint32{}
	for part, n := range past.Flows[0].Counts {
		if n > 0 {
			counted[past.Begin(part)] = n
		}
	}
	require.Equal(t, map[time.Time]uint32{noon: 1, noon.Add(3 * time.Hour): 1}, counted)
	require.Len(t, table.History(noon.Add(6 * time.Hour)).Flows[0].Counts, 72)
	require.Empty(t, table.History(noon.Add(10*time.Hour)).Flows)

	for i := range 300 { // more flows of one pod than it has room for
		table.Add(key(t, g, entry("x", "10.0.0.1", "203.0.113.9", uint16(i+1))), late, late)
	}
	past = table.History(late)
	require.Len(t, past.Flows, 256)
	for _, f := range past.Flows {
		require.NotEqual(t, "tcp/5432", f.Port, "what is history made room")
	}
	require.Len(t, table.Report(late).Flows, 256)
}

// TestHostileFlowsCannotGrowATable sends many flows of random addresses and ports beside one that matters.
func TestHostileFlowsCannotGrowATable(t *testing.T) {
	g, table := guide(t), flows.NewTable(time.Hour)
	web := key(t, g, entry("shop/db ingress", "10.0.0.1", "10.0.0.2", 5432))
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var filled uint64
	const rounds = 100_000
	for i := range rounds {
		e := entry("shop/db ingress", "203.0.113.7", "10.0.0.2", uint16(i))
		e.Src = netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)})
		if i%2 == 1 {
			e.Dst = netip.AddrFrom4([4]byte{9, byte(i >> 16), byte(i >> 8), byte(i)})
		}
		table.Add(key(t, g, e), noon, noon)
		if i == 10_000 {
			filled = memory()
		}
	}
	require.True(t, table.Add(web, noon, noon), "a pod of its own has room")
	require.Less(t, memory(), filled+1<<20)
	got := table.Report(time.Time{})
	require.Len(t, got.Flows, 2*256+1)
	var sum uint64
	for _, f := range got.Flows {
		sum += f.Count
	}
	require.EqualValues(t, rounds+1, sum+got.Other[flows.Denied], "all are counted")
	for pod := range 100 {
		for port := range 256 {
			k := web
			k.Port = fmt.Sprint(pod, port)
			table.Add(k, noon, noon)
		}
	}
	require.LessOrEqual(t, len(table.Report(time.Time{}).Flows), 4096)
	table.Add(web, noon.Add(3*time.Hour), noon.Add(3*time.Hour))
	require.Len(t, table.Report(time.Time{}).Flows, 1, "what was not seen makes room")
}

// BenchmarkLines reads, attributes and counts lines of flows that all differ.
func BenchmarkLines(b *testing.B) {
	g, table := guide(b), flows.NewTable(time.Hour)
	lines := make([]string, 10_000)
	for i := range lines {
		lines[i] = acllogtest.Line(noon, "shop/db ingress", acllog.Drop, fmt.Sprintf("10.1.%d.%d", i>>8, i&255), "10.0.0.2", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			e, ok := acllog.Parse(line, noon)
			require.True(b, ok)
			k, _ := g.Key(&e)
			table.Add(k, e.At, noon)
		}
	}
	b.ReportMetric(float64(len(lines)*b.N)/b.Elapsed().Seconds(), "lines/s")
}
