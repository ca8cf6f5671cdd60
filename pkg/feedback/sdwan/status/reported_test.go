package status_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// restarted judges the rule as a process does that has asked no CNF yet, but for some.
func (p *place) restarted(asked ...string) *v1alpha1.SdewanStatus {
	p.Helper()
	loops := map[intent.CNFID]state.Target{}
	known := map[intent.CNFID]bool{}
	for _, name := range asked {
		id := intent.CNFID("site/" + name)
		loops[id], known[id] = p.loops[id], true
	}
	v, ok := status.NewWorld(status.Facts{
		Facts:  state.Facts{Snapshot: p.snapshot, Problems: p.problems, Now: later},
		Loops:  loops,
		Unread: func(id intent.CNFID) bool { return !known[id] },
	}).Of(p.rule)
	require.True(p, ok)
	s, ok := v.Status.(*v1alpha1.SdewanStatus)
	require.True(p, ok)
	return s
}

func TestReportedStatusStandsUntilACNFWasAsked(t *testing.T) {
	p := newPlace(t, "a", "b")
	before := *p.write()
	require.Equal(t, v1alpha1.InSync, before.State)
	require.Equal(t, &before, p.restarted())
	require.Equal(t, &before, p.restarted("a"))

	p.loops["site/b"] = state.Target{Trouble: "no route"}
	require.Equal(t, "pod b: no route", p.restarted("a", "b").Message)
	require.Equal(t, v1alpha1.InSync, p.restarted("a", "b").Pods[0].State)

	p.problems = []object.Problem{{Ref: object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: "web"}, Message: "odd"}}
	require.Equal(t, status.ReasonNotAccepted, ready(p.restarted()).Reason, "what is known of the object itself is reported")
	p.problems = nil

	p.change(func(b *intent.Builder) { b.SetUnknown(intent.AreaDevices) })
	require.Equal(t, v1alpha1.Applying, p.restarted().State, "nothing is written now")
}

func TestTheStatusOfAnotherPodOrGenerationDoesNotStand(t *testing.T) {
	for name, change := range map[string]func(*place){
		"edited":          func(p *place) { p.edit(); p.translate() },
		"other address":   func(p *place) { p.cnfIs("b", func(g *intent.CNF) { g.Addr = netip.MustParseAddr("10.9.9.9") }) },
		"further replica": func(p *place) { p.change(func(b *intent.Builder) { b.PutCNF(cnf("c", 2)) }) },
		"not ready":       func(p *place) { p.cnfIs("b", func(g *intent.CNF) { g.Ready = false }) },
		"said nothing":    func(p *place) { p.rule.Status = v1alpha1.SdewanStatus{} },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "a", "b")
			p.write()
			change(p)
			require.Equal(t, v1alpha1.Applying, p.restarted().State)
		})
	}
}

func TestARefusalStandsUntilTheCNFWasAsked(t *testing.T) {
	p := newPlace(t, "a", "b")
	p.loops["site/b"] = state.Target{Revision: p.snapshot.Revision(), Skips: []backends.Skip{
		{Intent: "site/cnf/Mwan3Rule/site/web", Reason: "no such policy"},
	}}
	before := *p.write()
	require.Equal(t, status.ReasonRefused, ready(&before).Reason)
	require.Equal(t, &before, p.restarted())
	require.Equal(t, &before, p.restarted("b"))
}
