package openwrt_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// fillFirewall makes rules until the package is beyond the limit of one message.
func fillFirewall(t *testing.T, d *simulator.Device, limit int) {
	t.Helper()
	for i := 0; d.PackageSize("firewall") <= limit; i++ {
		require.NoError(t, d.AddSection("firewall", "rule", "", map[string]any{"name": fmt.Sprint("r", i), "target": "DROP"}))
	}
}

// TestPackageBeyondOneMessage lists a package that is too large: the answer comes late and is empty, and nothing works until
// the daemon runs again.
func TestPackageBeyondOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 10_000
		d := newDevice(t, simulator.Options{MessageLimit: limit})
		defer d.Close()
		must(t, d, "POST", "firewall/v1/rules", `{"name":"first"}`)
		require.NoError(t, d.AddSection("firewall", "rule", "named", nil))
		fillFirewall(t, d, limit)
		begin := time.Now()
		must(t, d, "GET", "firewall/v1/rules/named", "") // the daemon sends one section alone
		require.Zero(t, time.Since(begin))

		nc, err := d.Dial(t.Context(), "tcp", "device")
		require.NoError(t, err)
		_, err = io.WriteString(nc, "GET "+base+"firewall/v1/rules HTTP/1.0\r\nHost: d\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		synctest.Wait()
		requireStatus(t, d, "500", "GET", "mwan3/v1/policies", "")
		requireStatus(t, d, "500", "GET", "v1/services", "")
		requireStatus(t, d, "500", "POST", "mwan3/v1/policies", policy)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		must(t, d, "GET", "mwan3/v1/policies", "")
		late, err := io.ReadAll(nc)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(late), "HTTP/1.1 200 OK\r\n"), "%s", late)
		require.True(t, strings.HasSuffix(string(late), "\r\n\r\n"+`{"rules":[]}`), "as if there were none: %s", late)
		require.Equal(t, 30*time.Second, time.Since(begin))
	})
}

// TestObjectsOfAPackageBeyondOneMessage asks for objects of a package that is too large.
func TestObjectsOfAPackageBeyondOneMessage(t *testing.T) {
	const limit = 10_000
	d := newDevice(t, simulator.Options{MessageLimit: limit, Patience: time.Nanosecond, Respawn: time.Hour})
	must(t, d, "POST", "firewall/v1/zones", zoneLAN)
	fillFirewall(t, d, limit)
	dies := func(want, method, path, body string) {
		t.Helper()
		requireStatus(t, d, want, method, path, body)
		requireStatus(t, d, "500", "GET", "v1/services", "")
		d.Respawn()
		must(t, d, "GET", "v1/services", "")
	}
	dies("404", "GET", "firewall/v1/rules/r0", "")
	dies("404", "DELETE", "firewall/v1/rules/r0", "")
	dies("500", "PUT", "firewall/v1/rules/r0", `{"target":"ACCEPT"}`)
	dies("400", "POST", "firewall/v1/rules", `{"name":"x","src":"lan"}`) // the zone is not found
	require.NotContains(t, d.Export("firewall"), "'x'")
	dies("201", "POST", "firewall/v1/rules", `{"name":"x"}`)
	require.Contains(t, d.Export("firewall"), "'x'", "stored, though the answer is null")
}

// TestLimitOfAPackage counts the rules that fit into one message.
func TestLimitOfAPackage(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	rule := map[string]any{
		"name": "0123456789012345678901234567", "src": "zone012345", "dest": "zone678901", "src_ip": "192.168.100.0/24", "dest_ip": "192.168.200.0/24",
		"proto": "tcp", "src_port": "10000", "dest_port": "10001", "target": "ACCEPT", "family": "ipv4", "mark": "0x10/0xff",
	}
	for range 100 {
		require.NoError(t, d.AddSection("firewall", "rule", "", rule))
	}
	const limit = 1 << 20
	fit := limit / (d.PackageSize("firewall") / 100)
	require.Greater(t, fit, 2400, "as measured")
	require.Less(t, fit, 2600)
}
