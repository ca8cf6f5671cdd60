package tungsten_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// TestEveryRuleLeadsBack compares what is explained without a controller with what a controller has, for every rule.
func TestEveryRuleLeadsBack(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	e := tungsten.NewExplainer("a")
	var _ backends.Explainer = e
	total := 0
	for p := range snap.Policies() {
		rows, err := r.backend.ReadRows(t.Context(), p.Origin.Ref())
		require.NoError(t, err)
		var read []string
		for _, row := range rows {
			if row.Table == "firewall-rule" {
				require.Equal(t, "spec", row.Rule)
				read = append(read, row.Name)
			}
		}
		var explained []string
		for _, row := range e.PolicyRows(snap, p.Origin) {
			explained = append(explained, row.Name)
			trails, err := r.backend.Trails(t.Context(), row.Name)
			require.NoError(t, err)
			require.Equal(t, []string{p.Origin.Ref().Path() + " spec"}, trails[0].Origins)
			require.NotContains(t, row.Match, "label=", "sets are called by their titles")
		}
		require.ElementsMatch(t, explained, read, p.ID)
		require.Equal(t, len(read), r.backend.CountRows(snap, p.Origin))
		total += len(read)
	}
	const fixed = 4 // isolation and rest, for each direction
	require.Equal(t, total+fixed, e.Estimate(snap).ACLs)
	_, err := r.backend.Trails(t.Context(), "nothing")
	require.ErrorIs(t, err, backends.ErrNoRow)
}

// TestDecidingRows asks for the rule behind every decision.
func TestDecidingRows(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	e := tungsten.NewExplainer("a")
	decided := 0
	for _, f := range backendtest.Probes(s) {
		v := snap.Evaluate(f)
		for d, by := range map[intent.Direction][]intent.RuleRef{intent.Ingress: v.Ingress.By, intent.Egress: v.Egress.By} {
			seen := map[string]bool{}
			for _, row := range e.DecidingRows(snap, &f, d, by) {
				require.False(t, seen[row.UUID], "%s decides once", row.Name)
				seen[row.UUID] = true
				trails, err := r.backend.Trails(t.Context(), row.UUID)
				require.NoError(t, err)
				require.Equal(t, row.Name, trails[0].Name)
				decided++
			}
		}
		if decided > 40 {
			break
		}
	}
	require.Positive(t, decided)
}

// TestDecidingRowsOfAService asks for the rules behind connections to a Service, and to the pod behind it.
func TestDecidingRowsOfAService(t *testing.T) {
	c := cluster{
		sets:     map[intent.SetID][]int{"web": {0}, "api": {2}, intent.IsolatedIngress: {0}},
		policies: []intent.Policy{policy("np", intent.Ingress, "web", rule(intent.Allow, "api", tcp(8080, 8080)))},
	}
	s := with(c, balancer("shop", cluster80(8080, 0)))
	target := tungstentest.NewTarget(t)
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	e := tungsten.NewExplainer("a")
	matches := map[string]string{}
	for _, row := range e.PolicyRows(snap, s.Policies[0].Origin) {
		matches[row.Name] = row.Match
	}
	require.Len(t, matches, 2, "one for the Service, one for its pod")
	party := func(i int) intent.Party { return intent.Party{Key: podKey(i), Addr: s.Endpoints[i].Addrs[0]} }
	for _, from := range []int{1, 2} {
		var names []string
		for _, f := range []intent.Flow{
			{Src: party(from), Dst: party(0), Protocol: intent.TCP, Port: 8080},
			{Src: party(from), Dst: intent.Party{Addr: serviceVIP}, Protocol: intent.TCP, Port: 80},
		} {
			v := snap.Evaluate(f)
			require.Equal(t, from == 2, v.Allowed)
			rows := e.DecidingRows(snap, &f, intent.Ingress, v.Ingress.By)
			require.Len(t, rows, 1)
			_, err := r.backend.Trails(t.Context(), rows[0].UUID)
			require.NoError(t, err, "the target has it")
			names = append(names, rows[0].Name)
		}
		require.NotEqual(t, names[0], names[1], "the vrouter decides before it translates the address of a Service")
		if from == 2 {
			require.Contains(t, matches[names[1]], "[addresses of Services]")
			require.NotContains(t, matches[names[0]], "Services")
		}
	}
}

