package translator_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/sdwan"
)

// newCNF is a ready pod of a workload of the namespace shop; "" is none.
func newCNF(name, address, kind, owner string) *corev1.Pod {
	p := newPod(name, address, "cnf", nil)
	p.UID = "u"
	p.Labels[v1alpha1.LabelPurpose] = "cnf1"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if kind != "" {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &yes}}
	}
	return p
}

// with is a pod with something changed.
func with(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	p = p.DeepCopy()
	change(p)
	return p
}

// TestCNFFollowsItsPod changes one thing of a pod after another.
func TestCNFFollowsItsPod(t *testing.T) {
	pod := newCNF("cnf-0", "10.0.0.1", "StatefulSet", "cnf")
	tr, s := start(t, pod)
	require.True(t, s.CNF("shop/cnf-0").Writable())
	for _, step := range []struct {
		name   string
		change func(*corev1.Pod)
		is     func(*intent.CNF) bool // nil: nothing changes
	}{
		{"another label and condition", func(p *corev1.Pod) {
			p.Labels["x"] = "y"
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled})
		}, nil},
		{"not ready", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, func(g *intent.CNF) bool { return !g.Ready && !g.Writable() }},
		{"ready before it runs", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, func(g *intent.CNF) bool { return !g.Ready }},
		{"leaving", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, func(g *intent.CNF) bool { return g.Leaving && !g.Writable() }},
		{"no address", func(p *corev1.Pod) { p.Status.PodIPs = nil }, func(g *intent.CNF) bool { return !g.Addr.IsValid() && !g.Writable() }},
		{"no address of IPv4", func(p *corev1.Pod) { p.Status.PodIPs[0].IP = "fd00::1" }, func(g *intent.CNF) bool { return !g.Writable() }},
		{"a container started again", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: 1}}
		}, func(g *intent.CNF) bool { return g.Run == "u app=1" }},
		{"a container that never did", func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app"}} }, nil},
		{"another pod of the name", func(p *corev1.Pod) { p.UID = "v" }, func(g *intent.CNF) bool { return g.Run == "v" }},
		{"on the host's network", func(p *corev1.Pod) { p.Spec.HostNetwork = true }, nil},
		{"finished", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, func(g *intent.CNF) bool { return g == nil }},
		{"without the label", func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelPurpose) }, func(g *intent.CNF) bool { return g == nil }},
		{"for another CNF", func(p *corev1.Pod) { p.Labels[v1alpha1.LabelPurpose] = "cnf2" }, func(g *intent.CNF) bool { return g.Scope.Purpose == "cnf2" }},
	} {
		put(t, tr, with(pod, step.change))
		now := tr.Snapshot()
		if step.is == nil {
			require.Same(t, s.CNF("shop/cnf-0"), now.CNF("shop/cnf-0"), step.name)
		} else {
			require.True(t, step.is(now.CNF("shop/cnf-0")), step.name)
			c := only(t, s, now)
			require.Equal(t, []intent.CNFID{"shop/cnf-0"}, c.CNFs, step.name)
		}
		put(t, tr, pod)
		s = tr.Snapshot()
		require.True(t, s.CNF("shop/cnf-0").Writable(), step.name)
	}
	tr.Remove(object.KindPod, "shop", "cnf-0")
	put(t, tr, pod)
	require.Same(t, s, tr.Snapshot(), "there and back between two snapshots")
	tr.Remove(object.KindPod, "shop", "cnf-0")
	require.Nil(t, tr.Snapshot().CNF("shop/cnf-0"))
	require.True(t, translator.Empty(tr))
}

// TestCNFIsAnEndpointToo leaves the pod what it is to NetworkPolicies.
func TestCNFIsAnEndpointToo(t *testing.T) {
	tr, s := start(t, newCNF("cnf-0", "10.0.0.1", "", ""), newPolicy(t, "np", `{podSelector: {matchLabels: {app: cnf}}}`))
	require.Equal(t, 1, s.Set(intent.IsolatedIngress).Len())
	_, ok := tr.View().Endpoint(object.Key{Namespace: "shop", Name: "cnf-0"})
	require.True(t, ok)
}

