package sdwan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// crowd makes so many rules by hand that a daemon of the device ends whenever it is asked for all of them.
func (r *rig) crowd(d *simulator.Device) {
	r.Helper()
	for i := range 2600 {
		require.NoError(r, d.AddSection("firewall", "rule", "", map[string]any{
			"name": fmt.Sprintf("made-by-hand-%d", i), "src": "lan", "dest": "wan", "src_ip": fmt.Sprintf("10.1.%d.%d", i>>8, i&255), "dest_ip": "198.51.100.0/24",
			"proto": "tcp", "dest_port": "8080", "target": "ACCEPT", "family": "ipv4", "enabled": "1", "extra": "-m comment --comment " + strings.Repeat("x", 100),
		}))
	}
	require.Greater(r, d.PackageSize("firewall"), 1<<20)
}

// TestACrowdedDevice has a package that is too large for the device, and reads it seldom: the daemon ends each time. Everything else is
// configured in the meantime.
func TestACrowdedDevice(t *testing.T) {
	for _, tc := range []struct {
		name     string
		firewall bool
		hour     int // how often the daemon may end within an hour
	}{
		{"with rules of netloom among them", true, 7},
		{"without any", false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.Options.Interval = 5 * time.Second
				d := r.CNF("cnf-0", "10.0.0.1")
				r.crowd(d)
				r.Apply(&v1alpha1.Mwan3Policy{ObjectMeta: metav1.ObjectMeta{Name: "balance"}, Spec: v1alpha1.Mwan3PolicySpec{
					Members: []v1alpha1.Mwan3Member{{Network: "wan-a", Metric: 1, Weight: 1}},
				}})
				if tc.firewall {
					r.Apply(&v1alpha1.FirewallZone{ObjectMeta: metav1.ObjectMeta{Name: "lan"}, Spec: v1alpha1.FirewallZoneSpec{Network: []string{"wan-a"}}})
				}
				r.start()
				r.After(44 * time.Second) // 50 s together
				require.LessOrEqual(t, d.Crashes(), 1)
				require.Contains(t, d.Export("mwan3"), "config policy")
				_, err := r.controller.Plan(r.Context(), r.controller.CNF("site/cnf-0"))
				require.NoError(t, err)
				require.LessOrEqual(t, d.Crashes(), 1, "a plan for a request leaves the package alone too")
				if tc.firewall {
					status, _ := r.Stored(object.Ref{Kind: "FirewallZone", Namespace: "site", Name: "lan"}).Object["status"].(map[string]any)
					require.Equal(t, string(v1alpha1.Applying), status["state"])
					require.Contains(t, status["message"], "a package is too large")
				}
				r.After(time.Hour)
				require.LessOrEqual(t, d.Crashes(), tc.hour)
				require.Positive(t, d.Crashes())
			})
		})
	}
}
