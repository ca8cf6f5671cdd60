package audit_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/audit"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

func stateOf(t testing.TB, c *oracle.Cluster, rng *rand.Rand) audit.State {
	t.Helper()
	tr := translator.New(translator.Options{})
	objects := policygen.Objects(c)
	if rng != nil {
		rng.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	}
	for _, o := range objects {
		require.NoError(t, tr.Put(o))
	}
	return audit.State{Snapshot: tr.Snapshot(), View: tr.View()}
}

// TestAuditAgreesWithTheOracle asks the oracle about connections between the pods of random clusters and from outside: what it allows is in
// the matrix and in the exposure of the pod, and what the report does not list it denies.
func TestAuditAgreesWithTheOracle(t *testing.T) {
	allowed, denied := 0, 0
	seeds.Each(t, "audit", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{Namespaces: 3, Pods: 12, Policies: 10})
		report := audit.Of(stateOf(t, c, nil))
		cells, pods := map[[2]string]audit.Cell{}, map[string]audit.Pod{}
		for _, cell := range report.Matrix {
			cells[[2]string{cell.From, cell.To}] = cell
			require.LessOrEqual(t, cell.Allowed, cell.Pairs)
			require.NotEmpty(t, cell.Traffic)
		}
		for _, p := range report.Pods {
			pods[p.Namespace+"/"+p.Name] = p
		}
		frozen := c.Freeze()
		for _, f := range policygen.Probes(c, policygen.NewRand(seed), 300) {
			if f.Src.Addr == f.Dst.Addr || f.Src.Addr.Is4In6() || f.Dst.Addr.Is4In6() {
				continue
			}
			v := frozen.Allowed(f)
			from, _, pod := strings.Cut(f.Src.Pod, "/")
			to, _, toPod := strings.Cut(f.Dst.Pod, "/")
			what := fmt.Sprintf("seed %d: %+v: %v", seed, f, v.Why)
			switch {
			case pod && toPod && v.Allowed:
				allowed++
				require.Positive(t, cells[[2]string{from, to}].Allowed, what)
			case pod && toPod:
				denied++
				if cell := cells[[2]string{from, to}]; cell.Pairs > 0 && cell.Allowed == cell.Pairs {
					require.NotEqual(t, []string{"everything"}, cell.Traffic, what)
				}
			case toPod && v.Allowed && !isNode(c, f.Src.Addr):
				require.NotEqual(t, audit.None, pods[f.Dst.Pod].FromWorld.Scope, what)
			case pod && v.Allowed && !isNode(c, f.Dst.Addr):
				require.NotEqual(t, audit.None, pods[f.Src.Pod].ToWorld.Scope, what)
			}
		}
	})
	if seeds.All() {
		require.NotZero(t, allowed)
		require.NotZero(t, denied)
	}
}

// isNode reports whether a node, or a pod on its network, has an address: a node reaches its own pods, whatever policies say.
func isNode(c *oracle.Cluster, a netip.Addr) bool {
	for _, n := range c.Nodes {
		if slices.ContainsFunc(n.Status.Addresses, func(x corev1.NodeAddress) bool { return x.Address == a.String() }) {
			return true
		}
	}
	return false
}

func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	c := policygen.Generate(7, policygen.Size{Namespaces: 3, Pods: 15, Policies: 12, Cluster: 3})
	want := text(t, audit.Of(stateOf(t, c, nil)))
	for i := range uint64(5) {
		require.Equal(t, want, text(t, audit.Of(stateOf(t, c, policygen.NewRand(i)))))
	}
}

// text is a report in all its forms.
func text(t *testing.T, r audit.Report) string {
	t.Helper()
	var out bytes.Buffer
	data, err := json.Marshal(r)
	require.NoError(t, err)
	out.Write(data)
	require.NoError(t, r.WriteCSV(&out))
	require.NoError(t, r.WriteHTML(&out, nil))
	return out.String()
}

func TestSince(t *testing.T) {
	c := policygen.Workload(100)
	before := audit.Of(stateOf(t, c, nil))
	same := audit.Since(&before, &before)
	require.True(t, same.Empty(), same)

	edited := *c
	gone := c.Policies[0]
	edited.Policies = c.Policies[1:]
	vanished := c.Pods[len(c.Pods)-1]
	edited.Pods = c.Pods[:len(c.Pods)-1]
	after := audit.Of(stateOf(t, &edited, nil))
	changes := audit.Since(&before, &after)
	require.Equal(t, []string{vanished.Namespace + "/" + vanished.Name}, changes.Vanished)
	require.Contains(t, changes.Changes, audit.Change{
		Kind: object.KindNetworkPolicy, Object: "NetworkPolicy/" + gone.Namespace + "/" + gone.Name, What: "exists", Before: "yes", After: "no",
	})
	open := slices.IndexFunc(changes.Changes, func(x audit.Change) bool { return x.What == "isolated for ingress" && x.Kind == "pod" })
	require.Positive(t, open)
	require.Equal(t, "yes", changes.Changes[open].Before)
	back := audit.Since(&after, &before)
	require.Equal(t, changes.Vanished, back.Appeared)
	require.Len(t, back.Changes, len(changes.Changes))

	var out bytes.Buffer
	require.NoError(t, changes.WriteCSV(&out))
	lines, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 1+len(changes.Changes)+1)
}

