package translator_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// follower keeps the addresses of the sets that a target has which writes rules in parts: it reads a set when a rule first names it, and
// from then on only what changes list.
type follower struct {
	lowering *intent.Lowering // for a target without tiers; nil if it has them
	at       *intent.Snapshot
	addrs    map[intent.SetID]map[netip.Addr]bool
}

// follow brings f to a snapshot and compares each set with what it has.
func (f *follower) follow(t *testing.T, s *intent.Snapshot) {
	t.Helper()
	if f.lowering != nil {
		s = f.lowering.Next(s)
	}
	now := map[intent.SetID]map[netip.Addr]bool{}
	for id := range peersOf(s) {
		if now[id] = f.addrs[id]; now[id] == nil {
			now[id] = map[netip.Addr]bool{}
			for _, a := range s.Set(id).Addrs() {
				now[id][a] = true
			}
		}
	}
	if f.at != nil {
		for _, c := range s.ChangesFrom(f.at) {
			for _, d := range c.Members {
				if f.addrs[d.ID] == nil || now[d.ID] == nil {
					continue
				}
				for _, a := range d.AddrsRemoved {
					delete(now[d.ID], a)
				}
				for _, a := range d.AddrsAdded {
					now[d.ID][a] = true
				}
			}
		}
	}
	f.at, f.addrs = s, now
	for id, has := range now {
		got := make([]netip.Addr, 0, len(has))
		for a := range has {
			got = append(got, a)
		}
		slices.SortFunc(got, netip.Addr.Compare)
		require.Equal(t, append([]netip.Addr{}, s.Set(id).Addrs()...), got, "%s, %s", id, s.Set(id).Title)
	}
}

// peersOf lists the sets of peers of rules, as a target has them that writes rules in parts.
func peersOf(s *intent.Snapshot) map[intent.SetID]bool {
	out := map[intent.SetID]bool{}
	for p := range s.Policies() {
		for i := range p.Rules {
			parts := p.Rules[i].Parts
			if parts == nil {
				parts = []intent.Part{{Peer: p.Rules[i].Peer}}
			}
			for _, part := range parts {
				if part.Peer.Kind == intent.PeerSet && s.Set(part.Peer.Set) != nil {
					out[part.Peer.Set] = true
				}
			}
		}
	}
	return out
}

// contents describes every set that policies refer to.
func contents(s *intent.Snapshot) map[intent.SetID][]string {
	out := map[intent.SetID][]string{}
	for set := range s.Sets() {
		text := []string{set.Title}
		if set.Members != nil {
			for e := range set.Members.All() {
				text = append(text, e.Key.String())
			}
			slices.Sort(text[1:])
		}
		for _, p := range set.Prefixes {
			text = append(text, p.String())
		}
		for _, a := range set.SubjectAddrs() {
			text = append(text, a.String())
		}
		out[set.ID] = text
	}
	return out
}

// passEverything is a cluster-wide policy that passes everything on to NetworkPolicies.
func passEverything() *v1alpha2.ClusterNetworkPolicy {
	everywhere := &metav1.LabelSelector{}
	from := []v1alpha2.ClusterNetworkPolicyIngressPeer{{Namespaces: everywhere}}
	return &v1alpha2.ClusterNetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "pass"},
		Spec: v1alpha2.ClusterNetworkPolicySpec{
			Tier: v1alpha2.AdminTier, Subject: v1alpha2.ClusterNetworkPolicySubject{Namespaces: everywhere},
			Ingress: []v1alpha2.ClusterNetworkPolicyIngressRule{
				{Action: v1alpha2.ClusterNetworkPolicyRuleActionPass, From: from}, {Action: v1alpha2.ClusterNetworkPolicyRuleActionDeny, From: from},
			},
		},
	}
}

