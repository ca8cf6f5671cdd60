package status_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

var (
	scope = intent.Scope{Namespace: "site", Purpose: "cnf"}
	noon  = metav1.NewTime(time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC))
	later = metav1.NewTime(time.Date(2024, 5, 1, 13, 0, 0, 0, time.UTC))
)

// place is a namespace with pods of a CNF and one rule for it.
type place struct {
	*testing.T
	rule     *v1alpha1.Mwan3Rule
	snapshot *intent.Snapshot
	loops    map[intent.CNFID]state.Target
	problems []object.Problem
	now      metav1.Time
}

func newPlace(t *testing.T, pods ...string) *place {
	p := &place{
		T: t, snapshot: intent.NewSnapshot(), loops: map[intent.CNFID]state.Target{}, now: noon,
		rule: &v1alpha1.Mwan3Rule{ObjectMeta: metav1.ObjectMeta{
			Namespace: "site", Name: "web", Generation: 1, ResourceVersion: "10",
			Labels: map[string]string{v1alpha1.LabelPurpose: "cnf"},
		}},
	}
	for i, name := range pods {
		p.change(func(b *intent.Builder) { b.PutCNF(cnf(name, i)) })
	}
	p.translate()
	for _, name := range pods {
		p.reach(name)
	}
	return p
}

func cnf(name string, i int) *intent.CNF {
	return &intent.CNF{
		ID: intent.CNFID("site/" + name), Origin: intent.Origin{Kind: "Pod", Namespace: "site", Name: name},
		Scope: scope, Ready: true, Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), Group: "Deployment/cnf",
	}
}

func (p *place) change(f func(*intent.Builder)) {
	b := p.snapshot.Next()
	f(b)
	p.snapshot = b.Commit()
}

// cnfIs changes a CNF.
func (p *place) cnfIs(name string, change func(*intent.CNF)) {
	g := *p.snapshot.CNF(intent.CNFID("site/" + name))
	change(&g)
	p.change(func(b *intent.Builder) { b.PutCNF(&g) })
}

// translate puts the rule as it is into the snapshot.
func (p *place) translate() {
	origin := intent.Origin{Kind: "Mwan3Rule", Namespace: "site", Name: "web"}
	p.change(func(b *intent.Builder) {
		b.PutDeviceIntent(&intent.DeviceIntent{
			ID: intent.NewDeviceIntentID(scope, origin, ""), Scope: scope, Origin: origin, Generation: p.rule.Generation,
			Gone: p.rule.DeletionTimestamp != nil, Spec: &intent.WANRule{},
		})
	})
}

// reach brings the target of a pod in sync with the snapshot.
func (p *place) reach(name string) {
	p.loops[intent.CNFID("site/"+name)] = state.Target{Revision: p.snapshot.Revision()}
}

// edit makes another generation of the rule.
func (p *place) edit() {
	p.rule.Generation++
	p.rule.ResourceVersion += "1"
}

// remove requests the rule's deletion.
func (p *place) remove() {
	p.edit()
	p.rule.DeletionTimestamp = &later
	p.translate()
}

func (p *place) world() *status.World {
	return status.NewWorld(status.Facts{Facts: state.Facts{Snapshot: p.snapshot, Problems: p.problems, Now: p.now}, Loops: p.loops})
}

// write judges the rule and writes its status.
func (p *place) write() *v1alpha1.SdewanStatus {
	p.Helper()
	v, ok := p.world().Of(p.rule)
	require.True(p, ok)
	p.rule.Finalizers = v.Finalizers
	s, ok := v.Status.(*v1alpha1.SdewanStatus)
	require.True(p, ok)
	p.rule.Status = *s
	return s
}

func ready(s *v1alpha1.SdewanStatus) metav1.Condition { return s.Conditions[1] }

const finalizer = "rule.finalizers.sdewan.akraino.org"

func TestAllPodsHaveIt(t *testing.T) {
	p := newPlace(t, "b", "a")
	s := p.write()
	require.Equal(t, v1alpha1.InSync, s.State)
	require.True(t, s.InSync)
	require.Equal(t, "10", s.AppliedVersion)
	require.EqualValues(t, 1, s.AppliedGeneration)
	require.Equal(t, &noon, s.AppliedTime)
	require.Empty(t, s.Message)
	require.Equal(t, []v1alpha1.PodStatus{
		{Name: "a", IP: "10.0.0.2", State: v1alpha1.InSync, AppliedTime: &noon},
		{Name: "b", IP: "10.0.0.1", State: v1alpha1.InSync, AppliedTime: &noon},
	}, s.Pods)
	require.Equal(t, metav1.ConditionTrue, ready(s).Status)
	require.Equal(t, []string{finalizer}, p.rule.Finalizers)
}

