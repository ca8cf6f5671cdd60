package cnf

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/daemon"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// settle waits until everything has settled.
func settle() { time.Sleep(rest) }

// site is a CNF with a policy, zones, and rules: as many of mwan3 and of the firewall as half says.
func site(t *testing.T, c *Cluster, replicas, half int) []*unstructured.Unstructured {
	t.Helper()
	require.NoError(t, c.Network(workload{namespace: "default", name: "cnf", purpose: "cnf1"}, replicas))
	list := []*unstructured.Unstructured{
		resourceOf("Mwan3Policy", "policy", map[string]any{"members": []any{
			map[string]any{"network": "ovn-net1", "metric": int64(1), "weight": int64(1)},
		}}),
		resourceOf("FirewallZone", "lan", map[string]any{"network": []any{"ovn-net0"}}),
		resourceOf("FirewallZone", "wan", map[string]any{"network": []any{"ovn-net1"}}),
	}
	require.NoError(t, c.Apply(list...))
	list = nil
	for i := range half {
		list = append(list, wanRule(i, 0), zoneRule(i, 0))
	}
	require.NoError(t, c.Apply(list...))
	return list
}

// resourceOf is an SD-WAN resource for the function of site.
func resourceOf(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := object("batch.sdewan.akraino.org/v1alpha1", kind, "default", name, map[string]any{"spec": spec})
	o.SetLabels(map[string]string{"sdewanPurpose": "cnf1"})
	return o
}

func wanRule(i, version int) *unstructured.Unstructured {
	return resourceOf("Mwan3Rule", fmt.Sprintf("rule-%d", i), map[string]any{
		"policy": "policy", "src_ip": "", "src_port": "", "dest_ip": fmt.Sprintf("10.%d.%d.0/24", version, i), "dest_port": "",
		"proto": "tcp", "family": "ipv4", "sticky": "", "timeout": "",
	})
}

func zoneRule(i, version int) *unstructured.Unstructured {
	return resourceOf("FirewallRule", fmt.Sprintf("rule-%d", i), map[string]any{
		"src": "lan", "dest": "wan", "dest_ip": fmt.Sprintf("10.%d.%d.0/24", version, i), "proto": "tcp", "target": "REJECT",
	})
}

// cost is what a device was asked for.
type cost struct{ reads, writes, reloads, logins int }

func costOf(d *simulator.Device) cost {
	c := cost{reloads: len(d.Actions())}
	for _, r := range d.Requests() {
		switch {
		case r.Login:
			c.logins++
		case r.Method == http.MethodGet:
			c.reads++
		default:
			c.writes++
		}
	}
	return c
}

// TestABurstOfChangesIsOneReload changes a hundred resources at once and counts what that costs a device, beside the
// reference controller, which reads, writes and restarts a service for each of them.
func TestABurstOfChangesIsOneReload(t *testing.T) {
	const changes = 100
	for _, tc := range []struct {
		name  string
		apply func(t *testing.T, c *Cluster)
	}{
		{"made", func(t *testing.T, c *Cluster) {
			t.Helper()
			for i := range changes / 2 {
				require.NoError(t, c.Apply(wanRule(i, 0), zoneRule(i, 0)))
			}
		}},
		{"changed", func(t *testing.T, c *Cluster) {
			t.Helper()
			for i := range changes / 2 {
				require.NoError(t, c.Apply(wanRule(i, 1), zoneRule(i, 1)))
			}
		}},
		{"deleted", func(t *testing.T, c *Cluster) {
			t.Helper()
			for i := range changes / 2 {
				for _, kind := range []string{"mwan3rules", "firewallrules"} {
					require.True(t, c.API.Delete(kind, "default", fmt.Sprintf("rule-%d", i)))
				}
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewCluster(t)
				defer c.Close()
				half := changes / 2
				if tc.name == "made" {
					half = 0
				}
				site(t, c, 2, half)
				c.Start()
				settle()
				require.NoError(t, (&stage{cluster: c}).mark(nil))
				tc.apply(t, c)
				began := time.Now()
				settle()
				for _, r := range c.devices.all() {
					got := costOf(r.device)
					t.Logf("%s, 100 resources %s: %d reads, %d writes of objects, %d reloads; reference: %d reads, %d writes, %d restarts",
						r.key(), tc.name, got.reads, got.writes-got.reloads, got.reloads, changes, changes, changes)
					require.Equal(t, map[string]int{"mwan3": 1, "firewall": 1}, reloads(r.device))
					require.LessOrEqual(t, got.writes-got.reloads, changes+2*2, "a note that a reload is due comes and goes with each service")
					require.GreaterOrEqual(t, got.writes-got.reloads, changes)
					require.LessOrEqual(t, got.reads, changes)
				}
				require.Less(t, time.Since(began), Interval, "it did not wait for the next read-back")
			})
		})
	}
}

