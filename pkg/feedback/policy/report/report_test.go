package report_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// scene is a cluster whose snapshots a test reports on.
type scene struct {
	*testing.T
	translator *translator.Translator
	now        time.Time
}

func newScene(t *testing.T) *scene {
	s := &scene{T: t, translator: translator.New(translator.Options{}), now: time.Unix(1_900_000_000, 0)}
	s.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	return s
}

func (s *scene) put(o any) { require.NoError(s, s.translator.Put(o)) }

func (s *scene) pod(name, app, addr string) {
	s.put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: addr, PodIPs: []corev1.PodIP{{IP: addr}}},
	})
}

// policy lets one app be reached by another on a port.
func (s *scene) policy(generation int64, from string, port int) report.Policy {
	at := intstr.FromInt(port)
	s.put(&networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Generation: generation, UID: types.UID("uid")},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": from}}}},
				Ports: []networkingv1.NetworkPolicyPort{{Port: &at}},
			}},
		},
	})
	return report.Policy{Namespace: "shop", Name: "db", Generation: generation}
}

// world is the state of the cluster and of these targets.
func (s *scene) world(targets ...report.Target) *report.World {
	snapshot := s.translator.Snapshot()
	s.now = s.now.Add(time.Second)
	return report.NewWorld(report.Facts{
		Facts: state.Facts{Snapshot: snapshot, Problems: s.translator.Problems(), Now: metav1.NewTime(s.now)}, Targets: targets,
		Staged: s.translator.Staged(),
	})
}

// synced is a target in sync with the newest snapshot.
func (s *scene) synced() report.Target {
	return report.Target{
		Target: state.Target{Revision: s.translator.Snapshot().Revision()}, Name: "ovn", Rows: func(*intent.Snapshot, intent.Origin) int { return 3 },
	}
}

func condition(s *v1alpha1.PolicyStatusStatus, typ string) metav1.Condition {
	for _, c := range s.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return metav1.Condition{}
}

func enforced(s *v1alpha1.PolicyStatusStatus) string {
	c := condition(s, v1alpha1.ConditionEnforced)
	return string(c.Status) + " " + c.Reason
}

func TestAPolicyIsEnforcedOnceTheTargetIsInSync(t *testing.T) {
	s := newScene(t)
	s.pod("db-0", "db", "10.0.0.1")
	s.pod("web-0", "web", "10.0.0.2")
	p := s.policy(1, "web", 80)
	first := s.synced()
	w := s.world(first)
	got := w.Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "True Enforced", enforced(&got))
	require.Equal(t, "True Understood", string(condition(&got, v1alpha1.ConditionTranslated).Status)+" "+condition(&got, v1alpha1.ConditionTranslated).Reason)
	require.EqualValues(t, 1, got.EnforcedGeneration)
	require.Equal(t, "1/1", got.EnforcedTargets)
	require.EqualValues(t, 1, got.Subjects)
	require.Equal(t, []v1alpha1.PolicyPeer{{
		Rule: "spec.ingress[0]", Selects: got.Peers[0].Selects, Pods: 1, Addresses: 1,
	}}, got.Peers)
	require.Contains(t, got.Peers[0].Selects, "app=web")
	require.EqualValues(t, 3, got.Targets[0].Rows)
	require.Equal(t, s.now, got.Targets[0].Since.Time)
	require.True(t, w.Settled(&got))

	again := s.world(first).Status(p, &got)
	require.Equal(t, report.Same, report.Compare(&got, &again), "later it says the same, with the same times")

	p = s.policy(2, "web", 81)
	w = s.world(first) // it has not planned for the new snapshot
	behind := w.Status(p, &got)
	require.Equal(t, "False Writing", enforced(&behind))
	require.EqualValues(t, 2, behind.ObservedGeneration)
	require.EqualValues(t, 1, behind.EnforcedGeneration, "the old one is in force")
	require.Equal(t, "0/1", behind.EnforcedTargets)
	require.Equal(t, got.Targets[0].Since, behind.Targets[0].Since)
	require.False(t, w.Settled(&behind))

	done := s.world(s.synced()).Status(p, &behind)
	require.Equal(t, "True Enforced", enforced(&done))
	require.EqualValues(t, 2, done.EnforcedGeneration)
	require.True(t, got.Targets[0].Since.Before(done.Targets[0].Since))
	require.True(t, condition(&got, v1alpha1.ConditionEnforced).LastTransitionTime.Time.Before(condition(&done, v1alpha1.ConditionEnforced).LastTransitionTime.Time))
}

