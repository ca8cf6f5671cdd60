package translator

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// Labels of the pods of gateways whose values are names of Secrets in the pod's namespace.
const (
	// AccountLabel names the one with the password under "password".
	AccountLabel = "cnf-account-secret"
	// CertificateLabel names the one with the CA of the gateway's certificate under "ca.crt".
	CertificateLabel = "cnf-cert-secret"
)

// kindGateway is the kind of keys under which gateways are kept; as endpoints, pods have another.
const kindGateway = "Gateway"

// barePods is the group of the pods of a scope that no workload controls.
const barePods = "Pod"

// gateway is a pod as a gateway.
type gateway struct {
	intent.Gateway           // without Conflict, which is for its scope to say
	faults         []Problem // of the pod itself
}

// workload is the group, told apart from one of the same name in another namespace.
func (g *gateway) workload() string {
	if g.Group == barePods {
		return "pods without a workload"
	}
	return g.Group + " in " + g.Origin.Namespace
}

// gatewayTable holds the pods that are gateways. A change looks at the others of the scope and at nothing else.
type gatewayTable struct {
	byKey   map[objectKey]*gateway
	scopes  map[intent.Scope]map[objectKey]*gateway
	dirty   map[intent.Scope]bool
	removed map[objectKey]intent.GatewayID // since the last snapshot
}

func newGatewayTable() gatewayTable {
	return gatewayTable{
		byKey:   map[objectKey]*gateway{},
		scopes:  map[intent.Scope]map[objectKey]*gateway{},
		dirty:   map[intent.Scope]bool{},
		removed: map[objectKey]intent.GatewayID{},
	}
}

// put takes in a gateway, nil takes it out.
func (t *gatewayTable) put(key objectKey, now *gateway) {
	if old := t.byKey[key]; old != nil {
		delete(t.byKey, key)
		delete(t.scopes[old.Scope], key)
		if len(t.scopes[old.Scope]) == 0 {
			delete(t.scopes, old.Scope)
		}
		t.dirty[old.Scope] = true
		t.removed[key] = old.ID
	}
	if now == nil {
		return
	}
	delete(t.removed, key)
	t.byKey[key] = now
	if t.scopes[now.Scope] == nil {
		t.scopes[now.Scope] = map[objectKey]*gateway{}
	}
	t.scopes[now.Scope][key] = now
	t.dirty[now.Scope] = true
}

// putGateway takes in a pod if it is a gateway, and out if it no longer is one.
func (t *Translator) putGateway(pod *corev1.Pod) {
	key := objectKey{kindGateway, pod.Namespace, pod.Name}
	if pod.Labels[v1alpha1.LabelPurpose] == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		t.removeGateway(key)
		return
	}
	faults := problems{of: t.origin(KindPod, pod)}
	scope, ok := t.labelledScope(pod, &faults)
	if !ok {
		t.removeGateway(key)
		t.setProblems(key, faults.list)
		return
	}
	now := &gateway{Gateway: t.gatewayOf(pod, scope, &faults)}
	now.faults = faults.list
	if old := t.gateways.byKey[key]; old == nil || !reflect.DeepEqual(old, now) {
		t.gateways.put(key, now)
	}
}

func (t *Translator) removeGateway(key objectKey) {
	t.setProblems(key, nil)
	t.gateways.put(key, nil)
}

// gatewayOf is what a pod says of itself.
func (t *Translator) gatewayOf(pod *corev1.Pod, scope intent.Scope, faults *problems) intent.Gateway {
	return intent.Gateway{
		ID:          intent.GatewayID(intent.Key{Cluster: t.cluster, Namespace: pod.Namespace, Name: pod.Name}.String()),
		Origin:      faults.of,
		Scope:       scope,
		Group:       groupOf(pod),
		Node:        pod.Spec.NodeName,
		Addr:        firstIPv4(pod),
		Ready:       pod.Status.Phase == corev1.PodRunning && isReady(pod),
		Leaving:     pod.DeletionTimestamp != nil,
		Run:         runOf(pod),
		Networks:    networksOf(pod, faults),
		Account:     pod.Labels[AccountLabel],
		Certificate: pod.Labels[CertificateLabel],
	}
}

// groupOf is the workload that a pod is a replica of. The ReplicaSets of a Deployment are told by the hash that it gives
// them.
func groupOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return barePods
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; owner.Kind == "ReplicaSet" && hash != "" {
		if name, ok := strings.CutSuffix(owner.Name, "-"+hash); ok {
			return "Deployment/" + name
		}
	}
	return owner.Kind + "/" + owner.Name
}

func firstIPv4(pod *corev1.Pod) netip.Addr {
	for _, a := range podAddrs(pod, &problems{}) { // problems are told of the pod as an endpoint
		if a.Is4() {
			return a
		}
	}
	return netip.Addr{}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// runOf is the pod's UID and how often each of its containers was restarted, those that never were left out.
func runOf(pod *corev1.Pod) string {
	var restarts []string
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if s := &list[i]; s.RestartCount > 0 {
				restarts = append(restarts, fmt.Sprintf("%s=%d", s.Name, s.RestartCount))
			}
		}
	}
	slices.Sort(restarts)
	return strings.Join(append([]string{string(pod.UID)}, restarts...), " ")
}

// settleGateways writes the gateways of the scopes where something changed. A scope with replicas of two workloads is
// nobody's: nothing tells which of them is meant.
func (t *Translator) settleGateways(next *intent.Builder) {
	table := &t.gateways
	for _, key := range slices.SortedFunc(maps.Keys(table.removed), objectKey.compare) {
		next.DropGateway(table.removed[key])
	}
	table.removed = map[objectKey]intent.GatewayID{}
	for _, scope := range slices.SortedFunc(maps.Keys(table.dirty), intent.Scope.Compare) {
		conflict := conflictOf(scope, table.scopes[scope])
		for _, key := range slices.SortedFunc(maps.Keys(table.scopes[scope]), objectKey.compare) {
			g := table.scopes[scope][key]
			now, faults := g.Gateway, problems{of: g.Origin, list: slices.Clone(g.faults)}
			if !g.Leaving && conflict != "" {
				now.Conflict = conflict
				faults.add("metadata.labels["+v1alpha1.LabelPurpose+"]", "%s", conflict)
			}
			t.setProblems(key, faults.list)
			if was := t.snapshot.Gateway(now.ID); was == nil || !reflect.DeepEqual(*was, now) {
				next.PutGateway(&now)
			}
		}
	}
	table.dirty = map[intent.Scope]bool{}
}

// conflictOf says why nothing may be written to the gateways of a scope; "" when it may. Those that leave do not count.
func conflictOf(scope intent.Scope, members map[objectKey]*gateway) string {
	workloads := map[string]bool{}
	for _, g := range members {
		if !g.Leaving {
			workloads[g.workload()] = true
		}
	}
	if len(workloads) < 2 {
		return ""
	}
	return fmt.Sprintf("%s have pods for %s: expected one workload; nothing is written to any of them",
		oneAndAnother(slices.Sorted(maps.Keys(workloads))), scope)
}

func oneAndAnother(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