// TestCompositeSetsAreAsWithMembersOfTheirOwn lets random clusters change, with policies that have much in common, and compares every set
// with that of a translator for targets that write whole rules. What changes list is enough to follow the sets that are written.
func TestCompositeSetsAreAsWithMembersOfTheirOwn(t *testing.T) {
	composite, lowered := 0, 0
	seeds.Each(t, "composites", func(t *testing.T, seed uint64) {
		rng, order := policygen.NewRand(seed), newOrder(seed)
		cluster := policygen.Generate(seed, policygen.Size{Cluster: 4 * int((seed-1)%2)})
		if seed%2 == 0 {
			cluster.ClusterPolicies = append(cluster.ClusterPolicies, passEverything())
		}
		policies := policygen.Alike(cluster, rng, 24)
		cluster.Policies = append(cluster.Policies, policies[:20]...)
		opts := translator.Options{}
		if seed%3 == 0 {
			opts.Node = cluster.Nodes[0].Name
		}
		whole := translator.New(opts)
		opts.PartsOnly = true
		parts := translator.New(opts)
		fedParts, fedWhole := feed(t, order, parts, nil, cluster), feed(t, order, whole, nil, cluster)
		every, some := &follower{}, &follower{}
		everyLow, someLow := &follower{lowering: intent.NewLowering(intent.MaxRaised)}, &follower{lowering: intent.NewLowering(intent.MaxRaised)}
		for step := range 25 {
			s, w := parts.Snapshot(), whole.Snapshot()
			for set := range s.Sets() {
				if set.UnionOf != nil {
					composite++
				}
			}
			require.Equal(t, contents(w), contents(s), "seed %d step %d", seed, step)
			every.follow(t, s)
			everyLow.follow(t, s)
			if everyLow.at != s {
				lowered++
			}
			lowest := contents(intent.Lower(w, intent.MaxRaised))
			require.Equal(t, lowest, contents(everyLow.at), "seed %d step %d: lowered", seed, step)
			if rng.IntN(4) == 0 {
				some.follow(t, s)
				someLow.follow(t, s)
				require.Equal(t, lowest, contents(someLow.at), "seed %d step %d: lowered", seed, step)
			}
			for range 1 + rng.IntN(3) {
				policygen.Mutate(cluster, rng)
			}
			policygen.Toggle(cluster, policies[rng.IntN(len(policies))])
			fedParts, fedWhole = feed(t, order, parts, fedParts, cluster), feed(t, order, whole, fedWhole, cluster)
		}
		feed(t, order, parts, fedParts, &oracle.Cluster{})
		parts.Snapshot()
		require.True(t, opts.Node != "" || translator.Empty(parts), "seed %d: something is left", seed) // a node that is missing is a problem
	})
	if seeds.All() {
		require.Greater(t, composite, 500, "too few sets are composite")
		require.Greater(t, lowered, 50, "too few snapshots are lowered")
	}
}

// TestALastOwnUserOfAListGoes has a list with members of its own because of a policy that selects no pod of the own node. When that policy
// goes, the list becomes a composite set although no policy of the snapshot changes.
func TestALastOwnUserOfAListGoes(t *testing.T) {
	tr := translator.New(translator.Options{Node: "n1", PartsOnly: true})
	at := func(node, name, app, ip string) *corev1.Pod {
		p := newPod(name, ip, app, nil)
		p.Spec.NodeName = node
		return p
	}
	other := newPolicy(t, "other", "{podSelector: {matchLabels: {app: remote}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}, "+
		"{podSelector: {matchLabels: {app: ops}}}], ports: [{port: 81}]}]}")
	put(t, tr, newNamespace(nil), at("n1", "db", "db", "10.0.0.1"), at("n1", "cache", "cache", "10.0.0.2"),
		at("n2", "web", "web", "10.0.1.1"), at("n2", "ops", "ops", "10.0.2.1"), at("n2", "remote", "remote", "10.0.3.1"),
		newPolicy(t, "a", from("db", "web", "ops")), newPolicy(t, "c", from("cache", "web")), other, passEverything())
	f := &follower{lowering: intent.NewLowering(intent.MaxRaised)}
	s := tr.Snapshot()
	list := s.Policy("NetworkPolicy/shop/a/ingress").Rules[0].Peer.Set
	require.Nil(t, s.Set(list).UnionOf)
	f.follow(t, s)
	tr.Remove(object.KindNetworkPolicy, "shop", "other")
	s = tr.Snapshot()
	require.Len(t, s.Set(list).UnionOf, 2)
	f.follow(t, s)
	put(t, tr, at("n2", "web", "gone", "10.0.1.1"))
	s = tr.Snapshot()
	f.follow(t, s)
	require.Equal(t, contents(intent.Lower(s, intent.MaxRaised)), contents(f.at))
}

// TestIntersectionsOfCompositeSetsCostWhatTheirMembersCost lowers a rule that passes, so that lists meet other sets.
func TestIntersectionsOfCompositeSetsCostWhatTheirMembersCost(t *testing.T) {
	growth.NearlyLinear(t, 2000, func(n int) func() {
		tr := translator.New(translator.Options{PartsOnly: true})
		put(t, tr, newNamespace(nil), newPolicy(t, "a", from("db", "web", "ops")), newPolicy(t, "c", from("cache", "web")), passEverything())
		for i := range n {
			put(t, tr, newPod(fmt.Sprint("p", i), fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250), []string{"web", "ops"}[i%2], nil))
		}
		low := intent.Lower(tr.Snapshot(), intent.MaxRaised)
		return func() {
			for set := range low.Sets() {
				set.Addrs()
			}
		}
	})
}