func TestPodsThatComeAreSizesUnlessTheTargetIsInTrouble(t *testing.T) {
	s := newScene(t)
	s.pod("db-0", "db", "10.0.0.1")
	p := s.policy(1, "web", 80)
	first := s.synced()
	had := s.world(first).Status(p, &v1alpha1.PolicyStatusStatus{})
	s.pod("web-0", "web", "10.0.0.2")
	got := s.world(first).Status(p, &had)
	require.Equal(t, report.Sizes, report.Compare(&had, &got))
	require.EqualValues(t, 1, got.Peers[0].Pods)

	first.Trouble = "connection refused"
	got = s.world(first).Status(p, &had)
	require.Equal(t, "False Trouble", enforced(&got), "the pod is not let in")
	require.Equal(t, "ovn: connection refused", condition(&got, v1alpha1.ConditionEnforced).Message)
	first.Stale = true
	got = s.world(first).Status(p, &had)
	require.Equal(t, "Unknown Unreachable", enforced(&got))
	require.EqualValues(t, 1, got.EnforcedGeneration, "as far as is known")
}

// TestANewFamilyConcernsEveryPolicyOfATargetInTrouble has the first pod with an IPv6 address come: rules that were left out before may be
// missing on a target that cannot be written to, whichever policies they are of.
func TestANewFamilyConcernsEveryPolicyOfATargetInTrouble(t *testing.T) {
	s := newScene(t)
	s.pod("db-0", "db", "10.0.0.1")
	p := s.policy(1, "web", 80)
	first := s.synced()
	s.pod("other-0", "other", "fd00::1")
	got := s.world(first).Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "True Enforced", enforced(&got), "the target will soon have them")
	first.Trouble = "connection refused"
	got = s.world(first).Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "False Trouble", enforced(&got))
}

// TestPodsOfASharedPeerAreReported has a list of peers that is a composite set, as with a target that renders parts.
func TestPodsOfASharedPeerAreReported(t *testing.T) {
	s := newScene(t)
	s.translator = translator.New(translator.Options{PartsOnly: true})
	s.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	s.pod("db-0", "db", "10.0.0.1")
	put := func(of string, from ...string) report.Policy {
		var peers []networkingv1.NetworkPolicyPeer
		for _, app := range from {
			peers = append(peers, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}})
		}
		s.put(&networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: of},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": of}},
				Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: peers}},
			},
		})
		return report.Policy{Namespace: "shop", Name: of}
	}
	put("cache", "web")
	p := put("db", "web", "ops")
	first := s.synced()
	w := s.world(first)
	list := w.Snapshot.Policy("NetworkPolicy/shop/db/ingress").Rules[0].Peer.Set
	require.Len(t, w.Snapshot.Set(list).UnionOf, 2)
	had := w.Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Zero(t, had.Peers[0].Pods)

	s.pod("web-0", "web", "10.0.0.2")
	first.Trouble = "connection refused"
	w = s.world(first)
	got := w.Status(p, &had)
	require.EqualValues(t, 1, got.Peers[0].Pods)
	require.Equal(t, "False Trouble", enforced(&got), "the pod is not let in")
	touched, known := w.Snapshot.TouchedSince(first.Revision)
	require.True(t, known)
	require.True(t, slices.ContainsFunc(w.Sets(p), func(id intent.SetID) bool { return touched.Sets[id] }), "the status is looked at again")
}

