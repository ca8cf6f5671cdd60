// Package pipelinetest has a source in memory, and objects to put in it.
package pipelinetest

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Source is a source whose objects are set by a test. Make it with New; it has not synced then.
type Source struct {
	mu          sync.Mutex
	wake        chan struct{}
	synced      bool
	objects     map[object.Ref]runtime.Object
	dirty       map[object.Ref]bool
	lost        map[object.Ref]bool // gone without their deletion being seen
	problems    []object.Problem
	unavailable []string
	since       time.Time // of the oldest dirty reference
	fail        error     // of Run
}

// New makes a source without objects.
func New() *Source {
	return &Source{
		wake: make(chan struct{}, 1), objects: map[object.Ref]runtime.Object{}, dirty: map[object.Ref]bool{},
		lost: map[object.Ref]bool{},
	}
}

// change changes the source and wakes its reader.
func (s *Source) change(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Put adds objects, or replaces those of the same name.
func (s *Source) Put(objects ...runtime.Object) {
	s.change(func() {
		for _, o := range objects {
			ref := RefOf(o)
			s.stamp()
			s.objects[ref], s.dirty[ref] = o, true
		}
	})
}

// Replace puts an object without a word, as a source.Gated does when nothing but a condition has changed.
func (s *Source) Replace(o runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[RefOf(o)] = o
}

// stamp records when the first object becomes dirty.
func (s *Source) stamp() {
	if len(s.dirty) == 0 {
		s.since = time.Now()
	}
}

// Remove deletes objects, like a source that saw their deletion.
func (s *Source) Remove(objects ...runtime.Object) {
	s.change(func() {
		for _, o := range objects {
			ref := RefOf(o)
			s.stamp()
			delete(s.objects, ref)
			s.dirty[ref] = true
			delete(s.lost, ref)
		}
	})
}

// Lose removes objects, like a list that lacks them.
func (s *Source) Lose(objects ...runtime.Object) {
	s.change(func() {
		for _, o := range objects {
			ref := RefOf(o)
			delete(s.objects, ref)
			s.dirty[ref], s.lost[ref] = true, true
		}
	})
}

// Again delivers every object once more, as for a process that has just started.
func (s *Source) Again() {
	s.change(func() {
		for ref := range s.objects {
			s.dirty[ref] = true
		}
	})
}

// PutAs adds an object under a reference; nil removes it.
func (s *Source) PutAs(ref object.Ref, o runtime.Object) {
	s.change(func() {
		s.stamp()
		s.dirty[ref] = true
		if s.objects[ref] = o; o == nil {
			delete(s.objects, ref)
		}
	})
}

// Fail makes Run fail.
func (s *Source) Fail(err error) { s.change(func() { s.fail = err }) }

// Sync marks the source as synced.
func (s *Source) Sync() { s.change(func() { s.synced = true }) }

// SetProblems sets the problems of the source.
func (s *Source) SetProblems(problems ...object.Problem) { s.change(func() { s.problems = problems }) }

// Run waits until ctx ends, or returns the error of Fail.
func (s *Source) Run(ctx context.Context) error {
	s.mu.Lock()
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		return fail
	}
	<-ctx.Done()
	return ctx.Err()
}

// Wake receives when something has changed.
func (s *Source) Wake() <-chan struct{} { return s.wake }

// Synced reports whether Sync was called.
func (s *Source) Synced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// DirtySince returns when the oldest change came that has not been drained.
func (s *Source) DirtySince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.dirty) == 0 {
		return time.Time{}
	}
	return s.since
}

// Drain takes what changed.
func (s *Source) Drain() []object.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []object.Ref
	for ref := range s.dirty {
		refs = append(refs, ref)
	}
	clear(s.dirty)
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}

// Changes treats the deletion of every object that is gone as seen, unless it was lost.
func (s *Source) Changes() []source.Change {
	refs := s.Drain()
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := make([]source.Change, len(refs))
	for i, ref := range refs {
		changes[i] = source.Change{Ref: ref, Gone: source.Deleted}
		if s.lost[ref] {
			changes[i].Gone = source.Missing
		}
	}
	return changes
}

// Get returns an object as it is now.
func (s *Source) Get(ref object.Ref) (runtime.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[ref]
	return o, ok
}

// Problems returns those of SetProblems.
func (s *Source) Problems() []object.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// SetUnavailable sets the kinds that cannot be read.
func (s *Source) SetUnavailable(kinds ...string) { s.change(func() { s.unavailable = kinds }) }

// Unavailable returns the kinds of SetUnavailable.
func (s *Source) Unavailable() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unavailable)
}

// RefOf returns the reference of an object of a kind that translators know; zero for others.
func RefOf(o runtime.Object) object.Ref {
	switch o := o.(type) {
	case *corev1.Pod:
		return object.Ref{Kind: object.KindPod, Namespace: o.Namespace, Name: o.Name}
	case *corev1.Namespace:
		return object.Ref{Kind: object.KindNamespace, Name: o.Name}
	case *corev1.Node:
		return object.Ref{Kind: object.KindNode, Name: o.Name}
	case *networkingv1.NetworkPolicy:
		return object.Ref{Kind: object.KindNetworkPolicy, Namespace: o.Namespace, Name: o.Name}
	case *corev1.Service:
		return object.Ref{Kind: object.KindService, Namespace: o.Namespace, Name: o.Name}
	case *discoveryv1.EndpointSlice:
		return object.Ref{Kind: object.KindEndpointSlice, Namespace: o.Namespace, Name: o.Name}
	case *corev1.Secret:
		return object.Ref{Kind: "Secret", Namespace: o.Namespace, Name: o.Name}
	case *policyv1alpha2.ClusterNetworkPolicy:
		return object.Ref{Kind: object.KindClusterNetworkPolicy, Name: o.Name}
	case *policyv1alpha1.AdminNetworkPolicy:
		return object.Ref{Kind: object.KindAdminNetworkPolicy, Name: o.Name}
	case *policyv1alpha1.BaselineAdminNetworkPolicy:
		return object.Ref{Kind: object.KindBaselineAdminNetworkPolicy, Name: o.Name}
	default:
		return object.Ref{}
	}
}

// Namespace returns a namespace with the label of its name.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelMetadataName: name},
	}}
}

// Pod returns a running pod of the namespace shop, labelled app.
func Pod(name, app, node, ip string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}},
	}
}

// Policy lets only the pods of the namespace shop that are labelled from reach those labelled to.
func Policy(name, from, to string) *networkingv1.NetworkPolicy {
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

// Dirty lists what has not been drained.
func (s *Source) Dirty() []object.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.dirty))
}

// Log writes to the output of a test.
func Log(t *testing.T) *logrus.Logger {
	t.Helper()
	log := logrus.New()
	log.SetOutput(t.Output())
	log.SetLevel(logrus.DebugLevel)
	return log
}

// Admits reports whether a snapshot lets TCP through from one pod to another.
func Admits(s *intent.Snapshot, from, to *corev1.Pod) bool {
	party := func(p *corev1.Pod) intent.Party {
		return intent.Party{Key: object.Key{Namespace: p.Namespace, Name: p.Name}, Addr: netip.MustParseAddr(p.Status.PodIP)}
	}
	return s.Evaluate(intent.Flow{Src: party(from), Dst: party(to), Protocol: intent.TCP, Port: 80}).Allowed
}
