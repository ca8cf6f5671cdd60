package openwrt_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// TestKernelDoubles creates objects again after the container has restarted in its pod.
func TestKernelDoubles(t *testing.T) {
	for _, tc := range []struct {
		name, path, body, line string
		doubles                bool
	}{
		{"a rule without priority", "rule/v1/rules", `"src":"10.1.1.1","table":"40"`, "ip rule add from 10.1.1.1 lookup 40\n", true},
		{"a rule with priority", "rule/v1/rules", `"src":"10.1.1.1","table":"40","prio":"7"`, "ip rule add prio 7 from 10.1.1.1 lookup 40\n", false},
		{"an application", "application/v1/applications", `"iplist":"10.1.1.1"`, "ip rule add from 10.1.1.1 lookup 40\n", true},
		{"a route", "route/v1/routes", `"dst":"10.9.0.0/16","dev":"net0"`, "ip route add 10.9.0.0/16 dev net0\n", false},
		{
			"a translation", "nat/v1/nats", `"proto":"tcp","dest_ip":"10.0.0.1","target":"DNAT"`,
			"iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination 10.0.0.1\n", true,
		},
		{"a rule between interfaces", "networkfirewall/v1/rules", `"src":"net0","target":"DROP"`, "iptables -t filter -A INPUT -i net0 -j DROP\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			must(t, d, "POST", tc.path, `{"name":"x",`+tc.body+`}`)
			require.Equal(t, tc.line, d.Kernel())
			d.Restart()
			require.Equal(t, tc.line, d.Kernel(), "the kernel is the pod's")
			must(t, d, "POST", tc.path, `{"name":"x",`+tc.body+`}`)
			if !tc.doubles {
				require.Equal(t, tc.line, d.Kernel())
				return
			}
			require.Equal(t, tc.line+tc.line, d.Kernel())
			must(t, d, "DELETE", tc.path+"/x", "")
			require.Equal(t, tc.line, d.Kernel(), "one copy outlives its object")
			d.Recreate()
			require.Empty(t, d.Kernel())
		})
	}
}

// TestImpossibleIndexRemovesCopies puts a doubled translation to a place beyond its chain: the first half of a PUT deletes a
// copy, the second adds none.
func TestImpossibleIndexRemovesCopies(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	const body = `{"name":"n","proto":"tcp","dest_ip":"10.0.0.1","target":"DNAT"}`
	must(t, d, "POST", "nat/v1/nats", body)
	d.Restart()
	must(t, d, "POST", "nat/v1/nats", body)
	must(t, d, "PUT", "nat/v1/nats/n", strings.Replace(body, "}", `,"index":"9999"}`, 1))
	require.Equal(t, 1, strings.Count(d.Kernel(), "DNAT"))
	must(t, d, "DELETE", "nat/v1/nats/n", "")
	require.Empty(t, d.Kernel())
}