func TestWhatATargetAlreadyHasIsNotAffectedByTrouble(t *testing.T) {
	s := newScene(t)
	p := s.policy(1, "web", 80)
	target := s.synced()
	target.Trouble = "connection refused"
	got := s.world(target).Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "True Enforced", enforced(&got))
}

func TestProblemsAreNamed(t *testing.T) {
	s := newScene(t)
	s.put(&networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Generation: 1},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/33"}}},
			}},
		},
	})
	p := report.Policy{Namespace: "shop", Name: "db", Generation: 1}
	w := s.world(s.synced())
	got := w.Status(p, &v1alpha1.PolicyStatusStatus{})
	require.EqualValues(t, 1, got.ProblemCount)
	require.Equal(t, "spec.ingress[0].from[0].ipBlock.cidr", got.Problems[0].Field)
	require.Equal(t, metav1.ConditionFalse, condition(&got, v1alpha1.ConditionTranslated).Status)
	require.Contains(t, condition(&got, v1alpha1.ConditionTranslated).Message, "spec.ingress[0].from[0].ipBlock.cidr: ")
	require.Equal(t, "False Problem", enforced(&got))
	require.True(t, got.Targets[0].Enforced, "what was understood is")

	notes := w.Notes(&v1alpha1.PolicyStatusStatus{}, &got)
	require.Len(t, notes, 2)
	require.Equal(t, report.ReasonProblem, notes[0].Reason)
	require.True(t, notes[0].Warning)
	require.Contains(t, notes[0].Message, got.Problems[0].Field)
	require.Empty(t, w.Notes(&got, &got))
}

func TestWhatATargetCannotExpressIsReported(t *testing.T) {
	s := newScene(t)
	p := s.policy(1, "web", 80)
	target := s.synced()
	target.Skips = []backends.Skip{{Intent: "NetworkPolicy/shop/db/ingress", Reason: "no such thing here"}}
	w := s.world(target)
	got := w.Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "False Skipped", enforced(&got))
	require.Contains(t, got.Targets[0].Message, "no such thing here")
	require.True(t, w.Settled(&got), "it stays so")
	notes := w.Notes(&v1alpha1.PolicyStatusStatus{}, &got)
	require.Equal(t, state.Note{Warning: true, Reason: report.ReasonSkipped, Message: "ovn: " + got.Targets[0].Message}, notes[len(notes)-1])
}

// TestARemarkOnWhatIsInEffectIsNoDenial has a target that could not tidy up, for example.
func TestARemarkOnWhatIsInEffectIsNoDenial(t *testing.T) {
	s := newScene(t)
	p := s.policy(1, "web", 80)
	target := s.synced()
	target.Skips = []backends.Skip{{Intent: "NetworkPolicy/shop/db/ingress", Reason: "delete firewall-rule x: it is in use", InEffect: true}}
	w := s.world(target)
	got := w.Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "True Enforced", enforced(&got))
	require.Equal(t, report.ReasonEnforced, got.Targets[0].Reason)
	require.Equal(t, "delete firewall-rule x: it is in use", got.Targets[0].Message)
	for _, n := range w.Notes(&v1alpha1.PolicyStatusStatus{}, &got) {
		require.False(t, n.Warning, n)
	}
}

func TestNothingIsReportedBeforeATargetWasAsked(t *testing.T) {
	s := newScene(t)
	p := s.policy(1, "web", 80)
	require.True(t, s.world(report.Target{Name: "ovn"}).Pending())
	w := s.world(report.Target{Name: "ovn", Target: state.Target{Stale: true, Trouble: "no route"}})
	require.False(t, w.Pending())
	got := w.Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, "Unknown Unreachable", enforced(&got))
	require.Zero(t, got.EnforcedGeneration)
	require.False(t, s.world(s.synced()).Pending())
}

