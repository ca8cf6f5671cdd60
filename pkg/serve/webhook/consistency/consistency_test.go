package consistency_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
	"github.com/netloom/netloom/test/seeds"
)

// meta is the metadata of shop/name for a CNF; "" is for none.
func meta(name, purpose string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "shop", Name: name}
	if purpose != "" {
		m.Labels = map[string]string{v1alpha1.LabelPurpose: purpose}
	}
	return m
}

func going(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.DeletionTimestamp = &metav1.Time{}
	return m
}

func byHand(m metav1.ObjectMeta, names string) metav1.ObjectMeta {
	m.Annotations = map[string]string{consistency.OnDevice: names}
	return m
}

func policy(m metav1.ObjectMeta) *v1alpha1.Mwan3Policy { return &v1alpha1.Mwan3Policy{ObjectMeta: m} }

func rule(m metav1.ObjectMeta, policy string) *v1alpha1.Mwan3Rule {
	return &v1alpha1.Mwan3Rule{ObjectMeta: m, Spec: v1alpha1.Mwan3RuleSpec{Policy: v1alpha1.Reference(policy)}}
}

func site(m metav1.ObjectMeta, peer v1alpha1.IpsecPeer, proposals ...v1alpha1.Reference) *v1alpha1.IpsecSite {
	s := &v1alpha1.IpsecSite{ObjectMeta: m}
	s.Spec.IpsecPeer = peer
	s.Spec.Connections = make([]v1alpha1.IpsecSiteConnection, 1)
	s.Spec.Connections[0].CryptoProposal = proposals
	return s
}

func texts(found []consistency.Finding) []string {
	out := []string{}
	for _, f := range found {
		text := string(f.Check) + " " + f.Text
		if f.Old {
			text += " (as before)"
		}
		out = append(out, text)
	}
	return out
}