// TestKeptObjects takes policies and pods away without intent: what they had stays until it is released.
func TestKeptObjects(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	whole := target.DumpOwner(t, "a")

	less := *s
	less.Policies = nil
	r = newRig(t, target, "a")
	lost := backendtest.Advance(snap, &less)
	p, err := r.backend.Plan(t.Context(), lost, 0)
	require.NoError(t, err)
	require.Positive(t, p.Objects["NetworkPolicy"])
	require.Contains(t, p.Lost, object.Ref{Kind: "NetworkPolicy", Namespace: "red", Name: "p"})
	require.True(t, slices.ContainsFunc(p.Lost, func(o object.Ref) bool { return o.Kind == backends.KindPort }))

	r.backend.Keep(p.Lost)
	r.sync(t, &less, lost)
	for _, f := range backendtest.Probes(s) {
		require.Equal(t, snap.Evaluate(f).Allowed, target.Verdict(t, f).Allowed, backendtest.FlowText(f))
	}
	p, err = r.backend.Plan(t.Context(), lost, 0)
	require.NoError(t, err)
	require.True(t, p.Empty(), "%v", p.Summary())
	require.NotEmpty(t, p.Kept)

	r.backend.Keep(nil)
	r.reached = 0
	r.sync(t, s, snap)
	require.Equal(t, whole, target.DumpOwner(t, "a"))
}

// TestCoverage has pods without an interface: they are counted and named, and found once they have one.
func TestCoverage(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	r, snap := newRig(t, target, "a"), s.Snapshot()
	target.Prepare(t, s.Endpoints[:2], nil)
	_, err := r.try(t, snap)
	require.NoError(t, err)
	c, known := r.backend.Coverage()
	require.True(t, known)
	require.Equal(t, []int{4, 2}, []int{c.Selected, c.Missing.Len()})
	require.Contains(t, c.Faults()[0], "red/p-2 (no interface of kube-manager)")
	target.Prepare(t, s.Endpoints, nil)
	<-r.backend.Wake()
	_, err = r.try(t, snap)
	require.NoError(t, err)
	c, _ = r.backend.Coverage()
	require.True(t, c.Complete())
	r.judge(t, s, snap)
}

// TestCoverageFollowsChanges compares what is counted from changes with what another backend counts from scratch: labels change, pods
// come and go, and interfaces appear late.
func TestCoverageFollowsChanges(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3, 4} {
		target := tungstentest.NewTarget(t)
		w := backendtest.NewWorld(seed)
		r, snap := newRig(t, target, "a"), intent.NewSnapshot()
		followed := 0
		for i := range 40 {
			if w.Relabel(); i%7 == 6 {
				w.Step()
			}
			s := w.State()
			if i%5 == 4 {
				target.Prepare(t, s.Endpoints[:len(s.Endpoints)/2], nil)
				r.reached = 0 // the change stream may deliver them later
			}
			snap = backendtest.Advance(snap, s)
			p, err := r.try(t, snap)
			require.NoError(t, err)
			if !p.Full {
				followed++
			}
			got, known := r.backend.Coverage()
			require.True(t, known)
			fresh := newRig(t, target, "a")
			_, err = fresh.backend.Plan(t.Context(), snap, 0)
			require.NoError(t, err)
			want, _ := fresh.backend.Coverage()
			require.Equal(t, want.Selected, got.Selected, "seed %d step %d", seed, i)
			require.Equal(t, slices.Collect(want.Missing.All()), slices.Collect(got.Missing.All()), "seed %d step %d", seed, i)
		}
		require.Positive(t, followed)
	}
}
