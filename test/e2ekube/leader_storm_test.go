//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// storm changes objects of the namespace shop again and again: labels of pods, pods that come and go, policies that come, go
// and change.
type storm struct {
	w      *world
	cancel context.CancelFunc
	work   sync.WaitGroup
	began  time.Time
	done   atomic.Int64
	turns  chan int
}

// stormSeed is what the changes are made up from. Which of those under way comes first is up to the API server.
const stormSeed = 1

// stormHands is how many requests of a storm are under way at a time.
const stormHands = 16

// storm starts to make rate changes a second, until end is called or the test ends.
func (w *world) storm(rate int) *storm {
	ctx, cancel := context.WithCancel(w.t.Context())
	s := &storm{w: w, cancel: cancel, began: time.Now(), turns: make(chan int, rate)}
	s.work.Go(func() {
		defer close(s.turns)
		for i := 0; ctx.Err() == nil; i++ {
			time.Sleep(time.Until(s.began.Add(time.Duration(i) * time.Second / time.Duration(rate)))) // pause: the rate; late turns are made up for
			select {
			case s.turns <- i:
			case <-ctx.Done():
			}
		}
	})
	for range stormHands {
		s.work.Go(func() {
			for i := range s.turns {
				err := s.change(context.WithoutCancel(ctx), i)
				if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) { // another turn was quicker
					err = s.relabel(context.WithoutCancel(ctx), rand.New(rand.NewPCG(stormSeed+1, uint64(i)))) //nolint:gosec // G404: tests need repeatable numbers.
				}
				if err != nil {
					w.t.Errorf("change %d: %v", i, err)
				}
				s.done.Add(1)
			}
		})
	}
	w.t.Cleanup(s.stop)
	return s
}

// stop stops the changes. It may be called again.
func (s *storm) stop() {
	s.cancel()
	s.work.Wait()
}

// end stops the changes and returns how many there were.
func (s *storm) end() {
	s.w.t.Helper()
	s.stop()
	took := time.Since(s.began)
	s.w.t.Logf("%d changes in %s, %.0f a second", s.done.Load(), took.Round(time.Second), float64(s.done.Load())/took.Seconds())
}

// change makes one change.
func (s *storm) change(ctx context.Context, i int) error {
	pods, nets := s.w.kube.Client().CoreV1().Pods("shop"), s.w.kube.Client().NetworkingV1().NetworkPolicies("shop")
	name := fmt.Sprintf("passing-%d", i/4%20)
	chance := rand.New(rand.NewPCG(stormSeed, uint64(i))) //nolint:gosec // G404: tests need repeatable numbers.
	var err error
	switch i % 8 {
	case 0:
		_, err = pods.Create(ctx, passing(name), metav1.CreateOptions{})
	case 3:
		now := int64(0)
		err = pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	case 5:
		_, err = nets.Create(ctx, passingPolicy(name), metav1.CreateOptions{})
	case 6:
		patch := fmt.Sprintf(`{"spec": {"ingress": [{"ports": [{"port": %d}]}]}}`, 1000+chance.IntN(1000))
		_, err = nets.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	case 7:
		err = nets.Delete(ctx, fmt.Sprintf("passing-%d", chance.IntN(20)), metav1.DeleteOptions{})
	default:
		err = s.relabel(ctx, chance)
	}
	return err
}

// relabel changes the labels of a pod that has a port.
func (s *storm) relabel(ctx context.Context, chance *rand.Rand) error {
	place := []pod{web, web2, api, db}[chance.IntN(4)]
	labels := fmt.Appendf(nil, `{"metadata": {"labels": {"app": %q, "turn": "%d"}}}`, []string{"web", "api", "db", "other"}[chance.IntN(4)], s.done.Load())
	_, err := s.w.kube.Client().CoreV1().Pods("shop").Patch(ctx, place.name, types.MergePatchType, labels, metav1.PatchOptions{})
	return err
}

// passing is a pod that never gets an address.
func passing(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: web.node, Containers: []corev1.Container{{Name: "main", Image: "example.test/none"}}},
	}
}

// passingPolicy opens a port of the api to all.
func passingPolicy(name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{}},
		},
	}
}
