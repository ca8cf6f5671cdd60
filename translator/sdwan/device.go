package sdwan

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
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
)

// Labels of the pods of CNFs whose values are names of Secrets in the pod's namespace.
const (
	// AccountLabel names the Secret with the password under "password".
	AccountLabel = "cnf-account-secret"
	// CertificateLabel names the Secret with the CA of the CNF's certificate under "ca.crt".
	CertificateLabel = "cnf-cert-secret"
)

// kindCNF is the kind of keys under which CNFs are kept; pods as endpoints have another.
const kindCNF = "CNF"

// barePods is the group of the pods of a scope that no workload controls.
const barePods = "Pod"

// device is a pod as a CNF.
type device struct {
	intent.CNF                  // without Conflict, which its scope determines
	faults     []object.Problem // of the pod itself
}

// workload returns the group with its namespace.
func (d *device) workload() string {
	if d.Group == barePods {
		return "pods without a workload"
	}
	return d.Group + " in " + d.Origin.Namespace
}

// deviceTable holds the pods that are CNFs. A change only affects the pods of the same scope.
type deviceTable struct {
	byRef   map[object.Ref]*device
	scopes  map[intent.Scope]map[object.Ref]*device
	removed map[object.Ref]intent.CNFID // since the last snapshot
}

func newDeviceTable() deviceTable {
	return deviceTable{
		byRef:   map[object.Ref]*device{},
		scopes:  map[intent.Scope]map[object.Ref]*device{},
		removed: map[object.Ref]intent.CNFID{},
	}
}

// replace sets the CNF of a pod; nil removes it.
func (t *Table) replace(ref object.Ref, now *device) {
	d := &t.devices
	if old := d.byRef[ref]; old != nil {
		delete(d.byRef, ref)
		delete(d.scopes[old.Scope], ref)
		if len(d.scopes[old.Scope]) == 0 {
			delete(d.scopes, old.Scope)
		}
		t.dirty.Add(dirty.Devices, refOf(old.Scope))
		d.removed[ref] = old.ID
	}
	if now == nil {
		return
	}
	delete(d.removed, ref)
	d.byRef[ref] = now
	if d.scopes[now.Scope] == nil {
		d.scopes[now.Scope] = map[object.Ref]*device{}
	}
	d.scopes[now.Scope][ref] = now
	t.dirty.Add(dirty.Devices, refOf(now.Scope))
}

// refOf returns the reference under which a scope is dirty.
func refOf(s intent.Scope) object.Ref {
	return object.Ref{Kind: "Scope", Namespace: s.Namespace, Name: s.Purpose}
}

// PutPod sets a pod with its addresses. Pods that are not CNFs, or no longer, are removed.
func (t *Table) PutPod(pod *corev1.Pod, addrs []netip.Addr) {
	ref := object.Ref{Kind: kindCNF, Namespace: pod.Namespace, Name: pod.Name}
	if !IsDevice(pod) {
		t.remove(ref)
		return
	}
	faults := field.Faults{Of: t.source.Origin(object.KindPod, pod)}
	scope, ok := t.source.LabelledScope(pod, &faults)
	if !ok {
		t.remove(ref)
		t.problems.Set(ref, faults.List)
		return
	}
	now := &device{CNF: t.cnfOf(pod, addrs, scope, &faults)}
	now.faults = faults.List
	if old := t.devices.byRef[ref]; old == nil || !reflect.DeepEqual(old, now) {
		t.replace(ref, now)
	}
}

// IsDevice reports whether a pod is a CNF.
func IsDevice(pod *corev1.Pod) bool {
	return pod.Labels[v1alpha1.LabelPurpose] != "" &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// RemovePod removes a pod.
func (t *Table) RemovePod(namespace, name string) {
	t.remove(object.Ref{Kind: kindCNF, Namespace: namespace, Name: name})
}

func (t *Table) remove(ref object.Ref) {
	t.problems.Set(ref, nil)
	t.replace(ref, nil)
}

// cnfOf describes a pod as a CNF.
func (t *Table) cnfOf(pod *corev1.Pod, addrs []netip.Addr, scope intent.Scope, faults *field.Faults) intent.CNF {
	return intent.CNF{
		ID:          intent.CNFID(object.Key{Cluster: t.source.Cluster, Namespace: pod.Namespace, Name: pod.Name}.String()),
		Origin:      faults.Of,
		Scope:       scope,
		Group:       groupOf(pod),
		Node:        pod.Spec.NodeName,
		Addr:        firstIPv4(addrs),
		Ready:       pod.Status.Phase == corev1.PodRunning && isReady(pod),
		Leaving:     pod.DeletionTimestamp != nil,
		Run:         runOf(pod),
		Networks:    networksOf(pod, faults),
		Account:     pod.Labels[AccountLabel],
		Certificate: pod.Labels[CertificateLabel],
	}
}

// groupOf returns the workload that a pod is a replica of. The ReplicaSets of a Deployment are recognized by the hash that it
// gives them.
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

func firstIPv4(addrs []netip.Addr) netip.Addr {
	for _, a := range addrs {
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

// runOf returns the pod's UID with the number of restarts of each container that was restarted.
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

// Settle writes the CNFs of the scopes where something changed. A scope with replicas of two workloads belongs to neither,
// since it is unknown which of them is intended.
func (t *Table) Settle(next *intent.Builder, was *intent.Snapshot) {
	table := &t.devices
	for _, ref := range slices.SortedFunc(maps.Keys(table.removed), object.Ref.Compare) {
		next.DropCNF(table.removed[ref])
	}
	table.removed = map[object.Ref]intent.CNFID{}
	for _, dirty := range t.dirty.Take(dirty.Devices, object.Ref.Compare) {
		scope := intent.Scope{Namespace: dirty.Namespace, Purpose: dirty.Name}
		conflict := conflictOf(scope, table.scopes[scope])
		for _, ref := range slices.SortedFunc(maps.Keys(table.scopes[scope]), object.Ref.Compare) {
			g := table.scopes[scope][ref]
			now, faults := g.CNF, field.Faults{Of: g.Origin, List: slices.Clone(g.faults)}
			if !g.Leaving && conflict != "" {
				now.Conflict = conflict
				faults.Add("metadata.labels["+v1alpha1.LabelPurpose+"]", "%s", conflict)
			}
			t.problems.Set(ref, faults.List)
			if had := was.CNF(now.ID); had == nil || !reflect.DeepEqual(*had, now) {
				next.PutCNF(&now)
			}
		}
	}
}

// conflictOf returns why nothing may be written to the CNFs of a scope; "" if it may. Pods that are being deleted do not count.
func conflictOf(scope intent.Scope, members map[object.Ref]*device) string {
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
		joinAnd(slices.Sorted(maps.Keys(workloads))), scope)
}

func joinAnd(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
