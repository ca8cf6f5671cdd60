package openwrt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

const remoteOnly = `{"name":"hub","authentication_method":"psk","pre_shared_key":"k"}`

// TestOneOddSectionFailsTheList writes sections by hand that the scripts cannot read.
func TestOneOddSectionFailsTheList(t *testing.T) {
	for _, tc := range []struct {
		name, kind, good, body string
		pkg, typ               string
		odd                    map[string]any
	}{
		{"a policy without members", "mwan3/v1/policies", "balance1", policy, "mwan3", "policy", map[string]any{"last_resort": "default"}},
		{"a remote with a list of certificates", "ipsec/v1/remotes", "hub", remoteOnly, "ipsec", "remote", map[string]any{"local_public_cert": []string{"/a.pem"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			must(t, d, "POST", tc.kind, tc.body)
			require.NoError(t, d.AddSection(tc.pkg, tc.typ, "odd", tc.odd))
			requireStatus(t, d, "500", "GET", tc.kind, "")
			requireStatus(t, d, "500", "GET", tc.kind+"/odd", "")
			requireStatus(t, d, "500", "DELETE", tc.kind+"/odd", "")
			requireStatus(t, d, "500", "PUT", tc.kind+"/odd", tc.body)
			must(t, d, "GET", tc.kind+"/"+tc.good, "")
			must(t, d, "PUT", tc.kind+"/"+tc.good, tc.body)
			require.Equal(t, 1, d.RemoveSection(tc.pkg, tc.typ, "odd"))
			must(t, d, "GET", tc.kind, "")
		})
	}
}

func requireStatus(t *testing.T, d *simulator.Device, want, method, path, body string) {
	t.Helper()
	status, answer := ask(t, d, method, path, body)
	require.Equal(t, want, status[:3], "%s %s: %s", method, path, answer)
}

// TestMissingPackage deletes the file of a package.
func TestMissingPackage(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	fill(t, d)
	d.RemovePackage("mwan3")
	require.JSONEq(t, `{"policies":[]}`, must(t, d, "GET", "mwan3/v1/policies", ""))
	requireStatus(t, d, "404", "GET", "mwan3/v1/policies/balance1", "")
	requireStatus(t, d, "404", "DELETE", "mwan3/v1/policies/balance1", "")
	requireStatus(t, d, "500", "POST", "mwan3/v1/rules", `{"name":"r"}`)
	requireStatus(t, d, "500", "PUT", "mwan3/v1/rules/r", `{}`)
	requireStatus(t, d, "400", "POST", "mwan3/v1/policies", policy) // what is checked against the package comes first
	d.RemovePackage("ipsec")
	requireStatus(t, d, "500", "POST", "ipsec/v1/proposals", crypto)
	must(t, d, "GET", "firewall/v1/zones/lan", "")
	d.RemovePackage("firewall-nat")
	require.JSONEq(t, `{"nats":[]}`, must(t, d, "GET", "nat/v1/nats", ""))
	must(t, d, "POST", "nat/v1/nats", `{"name":"n"}`) // the script of this module creates its package
	d.Restart()
	must(t, d, "POST", "mwan3/v1/policies", policy)
}

// TestCorruptPackage has a file that UCI cannot parse.
func TestCorruptPackage(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	fill(t, d)
	repair := d.CorruptPackage("mwan3")
	require.JSONEq(t, `{"policies":[]}`, must(t, d, "GET", "mwan3/v1/policies", ""))
	for _, method := range []string{"GET", "DELETE"} {
		requireStatus(t, d, "500", method, "mwan3/v1/policies/balance1", "")
	}
	requireStatus(t, d, "500", "PUT", "mwan3/v1/rules/r", `{}`)
	must(t, d, "GET", "firewall/v1/zones/lan", "")
	repair()
	must(t, d, "GET", "mwan3/v1/policies/balance1", "")
}

// TestSectionOfAnotherType has an object's name taken by a section of another type.
func TestSectionOfAnotherType(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	require.NoError(t, d.AddSection("mwan3", "rule", "balance1", nil))
	requireStatus(t, d, "404", "GET", "mwan3/v1/policies/balance1", "")
	requireStatus(t, d, "404", "DELETE", "mwan3/v1/policies/balance1", "")
	requireStatus(t, d, "409", "POST", "mwan3/v1/policies", policy)
	requireStatus(t, d, "409", "PUT", "mwan3/v1/policies/balance1", policy)
	require.JSONEq(t, `{"policies":[]}`, must(t, d, "GET", "mwan3/v1/policies", ""))
}

// TestOptionsThatTheAPIDoesNotShow writes options into a section that the API neither shows nor keeps.
func TestOptionsThatTheAPIDoesNotShow(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "firewall/v1/zones", zoneWAN)
	must(t, d, "POST", "firewall/v1/rules", `{"name":"r","src":"wan","dest_port":"22","target":"ACCEPT"}`)
	before := must(t, d, "GET", "firewall/v1/rules", "")
	require.Equal(t, 1, d.SetOption("firewall", "rule", "r", "log", "1"))
	require.Equal(t, 1, d.SetOption("firewall", "rule", "r", "enabled", "0"))
	require.Zero(t, d.SetOption("firewall", "rule", "x", "enabled", "0"))
	require.Equal(t, before, must(t, d, "GET", "firewall/v1/rules", ""))
	must(t, d, "PUT", "v1/service/firewall", `{"action":"reload"}`)
	in := packet("net1", outside, ours1, "tcp", 22)
	require.Equal(t, simulator.Reject, d.Trace(in).Verdict, "the rule does nothing")
	require.Equal(t, 1, d.SetOption("firewall", "rule", "r", "enabled", ""))
	must(t, d, "PUT", "v1/service/firewall", `{"action":"reload"}`)
	require.Equal(t, simulator.Accept, d.Trace(in).Verdict)
	must(t, d, "PUT", "firewall/v1/rules/r", `{"src":"wan"}`)
	require.NotContains(t, d.Export("firewall"), "log")
}

// TestExtraOfNetworkFirewallRules has a condition that the device drops.
func TestExtraOfNetworkFirewallRules(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	rule := `{"name":"r","src":"net0","target":"ACCEPT","extra":"-m connlimit --connlimit-above 3"}`
	require.Contains(t, must(t, d, "POST", "networkfirewall/v1/rules", rule), "connlimit", "it is stored")
	require.Equal(t, "iptables -t filter -A INPUT -i net0 -j ACCEPT\n", d.Kernel(), "and matches everything")
}