func TestAPodReportsOnWhatIsInEffect(t *testing.T) {
	p := newPlace(t, "a")
	p.loops["site/a"] = state.Target{Revision: p.snapshot.Revision(), Skips: []backends.Skip{
		{Intent: "site/cnf/Mwan3Rule/site/web", Reason: "a copy of it stays", InEffect: true},
	}}
	s := p.write()
	require.True(t, s.InSync)
	require.Equal(t, "a copy of it stays", s.Pods[0].Message)
	require.Equal(t, v1alpha1.InSync, s.Pods[0].State)
}

func TestTheTimeOfTheConditionStandsUntilItChanges(t *testing.T) {
	p := newPlace(t, "a")
	first := *p.write()
	p.now = later
	p.rule.ResourceVersion = "11" // a write of the status itself
	v, _ := p.world().Of(p.rule)
	differs, finalizers := v.Differs(p.rule)
	require.False(t, differs || finalizers)

	p.edit()
	p.translate()
	s := p.write()
	require.Equal(t, v1alpha1.Applying, s.State)
	require.Equal(t, "pod a: not written yet", s.Message)
	require.Empty(t, s.AppliedVersion)
	require.Nil(t, s.AppliedTime)
	require.Equal(t, later, ready(s).LastTransitionTime)
	require.Equal(t, first.Conditions[0].LastTransitionTime, s.Conditions[0].LastTransitionTime, "it is still understood")
	p.reach("a")
	s = p.write()
	require.Equal(t, &later, s.AppliedTime)
	require.Equal(t, &later, s.Pods[0].AppliedTime)
	require.EqualValues(t, 2, s.AppliedGeneration)
}

func TestForeignChangesAreNotItsOwn(t *testing.T) {
	p := newPlace(t, "a")
	other := intent.Origin{Kind: "Mwan3Rule", Namespace: "site", Name: "web2"}
	p.change(func(b *intent.Builder) {
		b.PutDeviceIntent(&intent.DeviceIntent{ID: intent.NewDeviceIntentID(scope, other, ""), Scope: scope, Origin: other, Spec: &intent.WANRule{}})
	})
	require.Equal(t, v1alpha1.InSync, p.write().State)
}

func TestWhatTheSnapshotDoesNotKnowYetIsNotJudged(t *testing.T) {
	p := newPlace(t, "a")
	p.edit()
	_, ok := p.world().Of(p.rule)
	require.False(t, ok)
	p = newPlace(t, "a")
	p.rule.DeletionTimestamp = &later
	_, ok = p.world().Of(p.rule)
	require.False(t, ok, "no target has been asked to remove it yet")
	_, ok = p.world().Of(&v1alpha1.CNFStatus{})
	require.False(t, ok)
}

func TestWhyItIsNotInSync(t *testing.T) {
	for _, tc := range []struct {
		name        string
		change      func(*place)
		wantState   v1alpha1.State
		wantReason  string
		wantMessage string
	}{
		{"a pod is not ready", func(p *place) {
			p.cnfIs("b", func(g *intent.CNF) { g.Ready = false })
			p.reach("a")
		}, v1alpha1.Applying, status.ReasonNotReady, "pod b: the pod is not ready"},
		{"a pod has no address", func(p *place) {
			p.cnfIs("b", func(g *intent.CNF) { g.Addr = netip.Addr{} })
			p.reach("a")
		}, v1alpha1.Applying, status.ReasonNotReady, "pod b: the pod has no address"},
		{"two CNFs have the purpose", func(p *place) {
			p.cnfIs("a", func(g *intent.CNF) { g.Conflict = "two workloads" })
			p.cnfIs("b", func(g *intent.CNF) { g.Conflict = "two workloads" })
		}, v1alpha1.Unknown, status.ReasonConflict, "two workloads"},
		{"a pod was never written to", func(p *place) {
			delete(p.loops, "site/b")
		}, v1alpha1.Applying, status.ReasonWriting, "pod b: not written yet"},
		{"a pod cannot be reached", func(p *place) {
			p.loops["site/b"] = state.Target{Trouble: "connection refused", Stale: true}
		}, v1alpha1.Applying, status.ReasonTrouble, "pod b: connection refused"},
		{"a pod that had it has been out of reach for long", func(p *place) {
			p.loops["site/b"] = state.Target{Revision: p.snapshot.Revision(), Trouble: "no answer", Stale: true}
		}, v1alpha1.Applying, status.ReasonTrouble, "pod b: no answer"},
		{"a pod does not take it", func(p *place) {
			p.loops["site/b"] = state.Target{Revision: p.snapshot.Revision(), Skips: []backends.Skip{
				{Intent: "site/cnf/Mwan3Rule/site/web", Reason: "no such policy"},
			}}
		}, v1alpha1.Applying, status.ReasonRefused, "pod b: no such policy"},
		{"it could not be understood", func(p *place) {
			p.problems = []object.Problem{{Ref: object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: "web"}, Field: "spec.proto", Message: "gre"}}
		}, v1alpha1.Applying, status.ReasonNotAccepted, "spec.proto: gre"},
		{"the interfaces of a pod have changed", func(p *place) {
			p.cnfIs("b", func(g *intent.CNF) { g.Networks = map[string]string{"a": "net1"} })
			p.reach("a")
		}, v1alpha1.Applying, status.ReasonWriting, "pod b: not written yet"},
		{"there is no CNF", func(p *place) {
			p.change(func(b *intent.Builder) {
				b.DropCNF("site/a")
				b.DropCNF("site/b")
			})
		}, "", status.ReasonNoCNF, "no CNF has the purpose cnf in namespace site"},
		{"it is for no CNF", func(p *place) { p.rule.Labels = nil }, "", status.ReasonNoPurpose, "the label sdewanPurpose is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t, "a", "b")
			p.write()
			tc.change(p)
			s := p.write()
			require.Equal(t, tc.wantState, s.State)
			require.False(t, s.InSync)
			require.Empty(t, s.AppliedVersion)
			require.Equal(t, tc.wantMessage, s.Message)
			require.Equal(t, tc.wantReason, ready(s).Reason)
			require.Equal(t, metav1.ConditionFalse, ready(s).Status)
			accepted := metav1.ConditionTrue
			if tc.wantReason == status.ReasonNotAccepted {
				accepted = metav1.ConditionFalse
			}
			require.Equal(t, accepted, s.Conditions[0].Status)
		})
	}
}

