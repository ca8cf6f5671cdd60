package kube

import (
	"encoding/binary"
	"maps"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// compactPod is a trimmed pod as it is kept. There are many pods, a corev1.Pod is more than a kilobyte without any content, and
// what a workload's pods have in common is kept once: their labels and containers, and names of namespaces and nodes.
type compactPod struct {
	name, version   string
	uid             types.UID
	ip              string
	namespace, node unique.Handle[string]
	phase           unique.Handle[corev1.PodPhase]
	created         int64      // in seconds since 1970; 0 is not known
	labels          *podLabels // nil for none
	containers      *podContainers
	ips             []corev1.PodIP // nil if ip is the only one
	few             *podFew        // nil for none
	hostNetwork     bool
	noIPs           bool // Status.PodIPs is empty although there is an ip
}

// podFew is what few pods have.
type podFew struct {
	annotations []string // keys and values in turn, sorted by key
	deleted     *metav1.Time
	gate        corev1.PodConditionType // that is kept; "" for none
	passed      corev1.ConditionStatus  // of the gate; "" without a condition
}

// podLabels are labels that pods share.
type podLabels struct{ of map[string]string }

// podContainers are trimmed containers that pods share.
type podContainers struct{ init, of []corev1.Container }

// compactor makes compact pods.
type compactor struct {
	labels     *shared[podLabels]
	containers *shared[podContainers]
}

func newCompactor() compactor { return compactor{newShared[podLabels](), newShared[podContainers]()} }

// compact returns how a trimmed object is kept: a pod in a form of its own, unless it is a CNF, of which more is known.
func (c compactor) compact(o source.Object) any {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o
	}
	if _, cnf := p.Labels[v1alpha1.LabelPurpose]; cnf {
		return o
	}
	out := &compactPod{
		name: p.Name, version: p.ResourceVersion, uid: p.UID, ip: p.Status.PodIP,
		namespace: unique.Make(p.Namespace), node: unique.Make(p.Spec.NodeName), phase: unique.Make(p.Status.Phase),
		containers: c.share(p.Spec.InitContainers, p.Spec.Containers), hostNetwork: p.Spec.HostNetwork,
	}
	if !p.CreationTimestamp.IsZero() {
		out.created = p.CreationTimestamp.Unix()
	}
	if len(p.Annotations)+len(p.Spec.ReadinessGates) > 0 || p.DeletionTimestamp != nil {
		out.few = &podFew{annotations: pairs(p.Annotations), deleted: p.DeletionTimestamp}
		for _, g := range p.Spec.ReadinessGates { // trimmed to one
			out.few.gate = g.ConditionType
			out.few.passed, _ = source.Gate(p, g.ConditionType)
		}
	}
	switch ips := p.Status.PodIPs; {
	case len(ips) == 0:
		out.noIPs = true
	case len(ips) > 1 || ips[0].IP != out.ip:
		out.ips = slices.Clone(ips)
	}
	if len(p.Labels) > 0 {
		list := pairs(p.Labels)
		out.labels = c.labels.get(keyOf(list), func() *podLabels { return &podLabels{interned(list)} })
	}
	return out
}

// share returns containers like these that pods share.
func (c compactor) share(init, of []corev1.Container) *podContainers {
	var key []byte
	for _, list := range [][]corev1.Container{init, of} {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for i := range list {
			key = appendContainer(key, &list[i])
		}
	}
	return c.containers.get(string(key), func() *podContainers { return &podContainers{init, of} })
}

// appendContainer appends what is kept of a container, each part with its length.
func appendContainer(key []byte, c *corev1.Container) []byte {
	key = appendText(key, c.Name)
	if c.RestartPolicy == nil {
		key = append(key, 0)
	} else {
		key = appendText(append(key, 1), string(*c.RestartPolicy))
	}
	key = binary.AppendUvarint(key, uint64(len(c.Ports)))
	for i := range c.Ports {
		p := &c.Ports[i]
		key = appendText(appendText(appendText(key, p.Name), string(p.Protocol)), p.HostIP)
		key = binary.AppendVarint(binary.AppendVarint(key, int64(p.ContainerPort)), int64(p.HostPort))
	}
	return key
}

func appendText(key []byte, s string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(s))), s...)
}

func keyOf(list []string) string {
	var key []byte
	for _, s := range list {
		key = appendText(key, s)
	}
	return string(key)
}

