package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/feedback/policy"
)

// TestSizesFollowAListThatBecomesComposite deletes a policy because of which a list had members of its own. Nothing about the other policy
// with the list changes, but from then on other sets have its pods.
func TestSizesFollowAListThatBecomesComposite(t *testing.T) {
	withRig(t, func(d *rig) {
		d.parts = true
		from := func(apps ...string) func(*networkingv1.NetworkPolicy) {
			return func(p *networkingv1.NetworkPolicy) {
				p.Spec.Ingress[0].From = nil
				for _, app := range apps {
					p.Spec.Ingress[0].From = append(p.Spec.Ingress[0].From, networkingv1.NetworkPolicyPeer{
						PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
					})
				}
			}
		}
		d.policy("both", 1, 80, from("web", "ops"))
		d.policy("one", 1, 80, from("web"))
		d.policy("other", 1, 81, from("web", "ops"))
		d.start()
		d.after(time.Minute)
		require.EqualValues(t, 1, d.status("both").Status.Peers[0].Pods)
		d.source.Remove(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}})
		d.after(time.Minute)
		d.source.Put(podAt("web-8", "web", "10.0.9.1"))
		d.source.Put(podAt("web-9", "web", "10.0.9.2"))
		d.after(2 * policy.SizeInterval)
		require.EqualValues(t, 3, d.status("one").Status.Peers[0].Pods)
		require.EqualValues(t, 3, d.status("both").Status.Peers[0].Pods)
	})
}
