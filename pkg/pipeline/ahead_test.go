package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// scattered is a policy of a block without many addresses that are far apart, about as expensive as the budget of one object allows.
func scattered(i int) *networkingv1.NetworkPolicy {
	p := flooding(i)
	block := &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}
	for k := range 700 {
		h := uint32(i*700+k) * 2654435761
		block.Except = append(block.Except, fmt.Sprintf("%d.%d.%d.%d/32", byte(h>>24)|1, byte(h>>16), byte(h>>8), byte(h)))
	}
	p.Spec.Ingress[0].From = []networkingv1.NetworkPolicyPeer{{IPBlock: block}}
	return p
}

// prefixesBetween counts the prefixes that a target has to write that goes from one snapshot to the next: those of sets that are new, as far
// as they were not announced, and those that are announced now.
func prefixesBetween(was, now *intent.Snapshot) int {
	announced := map[intent.SetID]int{}
	for _, a := range was.Ahead() {
		announced[a.Set.ID] = a.Ready
	}
	n := 0
	for set := range now.Sets() {
		if was.Set(set.ID) == nil {
			n += len(set.Prefixes) - announced[set.ID]
		}
	}
	for _, a := range now.Ahead() {
		n += a.Ready - announced[a.Set.ID]
	}
	return n
}

// TestALargePolicyComesInParts has policies of many thousand prefixes come and others change. No snapshot has more than a part of one to
// write, and what others change is in the next one.
func TestALargePolicyComesInParts(t *testing.T) {
	const part, large, others = 500, 3, 20
	src := pipelinetest.New()
	p := newPipeline(t, src)
	p.Follow(func(intent.Revision) bool { return true }) // targets are as quick as can be
	src.Put(pipelinetest.Namespace("shop"))
	src.Sync()
	p.Step()
	was, steps, events := p.Latest(), 0, 0
	p.OnPublish(func(got pipeline.Published) {
		events += len(got.Events)
		require.LessOrEqual(t, prefixesBetween(was, got.Snapshot), part)
		was = got.Snapshot
		steps++
	})
	for i := range large {
		src.Put(scattered(i))
	}
	p.Step()
	for i := range others {
		before := events
		src.Put(pipelinetest.Policy(fmt.Sprint("small", i), "web", "db"))
		p.Step()
		require.NotNil(t, was.Policy(intent.NewPolicyID(intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: fmt.Sprint("small", i)}, intent.Ingress)))
		require.Positive(t, events-before)
	}
	for p.Waits() {
		p.Step()
	}
	require.Equal(t, large+others, was.PolicyCount())
	require.Empty(t, was.Ahead())
	require.Greater(t, steps, large*20, "each came in parts")
	total := 0
	for set := range was.Sets() {
		total += len(set.Prefixes)
	}
	require.Greater(t, total, large*10_000)
}

// TestOthersWaitForNoPartOfALargePolicy changes something of another namespace in every snapshot. Four of five snapshots have nothing of
// the large policy, which goes on nevertheless.
func TestOthersWaitForNoPartOfALargePolicy(t *testing.T) {
	const every, snapshots = 5, 60
	src := pipelinetest.New()
	p := newPipeline(t, src)
	p.Follow(func(intent.Revision) bool { return true })
	src.Put(pipelinetest.Namespace("shop"))
	src.Sync()
	p.Step()
	src.Put(scattered(0))
	p.Step()
	was := p.Latest()
	require.Len(t, was.Ahead(), 1, "nothing else changes: a part at once")
	with := 0
	for i := range snapshots {
		src.Put(pipelinetest.Policy(fmt.Sprint("small", i), "web", "db"))
		p.Step()
		require.Equal(t, i+1, p.Latest().PolicyCount())
		if prefixesBetween(was, p.Latest()) > 0 {
			with++
		}
		was = p.Latest()
	}
	require.Equal(t, snapshots/every, with)
}

// TestALargePolicyThatGoesIsNotAnnounced deletes a policy while it is announced, and changes another one.
func TestALargePolicyThatGoesIsNotAnnounced(t *testing.T) {
	src := pipelinetest.New()
	p := newPipeline(t, src)
	p.Follow(func(intent.Revision) bool { return true })
	src.Put(pipelinetest.Namespace("shop"))
	src.Sync()
	p.Step()
	src.Put(scattered(0))
	p.Step()
	require.Len(t, p.Latest().Ahead(), 1)
	src.Remove(scattered(0))
	changed := scattered(1)
	changed.Spec.Ingress[0].From[0].IPBlock.Except = scattered(2).Spec.Ingress[0].From[0].IPBlock.Except
	src.Put(scattered(1), changed)
	p.Step()
	require.Len(t, p.Latest().Ahead(), 1)
	for p.Waits() {
		p.Step()
	}
	require.Empty(t, p.Latest().Ahead())
	require.Equal(t, 1, p.Latest().PolicyCount())
}

// TestWhatExceedsTheBudgetOfItsNamespaceIsNotAnnounced counts the snapshots that a flood takes of which little fits in its budget. Nothing had
// been charged when all of it was read.
func TestWhatExceedsTheBudgetOfItsNamespaceIsNotAnnounced(t *testing.T) {
	const flood, fit = 300, 2
	src := pipelinetest.New()
	cost := translator.New(translator.Options{}).Estimate(scattered(0))
	p := pipeline.New(src, translator.Options{Shares: budget.All{Policies: budget.Shares{Namespace: fit * cost}}}, pipelinetest.Log(t))
	p.Follow(func(intent.Revision) bool { return true })
	src.Put(pipelinetest.Namespace("shop"))
	src.Sync()
	p.Step()
	steps := 0
	p.OnPublish(func(pipeline.Published) { steps++ })
	for i := range flood {
		src.Put(scattered(i))
	}
	p.Step()
	for p.Waits() {
		p.Step()
	}
	require.Equal(t, flood, p.Latest().PolicyCount())
	require.Less(t, steps, (fit+2)*40+10, "one part for each 500 prefixes of what fits, and of the next one; many of the others in one")
}