// TestConfiguredAndNotInTheKernel has objects that the device stores, though the command that applies them fails.
func TestConfiguredAndNotInTheKernel(t *testing.T) {
	for _, tc := range []struct{ name, path, body string }{
		{"a gateway that is not next to the device", "route/v1/routes", `"dst":"10.9.0.0/16","gw":"192.0.2.1","dev":"net0"`},
		{"a gateway by another interface", "route/v1/routes", `"dst":"10.9.0.0/16","gw":"172.16.70.1","dev":"net2"`},
		{"a destination with more than a prefix", "route/v1/routes", `"dst":"10.9.0.1/16","dev":"net0"`},
		{"the subnet of an interface", "route/v1/routes", `"dst":"172.16.70.0/24","dev":"net1"`},
		{"a second default route", "route/v1/routes", `"dst":"default","dev":"net0"`},
		{"an index beyond the chain", "nat/v1/nats", `"proto":"tcp","dest_ip":"10.0.0.1","target":"DNAT","index":"99"`},
		{"a table beyond 32 bits", "rule/v1/rules", `"src":"10.1.1.1","table":"4294967296"`},
		{"a priority beyond 32 bits", "rule/v1/rules", `"src":"10.1.1.1","table":"40","prio":"4294967296"`},
		{"a mark that only the device reads as hexadecimal", "rule/v1/rules", `"src":"10.1.1.1","fwmark":"ff"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			routes, rules := must(t, d, "GET", "v1/status/route", ""), must(t, d, "GET", "v1/status/rule", "")
			must(t, d, "POST", tc.path, `{"name":"x",`+tc.body+`}`)
			require.Contains(t, must(t, d, "GET", tc.path, ""), `"name":"x"`)
			require.Empty(t, d.Kernel())
			require.Equal(t, routes, must(t, d, "GET", "v1/status/route", ""))
			require.Equal(t, rules, must(t, d, "GET", "v1/status/rule", ""))
		})
	}
}

// TestGatewayBehindARoute has a gateway that another route brings next to the device.
func TestGatewayBehindARoute(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "route/v1/routes", `{"name":"a","dst":"192.0.2.0/24","dev":"net2"}`)
	must(t, d, "POST", "route/v1/routes", `{"name":"b","dst":"default","gw":"192.0.2.1","dev":"net2","table":"cnf"}`)
	require.Equal(t, "ip route add 192.0.2.0/24 dev net2\nip route add table 40 default via 192.0.2.1 dev net2\n", d.Kernel())
	require.NotContains(t, must(t, d, "GET", "v1/status/route", ""), `"40"`, "no rule looks it up")
	must(t, d, "POST", "rule/v1/rules", `{"name":"r","fwmark":"16","table":"40"}`)
	require.Contains(t, must(t, d, "GET", "v1/status/route", ""), `"40":{"item":[{"gateway":"192.0.2.1","device":"net2","destination":"default"}]}`)
	require.Contains(t, must(t, d, "GET", "v1/status/rule", ""), `{"table":"40","src":"all","prio":"32765","not":"false","fwmark":"0x10"}`)
}

// TestRulesAreDeletedByWhatTheyName deletes a rule whose own copy the kernel does not have.
func TestRulesAreDeletedByWhatTheyName(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "rule/v1/rules", `{"name":"a","src":"10.1.1.1","table":"40"}`)
	d.FlushKernel()
	require.Empty(t, d.Kernel())
	must(t, d, "POST", "rule/v1/rules", `{"name":"b","src":"10.1.1.1","dst":"10.2.2.2","table":"40"}`)
	must(t, d, "DELETE", "rule/v1/rules/a", "")
	require.Empty(t, d.Kernel(), "the other one matches as well")
}

// TestDuplicateRules makes rules of one priority that the kernel takes for the same.
func TestDuplicateRules(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	add := func(fields string) {
		must(t, d, "POST", "rule/v1/rules", `{"name":"r","prio":"7","table":"40",`+fields+`}`)
	}
	add(`"src":"10.1.1.1"`)
	add(`"src":"10.1.1.1/32","flag":true`) // an inverted one is no other
	add(`"fwmark":""`)                     // nor is one for any source
	require.Equal(t, "ip rule add prio 7 from 10.1.1.1 lookup 40\n", d.Kernel())
	add(`"src":"10.1.1.1","fwmark":"0x1"`)
	add(`"src":"10.1.1.1","dst":"10.2.2.2"`)
	require.Equal(t, 3, strings.Count(d.Kernel(), "\n"), d.Kernel())
}

// TestTextAsFlag sends the flag of a rule as text: it is stored as false, and the kernel's rule is inverted.
func TestTextAsFlag(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	require.JSONEq(t, `{"name":"r","src":"10.1.1.1","flag":false}`, must(t, d, "POST", "rule/v1/rules", `{"name":"r","src":"10.1.1.1","flag":"true"}`))
	require.Equal(t, "ip rule add not from 10.1.1.1 lookup main\n", d.Kernel())
	must(t, d, "POST", "rule/v1/rules", `{"name":"s","src":"10.1.1.1","flag":true}`)
	require.Contains(t, d.Export("rule-cnf"), "option flag 'false'")
	require.Contains(t, d.Export("rule-cnf"), "option flag 'true'")
}

// TestOrderOfRules has the same rules in two orders, as two replicas of one CNF had them: a rule without a priority goes before the first one.
func TestOrderOfRules(t *testing.T) {
	const app = `{"name":"app","iplist":"10.5.0.1,10.5.0.2,10.5.0.3"}`
	const rule = `{"name":"rr","src":"10.5.0.0/16","table":"main","prio":"500"}`
	first, second := newDevice(t, simulator.Options{}), newDevice(t, simulator.Options{})
	must(t, first, "POST", "application/v1/applications", app)
	must(t, first, "POST", "rule/v1/rules", rule)
	must(t, second, "POST", "rule/v1/rules", rule)
	must(t, second, "POST", "application/v1/applications", app)
	order := func(d *simulator.Device) string {
		var status struct {
			Status []struct{ Prio, Src, Table string }
		}
		require.NoError(t, json.Unmarshal([]byte(must(t, d, "GET", "v1/status/rule", "")), &status))
		var out []string
		for _, r := range status.Status[1 : len(status.Status)-2] { // without those of every pod
			out = append(out, r.Prio+" from "+r.Src+" lookup "+r.Table)
		}
		return strings.Join(out, " | ")
	}
	require.Equal(t, "500 from 10.5.0.0/16 lookup main | 32763 from 10.5.0.3 lookup 40 | 32764 from 10.5.0.2 lookup 40 | 32765 from 10.5.0.1 lookup 40", order(first))
	require.Equal(t, "497 from 10.5.0.3 lookup 40 | 498 from 10.5.0.2 lookup 40 | 499 from 10.5.0.1 lookup 40 | 500 from 10.5.0.0/16 lookup main", order(second))
	must(t, first, "PUT", "application/v1/applications/app", app)
	require.Equal(t, order(second), order(first), "what is written again goes before the first rule")

	require.NoError(t, second.AddToKernel("ip rule add not prio 1 from 10.9.0.0/16 lookup main fwmark 0x1"))
	must(t, second, "PUT", "application/v1/applications/app", app)
	require.True(t, strings.HasPrefix(order(second), "0 from 10.5.0.1 lookup 40 | 0 from 10.5.0.2 lookup 40"), order(second))
	for _, wrong := range []string{"ip rule add", "ip rule add prio 1", "ip rule add via x lookup main", "ip rule add prio x lookup main", "ip rule add prio 1 lookup"} {
		require.Error(t, second.AddToKernel(wrong), wrong)
	}
}
