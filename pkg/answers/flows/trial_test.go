package flows_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/inputs/acllog/acllogtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// stagedShop has a policy in force for db, an edit of it that lets in other pods, and one that would isolate web.
const stagedShop = shop + `
---
apiVersion: v1
kind: Pod
metadata: {name: api-0, namespace: shop, labels: {app: api}}
status: {podIP: 10.0.0.3}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db-staged, namespace: shop, annotations: {netloom.io/enforcement: staged, netloom.io/stages: db}}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 5432}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop, annotations: {netloom.io/enforcement: staged}}
spec: {podSelector: {matchLabels: {app: web}}}
`

func judgeOf(t testing.TB, text string) *flows.Judge {
	t.Helper()
	objects := answerstest.ObjectsOf(t, text)
	state := answerstest.StateOf(t, objects)
	promotion := world.Promote(slices.Values(objects))
	if state.Staged = promotion.Staged; len(state.Staged) > 0 {
		promoted := slices.DeleteFunc(objects, func(o runtime.Object) bool {
			ref, ok := world.PolicyRef(o)
			_, staged := state.StagedAs(ref)
			return ok && (staged || slices.Contains(promotion.Removed, ref))
		})
		would := answerstest.StateOf(t, append(promoted, promotion.Put...))
		state.WouldBe = func() world.State { return would }
	}
	return flows.NewJudge(world.New(state), ovn.LogNames(state.Snapshot))
}

// seen is a line of the ACL that observes ingress.
func seen(at time.Time, src, dst string, port int) []byte {
	return []byte(acllogtest.Line(at, ovn.StagedLogName(intent.Ingress), acllog.Pass, src, dst, port))
}

// TestATrialCountsWhatWouldBeDifferent counts connections that a staged policy would deny or allow, those that change nothing, and none
// that are about others.
func TestATrialCountsWhatWouldBeDifferent(t *testing.T) {
	trial := flows.NewTrial(judgeOf(t, stagedShop))
	ref := func(name string) object.Ref {
		return object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: name}
	}
	require.Equal(t, []flows.Tried{
		{Policy: "NetworkPolicy/shop/db-staged", Ref: ref("db-staged")}, {Policy: "NetworkPolicy/shop/web", Ref: ref("web")},
	}, trial.Report())
	later := noon.Add(time.Hour)
	fresh := trial.Line(seen(noon, "10.0.0.3", "10.0.0.2", 5432), later)
	require.Equal(t, []flows.Difference{{
		Policy: "NetworkPolicy/shop/db-staged", Rule: flows.Isolation, From: "shop/api-0", To: "shop/db-0", Port: "tcp/5432",
		Direction: intent.Ingress, Would: flows.Denied,
	}}, fresh, "the policy in force allows it")
	require.Empty(t, trial.Line(seen(later, "10.0.0.3", "10.0.0.2", 5432), later), "it is not new any more")
	require.Len(t, trial.Line(seen(noon, "10.0.0.1", "10.0.0.2", 5432), later), 1, "the policy in force denies it")
	require.Empty(t, trial.Line(seen(noon, "10.0.0.1", "10.0.0.2", 80), later), "denied either way")
	require.Len(t, trial.Line(seen(noon, "203.0.113.9", "10.0.0.1", 80), later), 1)
	require.Empty(t, trial.Line(seen(noon, "10.0.0.2", "10.0.0.3", 80), later), "no staged policy selects it")
	require.Empty(t, trial.Line([]byte("a line of another module"), later))

	got := trial.Report()
	require.Len(t, got, 2)
	db := got[0]
	require.EqualValues(t, 4, db.Connections)
	require.Equal(t, []time.Time{noon, later}, []time.Time{db.First, db.Last})
	require.Equal(t, "4 connections, 1 flow would be denied, 1 flow would be allowed", db.Summary())
	require.Equal(t, []flows.TriedFlow{
		{From: "shop/api-0", To: "shop/db-0", Port: "tcp/5432", Direction: "ingress", Would: flows.Denied, Rule: flows.Isolation, Count: 2, First: noon, Last: later},
		{From: "shop/web-0", To: "shop/db-0", Port: "tcp/5432", Direction: "ingress", Would: flows.Allowed, Rule: "spec.ingress[0]", Count: 1, First: noon, Last: noon},
	}, db.Flows)
	require.Equal(t, "203.0.113.9", got[1].Flows[0].From)

	trial.Use(judgeOf(t, shop))
	require.Empty(t, trial.Report())
	trial.Use(judgeOf(t, stagedShop))
	require.Zero(t, trial.Report()[0].Connections, "nothing stays of a policy that was not staged in between")
}

// TestALogOfItsOwnCountsOnlyAlone: an ACL that decides and has a log writes a line for later packets too, beside the one that observes.
func TestALogOfItsOwnCountsOnlyAlone(t *testing.T) {
	trial := flows.NewTrial(judgeOf(t, stagedShop))
	logged := []byte(acllogtest.Line(noon, "shop/db ingress[0]", acllog.Allow, "10.0.0.3", "10.0.0.2", 5432))
	require.Len(t, trial.Line(logged, noon), 1)
	trial.Line(logged, noon)
	require.EqualValues(t, 2, trial.Report()[0].Flows[0].Count)
	trial.Line(seen(noon, "10.0.0.3", "10.0.0.2", 5432), noon)
	require.EqualValues(t, 1, trial.Report()[0].Flows[0].Count)
	require.EqualValues(t, 1, trial.Report()[0].Connections)
}

// TestATrialIsBounded sends flows from ever more addresses: a policy keeps some of them, and counts all.
func TestATrialIsBounded(t *testing.T) {
	trial := flows.NewTrial(judgeOf(t, stagedShop))
	const sent = 2000
	for i := range sent {
		trial.Line(seen(noon, fmt.Sprintf("198.51.%d.%d", i>>8, i&255), "10.0.0.1", 80), noon)
	}
	web := trial.Report()[1]
	require.Len(t, web.Flows, 256)
	require.EqualValues(t, sent-256, web.Other)
	require.EqualValues(t, sent, web.Connections)
	require.Contains(t, web.Summary(), "256 flows would be denied, and more")
}

// TestAnObservedConnectionIsNoFlow: the ACL that observes decides nothing, whatever its action says.
func TestAnObservedConnectionIsNoFlow(t *testing.T) {
	e := entry(ovn.StagedLogName(intent.Ingress), "10.0.0.1", "10.0.0.2", 5432)
	e.Verdict = acllog.Allow
	_, ok := guide(t).Key(&e)
	require.False(t, ok)
}