func TestCheck(t *testing.T) {
	const hint = "; if it was created on the device by hand, name it in the annotation netloom.io/on-device"
	zone := func(m metav1.ObjectMeta) *v1alpha1.FirewallZone { return &v1alpha1.FirewallZone{ObjectMeta: m} }
	forward := func(m metav1.ObjectMeta, src, dest v1alpha1.Zone) *v1alpha1.FirewallForwarding {
		return &v1alpha1.FirewallForwarding{ObjectMeta: m, Spec: v1alpha1.FirewallForwardingSpec{Src: src, Dest: dest}}
	}
	for _, tc := range []struct {
		name   string
		there  map[string][]metav1.Object
		change consistency.Change
		want   []string
	}{
		{
			name:   "a rule whose policy is there",
			there:  map[string][]metav1.Object{"Mwan3Policy": {policy(meta("balance", "cnf1"))}},
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(meta("r", "cnf1"), "balance")},
		},
		{
			name:   "a rule whose policy is not there",
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(meta("r", "cnf1"), "balance")},
			want:   []string{"dependencies spec.policy: Mwan3Policy shop/balance does not exist" + hint},
		},
		{
			name:   "a rule for no CNF",
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(meta("r", ""), "balance")},
		},
		{
			name:   "a policy of another CNF",
			there:  map[string][]metav1.Object{"Mwan3Policy": {policy(meta("balance", "cnf2"))}},
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(meta("r", "cnf1"), "balance")},
			want:   []string{`dependencies spec.policy: Mwan3Policy shop/balance is for the CNF "cnf2", not for "cnf1"` + hint},
		},
		{
			name:   "a policy for no CNF",
			there:  map[string][]metav1.Object{"Mwan3Policy": {policy(meta("balance", ""))}},
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(meta("r", "cnf1"), "balance")},
			want:   []string{"dependencies spec.policy: Mwan3Policy shop/balance applies to no CNF: it has no label sdewanPurpose" + hint},
		},
		{
			name:   "a policy that is going",
			there:  map[string][]metav1.Object{"Mwan3Policy": {policy(going(meta("balance", "cnf1")))}},
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(meta("r", "cnf1"), "balance")},
			want:   []string{"dependencies spec.policy: Mwan3Policy shop/balance is being deleted" + hint},
		},
		{
			name:   "a policy made by hand",
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(byHand(meta("r", "cnf1"), "other, balance"), "balance")},
		},
		{
			name:   "anything made by hand",
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(byHand(meta("r", "cnf1"), "*"), "balance")},
		},
		{
			name:   "something else made by hand",
			change: consistency.Change{Kind: "Mwan3Rule", New: rule(byHand(meta("r", "cnf1"), "balanc"), "balance")},
			want:   []string{"dependencies spec.policy: Mwan3Policy shop/balance does not exist" + hint},
		},
		{
			name: "an update that leaves what was missing",
			change: consistency.Change{
				Kind: "Mwan3Rule", Old: rule(meta("r", "cnf1"), "balance"), New: rule(meta("r", "cnf1"), "balance"),
			},
			want: []string{"dependencies spec.policy: Mwan3Policy shop/balance does not exist" + hint + " (as before)"},
		},
		{
			name: "an update to what is missing",
			change: consistency.Change{
				Kind: "Mwan3Rule", Old: rule(meta("r", "cnf1"), "before"), New: rule(meta("r", "cnf1"), "balance"),
			},
			want: []string{"dependencies spec.policy: Mwan3Policy shop/balance does not exist" + hint},
		},
		{
			name: "an update of what is going, such as a finalizer that is done",
			change: consistency.Change{
				Kind: "Mwan3Rule", Old: rule(going(meta("r", "cnf1")), "balance"), New: rule(going(meta("r", "cnf1")), "balance"),
			},
		},
		{
			name:   "both zones of a forwarding",
			there:  map[string][]metav1.Object{"FirewallZone": {zone(meta("lan", "cnf1"))}},
			change: consistency.Change{Kind: "FirewallForwarding", New: forward(meta("f", "cnf1"), "lan", "wan")},
			want:   []string{"dependencies spec.dest: FirewallZone shop/wan does not exist" + hint},
		},
		{
			name:  "a zone that is still used",
			there: map[string][]metav1.Object{"FirewallForwarding": {forward(meta("b", "cnf1"), "wan", "lan"), forward(meta("a", "cnf1"), "lan", "wan")}},
			change: consistency.Change{
				Kind: "FirewallZone", Old: zone(meta("wan", "cnf1")),
			},
			want: []string{"dependencies FirewallZone shop/wan is still used by FirewallForwarding shop/a, FirewallForwarding shop/b"},
		},
		{
			name: "a zone that another CNF and what is going used",
			there: map[string][]metav1.Object{"FirewallForwarding": {
				forward(meta("b", "cnf2"), "wan", "lan"), forward(going(meta("a", "cnf1")), "lan", "wan"),
			}},
			change: consistency.Change{Kind: "FirewallZone", Old: zone(meta("wan", "cnf1"))},
		},
		{
			name: "a policy that many use",
			there: map[string][]metav1.Object{"Mwan3Rule": {
				rule(meta("a", "cnf1"), "p"), rule(meta("b", "cnf1"), "p"), rule(meta("c", "cnf1"), "p"), rule(meta("d", "cnf1"), "p"),
			}},
			change: consistency.Change{Kind: "Mwan3Policy", Old: policy(meta("p", "cnf1"))},
			want:   []string{"dependencies Mwan3Policy shop/p is still used by Mwan3Rule shop/a, Mwan3Rule shop/b, Mwan3Rule shop/c and 1 more"},
		},
		{
			name:  "proposals of a peer and its connections",
			there: map[string][]metav1.Object{"IpsecProposal": {&v1alpha1.IpsecProposal{ObjectMeta: meta("p1", "cnf1")}}},
			change: consistency.Change{Kind: "IpsecSite", New: site(meta("s", "cnf1"),
				v1alpha1.IpsecPeer{CryptoProposal: []v1alpha1.Reference{"p1", "p2"}}, "p3", "p1")},
			want: []string{
				"dependencies spec.crypto_proposal[1]: IpsecProposal shop/p2 does not exist" + hint,
				"dependencies spec.connections[0].crypto_proposal[0]: IpsecProposal shop/p3 does not exist" + hint,
			},
		},
		{
			name: "secrets in clear",
			change: consistency.Change{Kind: "IpsecSite", New: site(meta("s", ""),
				v1alpha1.IpsecPeer{PreSharedKey: "hunter2", LocalPrivateCert: "hunter3"})},
			want: []string{
				"plain-secrets spec.pre_shared_key: is in clear text for everyone who may read the object; pre_shared_key_secret refers to a Secret instead",
				"plain-secrets spec.local_private_cert: is in clear text for everyone who may read the object; local_private_cert_secret refers to a Secret instead",
			},
		},
		{
			name: "secrets by reference",
			change: consistency.Change{Kind: "IpsecSite", New: site(meta("s", ""),
				v1alpha1.IpsecPeer{PreSharedKeySecret: &v1alpha1.SecretReference{Name: "x"}})},
		},
		{
			name:   "a label that changes",
			change: consistency.Change{Kind: "Mwan3Policy", Old: policy(meta("p", "cnf1")), New: policy(meta("p", "cnf2"))},
			want:   []string{"immutable-label Label 'sdewanPurpose' is immutable"},
		},
		{
			name:   "a label that goes",
			change: consistency.Change{Kind: "Mwan3Policy", Old: policy(meta("p", "cnf1")), New: policy(meta("p", ""))},
			want:   []string{"immutable-label Label 'sdewanPurpose' is immutable"},
		},
		{
			name:   "a label that comes",
			change: consistency.Change{Kind: "Mwan3Policy", Old: policy(meta("p", "")), New: policy(meta("p", "cnf1"))},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := consistency.NewIndex()
			for kind, objects := range tc.there {
				for _, o := range objects {
					x.Put(kind, o)
				}
			}
			if tc.want == nil {
				tc.want = []string{}
			}
			got := texts(x.Check(tc.change))
			require.Equal(t, tc.want, got)
			require.NotContains(t, strings.Join(got, " "), "hunter")
		})
	}
}

