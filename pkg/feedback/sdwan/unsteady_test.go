package sdwan_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// routed puts routes into the table cnf, and a rule that refers to it.
func (r *rig) routed() {
	for name, dst := range map[string]string{"east": "10.6.0.0/16", "west": "10.7.0.0/16"} {
		r.Apply(&v1alpha1.CNFRoute{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.CNFRouteSpec{
			Dst: dst, Gw: "172.16.70.1", Dev: "net0", Table: "cnf",
		}})
	}
	r.Apply(&v1alpha1.CNFRouteRule{ObjectMeta: metav1.ObjectMeta{Name: "rule"}, Spec: v1alpha1.CNFRouteRuleSpec{
		Src: "10.5.0.0/16", Table: "40", Prio: "100",
	}})
}

// writesTo counts the requests to a device that change something.
func writesTo(d *simulator.Device) int {
	n := 0
	for _, q := range d.Requests() {
		if q.Method != http.MethodGet && !q.Login {
			n++
		}
	}
	return n
}

// TestAnHourAtRest has devices that lie about their kernel, as a real one does: no device and no object is written, and no Event is recorded.
func TestAnHourAtRest(t *testing.T) {
	inBubble(t, func(r *rig) {
		lies := simulator.RealUnsteady()
		lies.Truncated, lies.Repeated, lies.Reordered = 0.2, 0.2, 0.5
		devices := []*simulator.Device{r.CNF("cnf-0", "10.0.0.1"), r.CNF("cnf-1", "10.0.0.2")}
		for i, d := range devices {
			d.SetUnsteady(lies, uint64(i))
		}
		r.routed()
		r.start()
		r.After(time.Minute)
		r.Writes()
		r.Recorded()
		for _, d := range devices {
			d.Reset()
		}
		r.After(time.Hour)
		require.Empty(t, r.Writes())
		require.Empty(t, r.Recorded())
		for _, d := range devices {
			require.Zero(t, writesTo(d))
			require.GreaterOrEqual(t, len(d.Requests()), 120, "it is read back all the time")
		}

		line := "ip route add table 40 10.6.0.0/16 via 172.16.70.1 dev net0"
		require.Equal(t, 1, devices[0].RemoveFromKernel(line))
		r.After(time.Minute)
		require.Contains(t, devices[0].Kernel(), line, "what is missing in fact is repaired")
		require.Contains(t, r.Recorded(), "DriftRepaired")
		require.Zero(t, writesTo(devices[1]))
	})
}

// TestARejectedRouteStaysRejected has a lying device whose kernel rejects a route: that is reported all the time, and nothing of the others.
func TestARejectedRouteStaysRejected(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		d.SetUnsteady(simulator.RealUnsteady(), 1)
		r.routed()
		r.Apply(&v1alpha1.CNFRoute{ObjectMeta: metav1.ObjectMeta{Name: "far"}, Spec: v1alpha1.CNFRouteSpec{
			Dst: "10.8.0.0/16", Gw: "192.0.2.1", Dev: "net0", Table: "cnf",
		}})
		r.start()
		r.After(time.Minute)
		r.Writes()
		for range 20 {
			r.After(30 * time.Second)
			for name, want := range map[string]v1alpha1.State{"far": v1alpha1.Applying, "east": v1alpha1.InSync, "west": v1alpha1.InSync} {
				o := r.Stored(object.Ref{Kind: "CNFRoute", Namespace: "site", Name: name})
				status, _ := o.Object["status"].(map[string]any)
				require.Equal(t, string(want), status["state"], "%s: %v", name, status["message"])
			}
		}
		require.Empty(t, r.Writes())
		require.Equal(t, 2, strings.Count(d.Kernel(), "ip route add table 40"))
	})
}
