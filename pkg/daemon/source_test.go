package daemon_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/watch"
)

// fakeSource is a source whose objects a test puts in. The zero value has not synced.
type fakeSource struct {
	mu       sync.Mutex
	wake     chan struct{}
	synced   bool
	objects  map[object.Ref]runtime.Object
	dirty    map[object.Ref]bool
	lost     map[object.Ref]bool // went without their deletion being seen
	problems []watch.Problem
	withheld []watch.Kind
	since    time.Time // of the oldest that is dirty
	fail     error     // of Run
}

func newFakeSource() *fakeSource {
	return &fakeSource{
		wake: make(chan struct{}, 1), objects: map[object.Ref]runtime.Object{}, dirty: map[object.Ref]bool{},
		lost: map[object.Ref]bool{},
	}
}

// do changes the source and rings.
func (f *fakeSource) do(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *fakeSource) put(objects ...runtime.Object) {
	f.do(func() {
		for _, o := range objects {
			ref := refOf(o)
			f.stamp()
			f.objects[ref], f.dirty[ref] = o, true
		}
	})
}

// stamp notes when the first object becomes dirty.
func (f *fakeSource) stamp() {
	if len(f.dirty) == 0 {
		f.since = time.Now()
	}
}

func (f *fakeSource) remove(objects ...runtime.Object) {
	f.do(func() {
		for _, o := range objects {
			ref := refOf(o)
			f.stamp()
			delete(f.objects, ref)
			f.dirty[ref] = true
			delete(f.lost, ref)
		}
	})
}

// lose takes objects away as a list does that they are missing from.
func (f *fakeSource) lose(objects ...runtime.Object) {
	f.do(func() {
		for _, o := range objects {
			ref := refOf(o)
			delete(f.objects, ref)
			f.dirty[ref], f.lost[ref] = true, true
		}
	})
}

// again delivers every object once more, as to a process that has just started.
func (f *fakeSource) again() {
	f.do(func() {
		for ref := range f.objects {
			f.dirty[ref] = true
		}
	})
}

func (f *fakeSource) sync() { f.do(func() { f.synced = true }) }

func (f *fakeSource) complain(problems ...watch.Problem) { f.do(func() { f.problems = problems }) }

func (f *fakeSource) Run(ctx context.Context) error {
	if f.fail != nil {
		return f.fail
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakeSource) Wake() <-chan struct{} { return f.wake }

func (f *fakeSource) Synced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.synced
}

func (f *fakeSource) DirtySince() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirty) == 0 {
		return time.Time{}
	}
	return f.since
}

func (f *fakeSource) Drain() []object.Ref {
	f.mu.Lock()
	defer f.mu.Unlock()
	var refs []object.Ref
	for ref := range f.dirty {
		refs = append(refs, ref)
	}
	clear(f.dirty)
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}

// Changes takes every object that is gone for one whose deletion was seen, unless it was lost.
func (f *fakeSource) Changes() []watch.Change {
	refs := f.Drain()
	f.mu.Lock()
	defer f.mu.Unlock()
	changes := make([]watch.Change, len(refs))
	for i, ref := range refs {
		changes[i] = watch.Change{Ref: ref, Deleted: !f.lost[ref]}
	}
	return changes
}

func (f *fakeSource) Get(ref object.Ref) (runtime.Object, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.objects[ref]
	return o, ok
}

func (f *fakeSource) Problems() []watch.Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.problems)
}

// withhold says which kinds cannot be read from now on.
func (f *fakeSource) withhold(kinds ...watch.Kind) { f.do(func() { f.withheld = kinds }) }

func (f *fakeSource) Withheld() []watch.Kind {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.withheld)
}

func refOf(o runtime.Object) object.Ref {
	switch o := o.(type) {
	case *corev1.Pod:
		return object.Ref{Kind: watch.KindPod, Namespace: o.Namespace, Name: o.Name}
	case *corev1.Namespace:
		return object.Ref{Kind: watch.KindNamespace, Name: o.Name}
	case *corev1.Node:
		return object.Ref{Kind: watch.KindNode, Name: o.Name}
	case *networkingv1.NetworkPolicy:
		return object.Ref{Kind: watch.KindNetworkPolicy, Namespace: o.Namespace, Name: o.Name}
	case *corev1.Service:
		return object.Ref{Kind: watch.KindService, Namespace: o.Namespace, Name: o.Name}
	case *corev1.Secret:
		return object.Ref{Kind: "Secret", Namespace: o.Namespace, Name: o.Name}
	default:
		return object.Ref{}
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelMetadataName: name},
	}}
}

// pod is a running pod of the namespace shop, labelled app.
func pod(name, app, node, ip string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}},
	}
}

// policy lets the pods of the namespace shop that are labelled from reach those labelled to, and nobody else.
func policy(name, from, to string) *networkingv1.NetworkPolicy {
	app := func(v string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"app": v}}
	}
	peer := app(from)
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: app(to),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &peer}}}},
		},
	}
}

// dirtyNow lists what has not been drained.
func (f *fakeSource) dirtyNow() []object.Ref {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.dirty))
}
