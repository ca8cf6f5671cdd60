package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

// TestAPolicySaysOnWhichPodsItIsNotEnforced checks that a policy is judged again when ports of its pods come and go, which
// changes no set, and when it comes to select pods without a port.
func TestAPolicySaysOnWhichPodsItIsNotEnforced(t *testing.T) {
	withRig(t, func(d *rig) {
		selects := func(app string) func(*networkingv1.NetworkPolicy) {
			return func(p *networkingv1.NetworkPolicy) {
				p.Spec.PodSelector = metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
			}
		}
		d.policy("db", 1, 80, selects("db"))
		d.policy("api", 1, 80, selects("api"))
		d.start()
		require.Equal(t, "True Enforced 1", d.says("db"))
		d.recorded()

		round := func() { // a plan, as when a logical port comes or goes
			d.loop.Wake()
			d.after(time.Second)
		}
		d.backend.lacks("db-0")
		round()
		require.Equal(t, "False PodsWithoutPort 1", d.says("db"))
		require.Equal(t, "True Enforced 1", d.says("api"))
		require.EqualValues(t, 1, d.status("db").Status.Targets[0].MissingSubjects)
		require.Equal(t, []string{
			"Warning PodsWithoutPort ovn: 0 of 1 selected pods are enforced; not enforced: shop/db-0 (no logical port db-0)",
		}, d.recorded())

		d.source.Put(pipelinetest.Pod("db-0", "api", "n1", "10.0.0.1")) // from one policy to another
		d.after(time.Second)
		require.Equal(t, "True Enforced 1", d.says("db"))
		require.Equal(t, "False PodsWithoutPort 1", d.says("api"))
		d.recorded()

		d.backend.lacks()
		round()
		require.Equal(t, "True Enforced 1", d.says("api"))
		require.Equal(t, []string{"Normal Enforced generation 1 is enforced by ovn"}, d.recorded())
		d.writes()
		d.after(time.Hour)
		require.Empty(t, d.writes())
	})
}

// missing returns pods without a port.
func missing(names ...string) backends.Gaps {
	var gaps []backends.Gap
	for _, name := range names {
		gaps = append(gaps, backends.Gap{Endpoint: object.Key{Namespace: "shop", Name: name}, Lacks: "logical port " + name})
	}
	return backends.Gaps{}.With(gaps, nil)
}