func TestTargetsOfOtherNodesCount(t *testing.T) {
	s := newScene(t)
	p := s.policy(2, "web", 80)
	mine := s.synced()
	mine.Name = "ovn/node-a"
	had := v1alpha1.PolicyStatusStatus{Targets: []v1alpha1.PolicyTarget{
		{Name: "ovn/gone", Generation: 1, Enforced: true, Reason: report.ReasonEnforced},
		{Name: "ovn/node-b", Generation: 1, Enforced: true, Reason: report.ReasonEnforced, Subjects: 4},
	}}
	w := s.world(mine)
	w.Nodes = []string{"node-a", "node-b"}
	got := w.Status(p, &had)
	require.Len(t, got.Targets, 3, "those of others are left as they are")
	require.Equal(t, "1/2", got.EnforcedTargets)
	require.Equal(t, "False Writing", enforced(&got), "node-b has not seen generation 2")
	require.Contains(t, condition(&got, v1alpha1.ConditionEnforced).Message, "ovn/node-b: enforces generation 1")
	require.EqualValues(t, 1, got.EnforcedGeneration)
	require.EqualValues(t, 4, got.Subjects)
	require.Len(t, w.Own(&got), 1)
	require.True(t, w.Settled(&got), "only node-b can report that")
	had.Targets[1].Generation = 2
	w = s.world(mine)
	w.Nodes = []string{"node-a", "node-b"}
	got = w.Status(p, &had)
	require.Equal(t, "True Enforced", enforced(&got))
	require.Equal(t, "2/2", got.EnforcedTargets)
	had.Targets[1].UID = "of a policy that is gone"
	got = w.Status(p, &had)
	require.Equal(t, "False Writing", enforced(&got))
	require.Equal(t, "1/2", got.EnforcedTargets)
	require.Equal(t, "node node-b has not reported yet", condition(&got, v1alpha1.ConditionEnforced).Message)
	require.Zero(t, got.EnforcedGeneration)
}

func TestNotesReportChanges(t *testing.T) {
	s := newScene(t)
	p := s.policy(1, "web", 80)
	first := s.synced()
	w := s.world(first)
	got := w.Status(p, &v1alpha1.PolicyStatusStatus{})
	require.Equal(t, []state.Note{
		{Reason: report.ReasonTranslated, Message: "generation 1 is translated"},
		{Reason: report.ReasonEnforced, Message: "generation 1 is enforced by ovn"},
	}, w.Notes(&v1alpha1.PolicyStatusStatus{}, &got))
	first.Stale = true
	w = s.world(first)
	lost := w.Status(p, &got)
	require.Empty(t, w.Notes(&got, &lost))
	w = s.world(s.synced())
	back := w.Status(p, &lost)
	require.Empty(t, w.Notes(&lost, &back), "this generation was reported")
	require.Equal(t, got.Targets, back.Targets)
}

func TestServicesReportWhereTheyAreLoadBalanced(t *testing.T) {
	s := newScene(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"},
			Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
		},
	}
	key := object.Ref{Kind: object.KindService, Namespace: "shop", Name: "web"}
	before := s.synced()
	got, settled := s.world(before).Service(key, report.Service{})
	require.Empty(t, got.Balanced)
	require.True(t, settled)
	s.put(service)
	got, settled = s.world(before).Service(key, report.Service{})
	require.Empty(t, got.Balanced, "not written yet")
	require.False(t, settled)
	w := s.world(s.synced())
	got, settled = w.Service(key, report.Service{})
	require.True(t, settled)
	require.Equal(t, []state.Note{{Reason: report.ReasonLoadBalanced, Message: "ovn load balances tcp/10.96.0.1:80"}}, got.Notes(report.Service{}))
	again, _ := w.Service(key, got)
	require.Empty(t, again.Notes(got))
	lagging := s.synced()
	lagging.Stale = true
	again, _ = s.world(lagging).Service(key, got)
	require.Equal(t, got, again, "what was reported stays")
}