// pairs lists the keys and values of m, sorted by key; nil for an empty map.
func pairs(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	out := make([]string, 0, 2*len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, unique.Make(k).Value(), m[k])
	}
	return out
}

// interned undoes pairs, with strings that equal maps share.
func interned(pairs []string) map[string]string {
	m := make(map[string]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = unique.Make(pairs[i+1]).Value()
	}
	return m
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, by which stores know the name and the version of what they keep.
func (p *compactPod) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace.Value(), Name: p.name, UID: p.uid, ResourceVersion: p.version}
}

// expand returns the pod in its type. Its labels and containers are shared.
func (p *compactPod) expand() source.Object {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace.Value(), Name: p.name, UID: p.uid, ResourceVersion: p.version},
		Spec: corev1.PodSpec{
			InitContainers: p.containers.init, Containers: p.containers.of, NodeName: p.node.Value(), HostNetwork: p.hostNetwork,
		},
		Status: corev1.PodStatus{Phase: p.phase.Value(), PodIP: p.ip, PodIPs: p.ips},
	}
	if p.created != 0 {
		out.CreationTimestamp = metav1.Unix(p.created, 0)
	}
	if p.labels != nil {
		out.Labels = p.labels.of
	}
	if p.few != nil {
		out.DeletionTimestamp, out.Annotations = p.few.deleted, p.few.annotated()
		if p.few.gate != "" {
			source.SetGate(out, p.few.gate, p.few.passed)
		}
	}
	if p.ips == nil && !p.noIPs {
		out.Status.PodIPs = []corev1.PodIP{{IP: p.ip}}
	}
	return out
}

// annotated returns the annotations, nil for none.
func (f *podFew) annotated() map[string]string {
	if len(f.annotations) == 0 {
		return nil
	}
	m := make(map[string]string, len(f.annotations)/2)
	for i := 0; i < len(f.annotations); i += 2 {
		m[f.annotations[i]] = f.annotations[i+1]
	}
	return m
}

// condition is the status of the condition that belongs to the readiness gate of a pod; "" if it lacks one of them.
func (p *compactPod) condition() corev1.ConditionStatus {
	if p.few == nil {
		return ""
	}
	return p.few.passed
}

// onlyCondition reports whether two objects, as they are kept, are a pod that differs in the condition of its gate and in nothing else.
func onlyCondition(before, after any) bool {
	p, ok1 := before.(*compactPod)
	q, ok2 := after.(*compactPod)
	return ok1 && ok2 && p.condition() != q.condition() && p.equalBut(q)
}

// equalBut reports whether two of them differ in nothing but the condition; either may be nil.
func (f *podFew) equalBut(g *podFew) bool {
	if f == nil || g == nil {
		return f == g
	}
	return slices.Equal(f.annotations, g.annotations) && f.deleted.Equal(g.deleted) && f.gate == g.gate
}

// Object implements source.Held.
func (p *compactPod) Object() runtime.Object { return p.expand() }

// expanded returns what is kept of an object in its type; false for anything else.
func expanded(kept any) (source.Object, bool) {
	if p, ok := kept.(*compactPod); ok {
		return p.expand(), true
	}
	o, ok := kept.(source.Object)
	return o, ok
}

// equalKept reports whether two objects, as they are kept, differ in nothing but their resource version and generation.
func equalKept(a, b any) bool {
	p, ok1 := a.(*compactPod)
	q, ok2 := b.(*compactPod)
	if ok1 && ok2 {
		return p.equal(q)
	}
	x, ok1 := expanded(a)
	y, ok2 := expanded(b)
	return ok1 && ok2 && source.Equal(x, y)
}

// equal reports whether two pods differ in nothing but their resource version.
func (p *compactPod) equal(q *compactPod) bool {
	return p.condition() == q.condition() && p.equalBut(q)
}

// equalBut reports whether two pods differ in nothing but their resource version and the condition. Equal labels and containers are the same.
func (p *compactPod) equalBut(q *compactPod) bool {
	return p.namespace == q.namespace && p.name == q.name && p.uid == q.uid && p.labels == q.labels &&
		p.containers == q.containers && p.node == q.node && p.phase == q.phase && p.ip == q.ip && p.noIPs == q.noIPs &&
		slices.Equal(p.ips, q.ips) && p.few.equalBut(q.few) && p.hostNetwork == q.hostNetwork
}