// TestNamesAreOnlyText puts formulas and markup where names are.
func TestNamesAreOnlyText(t *testing.T) {
	for _, evil := range []string{`=HYPERLINK("http://x")`, "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", `<script>alert(1)</script>`, `"><img src=x>`} {
		r := audit.Report{
			Namespaces: []audit.Namespace{{Name: evil}}, Pods: []audit.Pod{{Namespace: evil, Name: evil}},
			Matrix: []audit.Cell{{From: evil, To: evil, Traffic: []string{evil}}}, Policies: []audit.Policy{{Kind: evil, Namespace: evil, Name: evil, Created: evil}},
			NotExamined: []string{evil},
		}
		changes := &audit.Changes{Changes: []audit.Change{{evil, evil, evil, evil, evil}}, Appeared: []string{evil}, Vanished: []string{evil}}
		for _, write := range []func(*bytes.Buffer) error{
			func(b *bytes.Buffer) error { return r.WriteCSV(b) }, func(b *bytes.Buffer) error { return changes.WriteCSV(b) },
		} {
			var out bytes.Buffer
			require.NoError(t, write(&out))
			lines, err := csv.NewReader(&out).ReadAll()
			require.NoError(t, err)
			for _, line := range lines {
				for _, cell := range line {
					require.NotRegexp(t, "^[=+\\-@\t\r＝]", cell)
				}
			}
		}
		var page bytes.Buffer
		require.NoError(t, r.WriteHTML(&page, changes))
		require.NotContains(t, page.String(), "<script")
		require.NotContains(t, page.String(), "<img")
		require.NotRegexp(t, `(src|href)=`, strings.ReplaceAll(page.String(), "src=x&gt;", ""))
	}
}

func TestManyNamespacesAreCut(t *testing.T) {
	c := &oracle.Cluster{}
	for i := range 250 {
		name := fmt.Sprintf("n%03d", i)
		p := &corev1.Pod{}
		p.Namespace, p.Name, p.Status.Phase = name, "p", corev1.PodRunning
		p.Status.PodIP = fmt.Sprintf("10.0.%d.1", i)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		c.Pods = append(c.Pods, p)
		ns := &corev1.Namespace{}
		ns.Name = name
		c.Namespaces = append(c.Namespaces, ns)
	}
	r := audit.Of(stateOf(t, c, nil))
	require.Len(t, r.Matrix, 200*200-200, "a pod alone in its namespace has no connection in it")
	require.Equal(t, []string{"connections of 50 namespaces, from n200 on: the matrix has at most 200"}, r.NotExamined)
	require.Len(t, r.Namespaces, 250)
	require.Equal(t, audit.World, r.Pods[0].FromWorld.Scope)
	require.Equal(t, "everything", r.Pods[0].FromWorld.Traffic)
}

// TestWhatTheWorldCanUse admits an office to more ports than everyone: only what most can use is open to the world.
func TestWhatTheWorldCanUse(t *testing.T) {
	for _, tc := range []struct{ name, rules, want string }{
		{"everyone and an office", `[{from: [{ipBlock: {cidr: 0.0.0.0/0}}], ports: [{port: 443}]}, {from: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: 22}]}]`, "world: tcp/443"},
		{"two halves", `[{from: [{ipBlock: {cidr: 0.0.0.0/1}}], ports: [{port: 443}, {port: 80}]}, {from: [{ipBlock: {cidr: 128.0.0.0/2}}], ports: [{port: 443}]}]`, "world: tcp/80, tcp/443"},
		{"an office", `[{from: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: 22}]}]`, "networks: tcp/22"},
		{"two networks", `[{from: [{ipBlock: {cidr: 64.0.0.0/2}}], ports: [{port: 80}]}, {from: [{ipBlock: {cidr: 128.0.0.0/2}}], ports: [{port: 443}, {port: 80}]}]`, "world: tcp/80"},
		{"nobody", `[]`, "none: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &corev1.Pod{}
			p.Namespace, p.Name, p.Status.Phase, p.Spec.NodeName = "shop", "a", corev1.PodRunning, "n"
			p.Status.PodIP, p.Status.PodIPs = "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
			n := &corev1.Node{}
			n.Name, n.Status.Addresses = "n", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.9.0.1"}}
			np := &networkingv1.NetworkPolicy{}
			np.Namespace, np.Name = "shop", "p"
			require.NoError(t, yaml.UnmarshalStrict([]byte("{podSelector: {}, policyTypes: [Ingress], ingress: "+tc.rules+"}"), &np.Spec))
			ns := &corev1.Namespace{}
			ns.Name = "shop"
			r := audit.Of(stateOf(t, &oracle.Cluster{
				Pods: []*corev1.Pod{p}, Nodes: []*corev1.Node{n}, Namespaces: []*corev1.Namespace{ns}, Policies: []*networkingv1.NetworkPolicy{np},
			}, nil))
			require.Equal(t, tc.want, string(r.Pods[0].FromWorld.Scope)+": "+r.Pods[0].FromWorld.Traffic)
			require.Equal(t, audit.World, r.Pods[0].ToWorld.Scope)
		})
	}
}
