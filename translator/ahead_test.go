package translator_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/translator"
)

// blocks is a policy that admits a block without many addresses, and a pod besides.
func blocks(name string, first, n int) *networkingv1.NetworkPolicy {
	block := &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}
	for k := range n {
		h := uint32(first+k) * 2654435761
		block.Except = append(block.Except, fmt.Sprintf("%d.%d.%d.%d/32", byte(h>>24)|1, byte(h>>16), byte(h>>8), byte(h)))
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{
			{IPBlock: block}, {PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}}}},
	}
}

// TestWhatIsAnnouncedIsWhatThePolicyNeeds compares what is announced of a policy with the sets that it has once it is put.
func TestWhatIsAnnouncedIsWhatThePolicyNeeds(t *testing.T) {
	tr := translator.New(translator.Options{PartsOnly: true})
	put(t, tr, newPod("web", "10.1.0.1", "web", nil))
	empty := tr.Snapshot()
	policy := blocks("large", 0, 500)

	require.False(t, tr.Prepare(policy, 3000))
	first := tr.Snapshot()
	require.Greater(t, first.Revision(), empty.Revision())
	require.Len(t, first.Ahead(), 1)
	require.Equal(t, 3000, first.Ahead()[0].Ready)
	require.Zero(t, first.PolicyCount())
	require.Same(t, first, tr.Snapshot(), "nothing changed")

	require.False(t, tr.Prepare(policy, 3000))
	require.Equal(t, 6000, tr.Snapshot().Ahead()[0].Ready)
	require.True(t, tr.Prepare(policy, 30_000))
	announced := tr.Snapshot().Ahead()[0]
	require.Equal(t, len(announced.Set.Prefixes), announced.Ready)

	require.NoError(t, tr.Put(policy))
	tr.Prepare(nil, 0)
	last := tr.Snapshot()
	require.Empty(t, last.Ahead())
	set := last.Set(announced.Set.ID)
	require.NotNil(t, set, "the policy needs another set")
	require.Equal(t, announced.Set.Prefixes, set.Prefixes)
	require.Equal(t, announced.Set.Title, set.Title)
	require.Equal(t, 1, last.PolicyCount())

	again := blocks("again", 0, 500)
	require.False(t, tr.Prepare(again, 3000))
	require.Empty(t, tr.Snapshot().Ahead(), "there is such a set")
}

// TestLittleIsNotAnnounced prepares what needs no large set.
func TestLittleIsNotAnnounced(t *testing.T) {
	tr := translator.New(translator.Options{Budget: small()})
	require.True(t, tr.Prepare(blocks("beyond", 0, 500), 1), "it is beyond its budget")
	tr = translator.New(translator.Options{})
	require.True(t, tr.Prepare(blocks("small", 0, 20), 1))
	require.True(t, tr.Prepare(newPod("web", "10.1.0.1", "web", nil), 1))
	require.Equal(t, intent.Revision(0), tr.Snapshot().Revision())
}

// TestWhatIsAnnouncedIsParsedOnce puts a policy whose sets were announced. That costs the same whatever its size.
func TestWhatIsAnnouncedIsParsedOnce(t *testing.T) {
	growth.Constant(t, 150, func(n int) func() {
		tr := translator.New(translator.Options{PartsOnly: true})
		put(t, tr, newPod("web", "10.1.0.1", "web", nil))
		tr.Snapshot()
		policy := blocks("large", 0, n)
		policy.Spec.Ingress[0].From = policy.Spec.Ingress[0].From[:1]
		require.True(t, tr.Prepare(policy, 1<<20))
		require.Len(t, tr.Snapshot().Ahead(), 1)
		return func() {
			tr.Prepare(nil, 0)
			put(t, tr, policy)
			require.Equal(t, 1, tr.Snapshot().PolicyCount())
		}
	})
}

// TestWhatWasParsedEarlyIsTheSame compares what policies become that were prepared with what they become otherwise.
func TestWhatWasParsedEarlyIsTheSame(t *testing.T) {
	twice := blocks("twice", 0, 400)
	twice.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: blocks("", 7000, 420).Spec.Ingress[0].From}}
	beyond := blocks("beyond", 0, 500)
	beyond.Spec.Ingress = append(beyond.Spec.Ingress, blocks("", 7000, 500).Spec.Ingress...)
	faulty := blocks("faulty", 0, 300)
	faulty.Spec.Ingress[0].From = append(faulty.Spec.Ingress[0].From, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "none"}})
	mixed := blocks("mixed", 0, 300)
	mixed.Spec.Ingress = append(mixed.Spec.Ingress, faulty.Spec.Ingress...)
	for _, policy := range []*networkingv1.NetworkPolicy{blocks("one", 0, 500), twice, beyond, faulty, mixed} {
		t.Run(policy.Name, func(t *testing.T) {
			translated := func(prepare bool) ([]string, []object.Problem) {
				tr := translator.New(translator.Options{PartsOnly: true})
				put(t, tr, newPod("web", "10.1.0.1", "web", nil))
				tr.Snapshot()
				if prepare {
					tr.Prepare(policy, 1)
					tr.Snapshot()
					tr.Prepare(nil, 0)
				}
				put(t, tr, policy)
				return dump(tr.Snapshot()), tr.Problems()
			}
			want, problems := translated(false)
			got, same := translated(true)
			require.Equal(t, want, got)
			require.Equal(t, problems, same)
		})
	}
}