// TestAnHourWithoutChanges counts what a device is asked for while nothing happens.
func TestAnHourWithoutChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(t)
		defer c.Close()
		site(t, c, 2, 50)
		c.Start()
		settle()
		require.NoError(t, (&stage{cluster: c}).mark(nil))
		time.Sleep(time.Hour)
		for _, r := range c.devices.all() {
			got := costOf(r.device)
			t.Logf("%s, an hour at one read-back in %s: %+v", r.key(), Interval, got)
			require.Zero(t, got.writes)
			require.LessOrEqual(t, got.reads, 13*int(time.Hour/Interval+1), "one list of each kind")
			require.LessOrEqual(t, got.logins, 2)
		}
		for request, n := range c.API.Requests() {
			t.Logf("API: %s, %d times", request, n)
			require.LessOrEqual(t, n, int(time.Hour/Interval+1), request)
		}
	})
}

// TestAnHourOfReports counts what docs/operations.md says of an hour with reports for CNFStatus, with the defaults.
func TestAnHourOfReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(t)
		defer c.Close()
		site(t, c, 2, 50)
		c.change = func(o *daemon.Options) { o.SDWAN.StatusInterval = Interval }
		c.Start()
		time.Sleep(time.Minute)
		require.NoError(t, (&stage{cluster: c}).mark(nil))
		time.Sleep(time.Hour)
		for _, r := range c.devices.all() {
			got := costOf(r.device)
			t.Logf("%s, an hour with reports: %+v", r.key(), got)
			require.Zero(t, got.writes)
			require.InDelta(t, 1680, got.reads, 14, "13 lists and a report in each interval, give or take one")
			require.LessOrEqual(t, got.logins, 2)
			require.LessOrEqual(t, got.reads+got.logins, 1682)
		}
		writes := 0
		for request, n := range c.API.Requests() {
			t.Logf("API: %s, %d times", request, n)
			if verb, _, _ := strings.Cut(request, " "); verb != "get" && verb != "list" && verb != "watch" {
				require.Contains(t, request, "cnfstatuses")
				writes += n
			}
		}
		require.InDelta(t, 120, writes, 1, "one of CNFStatus in each interval")
	})
}

// TestAHangingDeviceDelaysNoOther measures when devices have a new rule while one of them hangs, and while none does.
func TestAHangingDeviceDelaysNoOther(t *testing.T) {
	took := map[bool]time.Duration{}
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := NewCluster(t)
			defer c.Close()
			site(t, c, 3, 5)
			c.Start()
			settle()
			others := c.devices.all()
			if hangs {
				others[0].device.Hang()
				time.Sleep(time.Minute) // in whatever way its loop waits
			}
			others = others[1:]
			for version := 1; version <= 20; version++ {
				began := time.Now()
				require.NoError(t, c.Apply(wanRule(1, version)))
				want := fmt.Sprintf("dest_ip '10.%d.1.0/24'", version)
				for _, r := range others {
					for !strings.Contains(r.device.Export("mwan3"), want) {
						require.Less(t, time.Since(began), Interval)
						time.Sleep(time.Millisecond)
					}
				}
				took[hangs] = max(took[hangs], time.Since(began))
				time.Sleep(time.Duration(version) * 777 * time.Millisecond)
			}
		})
	}
	t.Logf("at the most %s with a device that hangs, %s without", took[true], took[false])
	require.LessOrEqual(t, took[true], took[false]+time.Second, "changes are gathered for a second at the most")
}