func TestOneWorkloadForOnePurpose(t *testing.T) {
	replicaSet := func(name, hash string) *corev1.Pod {
		return with(newCNF(name, "10.0.0.9", "ReplicaSet", "cnf-"+hash), func(p *corev1.Pod) { p.Labels["pod-template-hash"] = hash })
	}
	for _, tc := range []struct {
		name string
		pods []*corev1.Pod
		want string // the workloads in the conflict; "" is none
	}{
		{"replicas", []*corev1.Pod{newCNF("a", "10.0.0.1", "StatefulSet", "cnf"), newCNF("b", "10.0.0.2", "StatefulSet", "cnf")}, ""},
		{"a rollout", []*corev1.Pod{replicaSet("a", "1"), with(replicaSet("b", "2"), func(p *corev1.Pod) { p.Status.PodIPs = nil; p.Status.PodIP = "10.0.0.8" })}, ""},
		{"bare pods", []*corev1.Pod{newCNF("a", "10.0.0.1", "", ""), newCNF("b", "10.0.0.2", "", "")}, ""},
		{"ReplicaSets without owners", []*corev1.Pod{newCNF("a", "10.0.0.1", "ReplicaSet", "x-1"), newCNF("b", "10.0.0.2", "ReplicaSet", "x-2")}, "ReplicaSet/x-1 in shop and ReplicaSet/x-2 in shop"},
		{"kinds of one name", []*corev1.Pod{replicaSet("a", "1"), newCNF("b", "10.0.0.2", "StatefulSet", "cnf")}, "Deployment/cnf in shop and StatefulSet/cnf in shop"},
		{"three", []*corev1.Pod{newCNF("a", "10.0.0.1", "DaemonSet", "x"), newCNF("b", "10.0.0.2", "DaemonSet", "y"), newCNF("c", "10.0.0.3", "", "")}, "DaemonSet/x in shop, DaemonSet/y in shop and pods without a workload"},
		{"one of two leaves", []*corev1.Pod{replicaSet("a", "1"), with(newCNF("b", "10.0.0.2", "", ""), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} })}, ""},
		{"one of two is not ready", []*corev1.Pod{replicaSet("a", "1"), with(newCNF("b", "10.0.0.2", "", ""), func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })}, "Deployment/cnf in shop and pods without a workload"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := translator.New(translator.Options{})
			for _, p := range tc.pods {
				put(t, tr, p)
			}
			s := tr.Snapshot()
			for g := range s.CNFs() {
				require.Equal(t, tc.want != "", g.Conflict != "" && !g.Writable(), g.ID)
				require.Contains(t, g.Conflict, tc.want)
			}
			if tc.want == "" {
				require.Empty(t, tr.Problems())
				return
			}
			require.Len(t, tr.Problems(), len(tc.pods))
			for _, p := range tc.pods[1:] {
				tr.Remove(object.KindPod, p.Namespace, p.Name)
			}
			require.True(t, tr.Snapshot().CNF("shop/a").Writable(), "the conflict goes with the others")
			require.Empty(t, tr.Problems())
		})
	}
}

// TestWorkloadsOfTwoNamespaces are two, even of one name, where the CNFs of all namespaces are one scope.
func TestWorkloadsOfTwoNamespaces(t *testing.T) {
	tr := translator.New(translator.Options{SDWAN: sdwan.Options{ClusterWide: true}})
	elsewhere := with(newCNF("b", "10.0.0.2", "StatefulSet", "cnf"), func(p *corev1.Pod) { p.Namespace = "elsewhere" })
	put(t, tr, newCNF("a", "10.0.0.1", "StatefulSet", "cnf"), elsewhere)
	require.Contains(t, tr.Snapshot().CNF("shop/a").Conflict, "StatefulSet/cnf in elsewhere and StatefulSet/cnf in shop have pods for /cnf1")
	tr = translator.New(translator.Options{})
	put(t, tr, newCNF("a", "10.0.0.1", "StatefulSet", "cnf"), elsewhere)
	require.Empty(t, tr.Snapshot().CNF("shop/a").Conflict)
}

// TestPodsTranslateNoResource checks that objects are not translated again when the CNFs of their scope come and go.
func TestPodsTranslateNoResource(t *testing.T) {
	tr, s := start(t, newZone("lan"), newForwarding("out", "lan", "wan"))
	put(t, tr, newCNF("a", "10.0.0.1", "", ""))
	now := tr.Snapshot()
	c := only(t, s, now)
	require.Empty(t, c.DeviceIntents)
	require.Len(t, c.CNFs, 1)
	require.Same(t, s.DeviceIntent("shop/cnf1/FirewallZone/shop/lan"), now.DeviceIntent("shop/cnf1/FirewallZone/shop/lan"))
}

// FuzzNetworks feeds arbitrary annotations.
func FuzzNetworks(f *testing.F) {
	f.Add(`{"type":"ovn4nfv","interface":[{"defaultGateway":"false","interface":"net0","name":"ovn-priv-net"}]}`,
		`[{"name":"default/net-a","interface":"net1","ips":["10.0.0.1"],"default":true}]`)
	f.Add(`{"interface":[{"name":1}]}`, `[null,{"name":"/","interface":"a"},{"name":"a/","interface":"b"}]`)
	f.Add(`null`, `{}`)
	f.Add(" ", "]")
	f.Fuzz(func(t *testing.T, asked, reported string) {
		pod := newCNF("a", "10.0.0.1", "", "")
		pod.Annotations = map[string]string{sdwan.NFNAnnotation: asked, sdwan.NetworkStatusAnnotation: reported}
		tr, s := start(t, pod)
		g := s.CNF("shop/a")
		require.True(t, g.Writable(), "an annotation never takes a CNF out")
		for name, device := range g.Networks {
			require.NotEmpty(t, name)
			require.NotEmpty(t, device)
		}
		require.LessOrEqual(t, len(tr.Problems()), 2)
		put(t, tr, pod.DeepCopy())
		require.Same(t, s, tr.Snapshot())
	})
}