func TestUnknownKindsAreNotMissed(t *testing.T) {
	x := consistency.NewIndex()
	change := consistency.Change{Kind: "Mwan3Rule", New: rule(meta("r", "cnf1"), "balance")}
	x.SetUnknown("Mwan3Policy", true)
	require.Empty(t, x.Check(change))
	x.SetUnknown("Mwan3Policy", false)
	require.Len(t, x.Check(change), 1)
}

func TestOneWorkloadForAPurpose(t *testing.T) {
	deployment := func(m metav1.ObjectMeta) metav1.Object { return &appsv1.Deployment{ObjectMeta: m} }
	x := consistency.NewIndex()
	create := func(kind string, m metav1.ObjectMeta) []string {
		return texts(x.CheckWorkload(consistency.Change{Kind: kind, New: deployment(m)}))
	}
	none := []string{}
	require.Equal(t, none, create("Deployment", meta("a", "cnf1")))
	x.PutWorkload("Deployment", deployment(meta("a", "cnf1")))
	require.Equal(t, none, create("Deployment", meta("a", "cnf1")), "itself")
	require.Equal(t, []string{`duplicate-cnf metadata.labels[sdewanPurpose]: Deployment shop/a is already the CNF "cnf1" of namespace shop; expected one workload`},
		create("StatefulSet", meta("a", "cnf1")), "a name of another kind")
	require.Len(t, create("Deployment", meta("b", "cnf1")), 1)
	require.Equal(t, none, create("Deployment", meta("b", "cnf2")))
	require.Equal(t, none, create("Deployment", meta("b", "")))
	elsewhere := meta("b", "cnf1")
	elsewhere.Namespace = "other"
	require.Equal(t, none, create("Deployment", elsewhere))

	come := consistency.Change{Kind: "Deployment", Old: deployment(meta("b", "")), New: deployment(meta("b", "cnf1"))}
	require.Len(t, x.CheckWorkload(come), 1, "the label comes later")
	require.False(t, x.CheckWorkload(come)[0].Old)
	same := consistency.Change{Kind: "Deployment", Old: deployment(meta("b", "cnf1")), New: deployment(meta("b", "cnf1"))}
	require.True(t, x.CheckWorkload(same)[0].Old, "it was there before the first check")
	changed := consistency.Change{Kind: "Deployment", Old: deployment(meta("b", "cnf1")), New: deployment(meta("b", "cnf2"))}
	require.Equal(t, []string{"immutable-label Label 'sdewanPurpose' is immutable"}, texts(x.CheckWorkload(changed)))
	require.Empty(t, x.CheckWorkload(consistency.Change{Kind: "Deployment", Old: deployment(meta("b", "cnf1"))}))

	x.PutWorkload("Deployment", deployment(going(meta("a", "cnf1"))))
	require.Equal(t, none, create("Deployment", meta("b", "cnf1")), "its successor may come")
	x.PutWorkload("Deployment", deployment(meta("a", "cnf1")))
	x.Remove(object.Ref{Kind: "Deployment", Namespace: "shop", Name: "a"})
	require.Equal(t, none, create("Deployment", meta("b", "cnf1")))
}

// TestIndexDependsOnStateAlone puts and removes at random and compares with an index that only got the final state.
func TestIndexDependsOnStateAlone(t *testing.T) {
	names := []string{"a", "b", "c"}
	seeds.Each(t, "consistency", func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		pick := func() string { return names[random.IntN(len(names))] }
		long := consistency.NewIndex()
		there := map[object.Ref]metav1.Object{}
		for range 100 {
			kind := []string{"Mwan3Policy", "Mwan3Rule"}[random.IntN(2)]
			m := meta(pick(), []string{"", "cnf1", "cnf2"}[random.IntN(3)])
			key := object.Ref{Kind: kind, Namespace: "shop", Name: m.Name}
			switch {
			case random.IntN(3) == 0:
				delete(there, key)
				long.Remove(key)
				continue
			case kind == "Mwan3Rule":
				there[key] = rule(m, pick())
			default:
				there[key] = policy(m)
			}
			long.Put(kind, there[key])
		}
		short := consistency.NewIndex()
		for _, key := range slices.SortedFunc(maps.Keys(there), object.Ref.Compare) {
			short.Put(key.Kind, there[key])
		}
		for _, n := range names {
			for _, purpose := range []string{"cnf1", "cnf2"} {
				for _, c := range []consistency.Change{
					{Kind: "Mwan3Policy", Old: policy(meta(n, purpose))},
					{Kind: "Mwan3Rule", New: rule(meta("new", purpose), n)},
				} {
					require.Equal(t, short.Check(c), long.Check(c))
				}
			}
		}
	})
}