func TestAMomentOutOfReachChangesNothing(t *testing.T) {
	p := newPlace(t, "a")
	p.write()
	p.loops["site/a"] = state.Target{Revision: p.snapshot.Revision(), Trouble: "no answer"}
	require.Equal(t, v1alpha1.InSync, p.write().State)
}

func TestALeavingPodIsNotWaitedFor(t *testing.T) {
	p := newPlace(t, "a", "b")
	p.cnfIs("b", func(g *intent.CNF) { g.Leaving, g.Ready = true, false })
	p.reach("a")
	s := p.write()
	require.Equal(t, v1alpha1.InSync, s.State)
	require.Len(t, s.Pods, 1)
}

func TestAnObjectGoesWhenNoPodHasIt(t *testing.T) {
	p := newPlace(t, "a", "b")
	p.write()
	p.cnfIs("b", func(g *intent.CNF) { g.Ready = false })
	p.remove()
	s := p.write()
	require.Equal(t, v1alpha1.Deleting, s.State)
	require.Equal(t, "waiting for pod a: not written yet; pod b: the pod is not ready", s.Message)
	p.reach("a")
	require.Equal(t, "waiting for pod b: the pod is not ready", p.write().Message)
	require.Equal(t, []string{finalizer}, p.rule.Finalizers)

	p.cnfIs("b", func(g *intent.CNF) { g.Ready = true })
	p.reach("a")
	require.Equal(t, []string{finalizer}, p.rule.Finalizers, "what the pod has is unknown until it is read back")
	p.write()
	require.Equal(t, []string{finalizer}, p.rule.Finalizers)
	p.reach("b")
	p.rule.Finalizers = append(p.rule.Finalizers, "others.example.org")
	p.write()
	require.Equal(t, []string{"others.example.org"}, p.rule.Finalizers)
}

func TestADeviceThatKeepsAnObjectDelaysItsDeletion(t *testing.T) {
	p := newPlace(t, "a")
	p.write()
	p.remove()
	p.reach("a")
	l := p.loops["site/a"]
	l.Skips = []backends.Skip{{Intent: "site/cnf/Mwan3Rule/site/web", Reason: "policy is used"}}
	p.loops["site/a"] = l
	require.Equal(t, "waiting for pod a: policy is used", p.write().Message)
	require.Equal(t, []string{finalizer}, p.rule.Finalizers)
}

func TestAnObjectThatWasNeverUnderstoodGoesOnceNothingOfItIsLeft(t *testing.T) {
	p := newPlace(t, "a")
	p.write()
	p.edit()
	p.rule.DeletionTimestamp = &later
	p.change(func(b *intent.Builder) { b.DropDeviceIntent("site/cnf/Mwan3Rule/site/web") })
	p.write()
	require.Equal(t, []string{finalizer}, p.rule.Finalizers)
	p.reach("a")
	p.write()
	require.Empty(t, p.rule.Finalizers)
}

func TestEveryPartOfAnObjectHasToGo(t *testing.T) {
	p := newPlace(t, "a")
	p.write()
	part := intent.DeviceIntentID("site/cnf/Mwan3Rule/site/web/1")
	p.change(func(b *intent.Builder) {
		b.PutDeviceIntent(&intent.DeviceIntent{ID: part, Scope: scope, Spec: &intent.WANRule{}})
	})
	p.remove()
	p.reach("a")
	p.change(func(b *intent.Builder) { b.DropDeviceIntent(part) })
	p.write()
	require.Equal(t, []string{finalizer}, p.rule.Finalizers)
	p.reach("a")
	p.write()
	require.Empty(t, p.rule.Finalizers)
}

func TestWithoutACNFAnObjectGoesAtOnce(t *testing.T) {
	for name, change := range map[string]func(*place){
		"no pod": func(p *place) { p.change(func(b *intent.Builder) { b.DropCNF("site/a") }) },
		"only one that leaves": func(p *place) {
			p.cnfIs("a", func(g *intent.CNF) { g.Leaving = true })
		},
		"no purpose": func(p *place) { p.rule.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "a")
			p.write()
			change(p)
			p.remove()
			require.Equal(t, v1alpha1.Deleting, p.write().State)
			require.Empty(t, p.rule.Finalizers)
		})
	}
}

func TestAnApplicationIsBehindWhileItsSetIs(t *testing.T) {
	p := newPlace(t, "a")
	p.change(func(b *intent.Builder) { b.CreateSet(&intent.Set{ID: "pods"}) })
	app := &v1alpha1.SdewanApplication{ObjectMeta: metav1.ObjectMeta{
		Namespace: "site", Name: "app", Labels: map[string]string{v1alpha1.LabelPurpose: "cnf"},
	}}
	origin := intent.Origin{Kind: "SdewanApplication", Namespace: "site", Name: "app"}
	p.change(func(b *intent.Builder) {
		b.PutDeviceIntent(&intent.DeviceIntent{
			ID: intent.NewDeviceIntentID(scope, origin, ""), Scope: scope, Origin: origin, Spec: &intent.Application{Sources: "pods"},
		})
	})
	p.reach("a")
	state := func() v1alpha1.State {
		v, ok := p.world().Of(app)
		require.True(t, ok)
		s, _ := v.Status.(*v1alpha1.SdewanStatus)
		return s.State
	}
	require.Equal(t, v1alpha1.InSync, state())
	p.change(func(b *intent.Builder) {
		b.UpdateMembers(nil, intent.SetDelta{ID: "pods", AddrsAdded: []netip.Addr{netip.MustParseAddr("10.1.1.1")}})
	})
	require.Equal(t, v1alpha1.Applying, state())
	p.reach("a")
	require.Equal(t, v1alpha1.InSync, state())
}

func TestASecretInTheOpenIsWarnedAbout(t *testing.T) {
	p := newPlace(t, "a")
	site := &v1alpha1.IpsecSite{ObjectMeta: p.rule.ObjectMeta}
	site.Spec.PreSharedKey = "hush"
	v, ok := p.world().Of(site)
	require.True(t, ok)
	s, _ := v.Status.(*v1alpha1.SdewanStatus)
	require.Equal(t, metav1.ConditionTrue, s.Conditions[0].Status)
	require.Equal(t, status.ReasonPlainSecret, s.Conditions[0].Reason)
	require.Contains(t, s.Conditions[0].Message, "pre_shared_key can be read by everyone")
	require.Equal(t, status.ReasonPlainSecret, v.Notes[0].Reason)
	require.True(t, v.Notes[0].Warning)
	require.NotContains(t, s.Conditions[0].Message, "hush")
}

func TestNotesAreRecordedOnce(t *testing.T) {
	p := newPlace(t, "a")
	v, _ := p.world().Of(p.rule)
	require.Equal(t, []state.Note{{Reason: "Applied", Message: "all pods of the CNF have it: a"}}, v.Notes)
	p.write()
	v, _ = p.world().Of(p.rule)
	require.Empty(t, v.Notes)
	p.remove()
	v, _ = p.world().Of(p.rule)
	require.Equal(t, []state.Note{{Reason: "Deleting", Message: "waiting for pod a: not written yet"}}, v.Notes)
}

func TestEveryKindHasItsFinalizer(t *testing.T) {
	for _, r := range v1alpha1.Resources() {
		if r.Kind == "CNFStatus" {
			require.Empty(t, status.Finalizer(r.Kind))
			continue
		}
		require.Contains(t, status.Finalizer(r.Kind), ".finalizers.sdewan.akraino.org", r.Kind)
	}
	for kind, want := range map[string]string{
		"IpsecSite": "ipsec.site", "IpsecHost": "ipsec.host", "NetworkFirewallRule": "networkfirewallrule", "CNFRoute": "rule",
		"CNFHubSite": "cnfhubsite", "FirewallSNAT": "snat", "IpsecProposal": "proposal",
	} {
		require.Equal(t, want+".finalizers.sdewan.akraino.org", status.Finalizer(kind))
	}
}
