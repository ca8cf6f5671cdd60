package openwrt_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// fill makes objects of several kinds.
func fill(t *testing.T, d *simulator.Device) {
	t.Helper()
	for _, made := range [][2]string{
		{"firewall/v1/zones", zoneLAN},
		{"firewall/v1/zones", zoneWAN},
		{"mwan3/v1/policies", policy},
		{"ipsec/v1/proposals", crypto},
		{"ipsec/v1/remotes", remote},
		{"nat/v1/nats", `{"name":"n1","src":"net1","proto":"tcp","src_dport":"80","dest_ip":"10.0.0.1","dest_port":"8080","target":"DNAT"}`},
		{"route/v1/routes", `{"name":"r1","dst":"192.167.23.0/24","gw":"172.16.70.1","dev":"net0","table":"cnf"}`},
		{"application/v1/applications", `{"name":"app","iplist":"10.1.1.1"}`},
	} {
		must(t, d, "POST", made[0], made[1])
	}
}

func TestExport(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	fill(t, d)
	require.NoError(t, d.AddSection("firewall", "rule", "", map[string]any{"name": "it's mine", "proto": []string{"tcp", "udp"}}))
	require.Equal(t, `package firewall

config defaults
	option syn_flood '1'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'

config include
	option path '/etc/firewall.user'

config zone
	option name 'lan'
	list network 'net0'
	option input 'ACCEPT'
	option forward 'REJECT'
	option output 'ACCEPT'

config zone
	option name 'wan'
	list network 'net1'
	option masq '1'
	option input 'REJECT'
	option forward 'REJECT'
	option output 'ACCEPT'

config rule
	option name 'it'\''s mine'
	list proto 'tcp'
	list proto 'udp'

package ipsec

config ipsec
	option debug '1'
	option rtinstall_enabled '0'
	option vip_enabled '0'

config proposal 'prop1'
	option encryption_algorithm 'aes128'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'

config remote 'hub'
	option type 'VTI-based'
	option gateway '10.10.10.35'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'test_key'
	list crypto_proposal 'prop1'
	list tunnel 'connA'
	list transport 'connT'

config tunnel 'connA'
	option mode 'start'
	option remote_subnet '192.168.1.1/24'

config transport 'connT'
	option mode 'start'

package app-cnf

config rule 'app'
	option src '10.1.1.1'

`, d.Export("firewall", "ipsec", "app-cnf"))
	require.Equal(t, 1, d.RemoveSection("firewall", "rule", "it's mine"))
	require.Contains(t, d.Export(), "package mwan3\n\nconfig globals 'globals'\n")
	require.Equal(t, `iptables -t nat -A PREROUTING -i net1 -p tcp --dport 80 -j DNAT --to-destination 10.0.0.1:8080
ip rule add from 10.1.1.1 lookup 40
ip route add table 40 192.167.23.0/24 via 172.16.70.1 dev net0
`, d.Kernel())
}

// TestDeleteLeavesNothing makes objects and deletes them again.
func TestDeleteLeavesNothing(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "ipsec/v1/proposals", crypto)
	must(t, d, "DELETE", "ipsec/v1/proposals/prop1", "")
	before := d.Export()
	fill(t, d)
	for _, path := range []string{
		"firewall/v1/zones/lan", "firewall/v1/zones/wan", "mwan3/v1/policies/balance1", "ipsec/v1/remotes/hub", "ipsec/v1/proposals/prop1",
		"nat/v1/nats/n1", "route/v1/routes/r1", "application/v1/applications/app",
	} {
		must(t, d, "DELETE", path, "")
	}
	// What a remote's type has set stays.
	want := strings.Replace(before, "\toption debug '1'\n", "\toption debug '1'\n\toption rtinstall_enabled '0'\n\toption vip_enabled '0'\n", 1)
	require.Equal(t, want, d.Export())
	require.Empty(t, d.Kernel())
}

func TestAnonymousObjectsPileUp(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "firewall/v1/zones", `{"name":"z","input":"ACCEPT"}`)
	require.JSONEq(t, `{"name":"z","input":"ACCEPT"}`, must(t, d, "POST", "firewall/v1/zones", `{"name":"z","input":"DROP"}`))
	require.JSONEq(t, `{"zones":[{"name":"z","input":"ACCEPT"},{"name":"z","input":"DROP"}]}`, must(t, d, "GET", "firewall/v1/zones", ""))
	must(t, d, "POST", "firewall/v1/zones", `{"name":"y"}`)
	must(t, d, "PUT", "firewall/v1/zones/z", `{"name":"other","input":"REJECT"}`)
	require.JSONEq(t, `{"zones":[{"name":"y"},{"name":"z","input":"REJECT"}]}`, must(t, d, "GET", "firewall/v1/zones", ""),
		"a put leaves one, at the end")
}

// TestPutLosesObjects makes a put fail between its halves.
func TestPutLosesObjects(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	fill(t, d)
	status, _ := ask(t, d, "PUT", "mwan3/v1/policies/balance1", `{"members":[{"interface":"x"}]}`)
	require.Contains(t, status, "400")
	must(t, d, "GET", "mwan3/v1/policies/balance1", "") // what fails its checks does no harm
	status, _ = ask(t, d, "PUT", "mwan3/v1/policies/balance1", `{"members":[{"interface":"net0"},{"interface":"net0"}]}`)
	require.Contains(t, status, "400")
	status, _ = ask(t, d, "GET", "mwan3/v1/policies/balance1", "")
	require.Contains(t, status, "404")
}

func TestHalfBuiltRemote(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "ipsec/v1/proposals", crypto)
	taken := `{"name":"hub","type":"x","authentication_method":"psk","pre_shared_key":"k","connections":[{"name":"prop1","conn_type":"tunnel"}]}`
	status, _ := ask(t, d, "POST", "ipsec/v1/remotes", taken)
	require.Contains(t, status, "409")
	require.JSONEq(t, `{"name":"hub"}`, must(t, d, "GET", "ipsec/v1/remotes/hub", ""), "a remote with a type is there already")
	status, _ = ask(t, d, "POST", "ipsec/v1/remotes", `{"name":"hub","authentication_method":"psk","pre_shared_key":"k"}`)
	require.Contains(t, status, "409")
	must(t, d, "PUT", "ipsec/v1/remotes/hub", `{"authentication_method":"psk","pre_shared_key":"k"}`)
	require.Contains(t, must(t, d, "GET", "ipsec/v1/remotes/hub", ""), `"pre_shared_key":"k"`)
	status, _ = ask(t, d, "POST", "ipsec/v1/remotes", strings.ReplaceAll(strings.Replace(taken, `"type":"x",`, "", 1), `"hub"`, `"spoke"`))
	require.Contains(t, status, "409")
	status, _ = ask(t, d, "GET", "ipsec/v1/remotes/spoke", "")
	require.Contains(t, status, "404", "one without leaves nothing")
}

// TestBrokenScriptsLeaveGhosts checks that requests see a section of which the kernel has nothing, and that it stays.
func TestBrokenScriptsLeaveGhosts(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	status, _ := ask(t, d, "POST", "networkfirewall/v1/rules", `{"name":"ghost","src":"net0"}`)
	require.Contains(t, status, "500")
	require.Contains(t, must(t, d, "GET", "networkfirewall/v1/rules", ""), `"name":"ghost"`)
	require.NotContains(t, d.Export(), "ghost", "it is not in the file before the next write to its package")
	must(t, d, "POST", "networkfirewall/v1/rules", `{"name":"r","src":"net0","target":"DROP"}`)
	require.Contains(t, must(t, d, "GET", "networkfirewall/v1/rules", ""), `"name":"ghost"`)
	require.Equal(t, "iptables -t filter -A INPUT -i net0 -j DROP\n", d.Kernel())
}

func TestCertificates(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	pem := "-----BEGIN CERTIFICATE-----\nMIIBszCCARygAwIBAgIJAOB\n-----END CERTIFICATE-----\n"
	text := base64.StdEncoding.EncodeToString([]byte(pem))
	body := fmt.Sprintf(`{"name":"hub","authentication_method":"pubkey","local_public_cert":"%s___%s","local_private_cert":"%s","shared_ca":"%s"}`,
		text, text, text, text)
	answer := must(t, d, "POST", "ipsec/v1/remotes", body)
	require.NotContains(t, answer, "MIIB")
	require.NotContains(t, answer, text)
	require.NotEqual(t, strings.ToValidUTF8(answer, ""), answer, "rubbish")
	require.Contains(t, d.Export("ipsec"),
		"option local_public_cert '/etc/ipsec.d/certs/hub_public_0.pem, /etc/ipsec.d/certs/hub_public_1.pem'")
	short := strings.ReplaceAll(strings.ReplaceAll(body, text+"___", ""), text, "YQ==")
	require.JSONEq(t, `{"name":"hub","enabled":"1","authentication_method":"pubkey"}`, must(t, d, "PUT", "ipsec/v1/remotes/hub", short),
		"of less than four characters nothing is shown")
	must(t, d, "GET", "ipsec/v1/remotes", "")
	must(t, d, "DELETE", "ipsec/v1/remotes/hub", "")
}

func TestImpossibleCommandsGoUnnoticed(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	for name, fields := range map[string]string{
		"no protocol": `"src_dport":"80","dest_ip":"10.0.0.1","target":"DNAT"`,
		"two at once": `"proto":"tcpudp","dest_ip":"10.0.0.1","target":"DNAT"`,
		"no target":   `"proto":"tcp"`,
		"no place":    `"proto":"tcpudp","dest_ip":"10.0.0.1","target":"DNAT","index":"1"`,
		"too far":     `"proto":"tcp","dest_ip":"10.0.0.1","target":"DNAT","index":"9"`,
	} {
		must(t, d, "POST", "nat/v1/nats", `{"name":"`+name+`",`+fields+`}`)
		require.Empty(t, d.Kernel(), name)
	}
	must(t, d, "POST", "nat/v1/nats", `{"name":"first","proto":"tcp","dest_ip":"10.0.0.1","target":"DNAT","index":"1"}`)
	must(t, d, "POST", "nat/v1/nats", `{"name":"second","proto":"udp","dest_ip":"10.0.0.1","target":"DNAT","index":"2"}`)
	require.Equal(t, "iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination 10.0.0.1\n"+
		"iptables -t nat -A PREROUTING -p udp -j DNAT --to-destination 10.0.0.1\n", d.Kernel())
	must(t, d, "POST", "application/v1/applications", `{"name":"a-b","iplist":"10.1.1.1"}`)
	require.Contains(t, d.Kernel(), "ip rule add from 10.1.1.1 lookup 40", "it cannot be deleted any more")
}

// TestPlaceInAChain counts the rules that the service puts there: a hook for custom rules and one for each zone.
func TestPlaceInAChain(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "firewall/v1/zones", zoneLAN)
	must(t, d, "POST", "firewall/v1/zones", zoneWAN)
	must(t, d, "PUT", "v1/service/firewall", `{"action":"reload"}`)
	nat := func(index string) {
		must(t, d, "POST", "nat/v1/nats", `{"name":"n","proto":"tcp","dest_ip":"10.0.0.`+index+`","target":"DNAT","index":"`+index+`"}`)
	}
	nat("5")
	require.Empty(t, d.Kernel())
	nat("4")
	nat("5")
	nat("1")
	require.Equal(t, "iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination 10.0.0.1\n"+
		"iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination 10.0.0.4\n"+
		"iptables -t nat -A PREROUTING -p tcp -j DNAT --to-destination 10.0.0.5\n", d.Kernel())
}

func TestLogin(t *testing.T) {
	d := newDevice(t, simulator.Options{Strict: true, Password: "p&q"})
	login := func(kind, form string) string {
		return talk(t, d, fmt.Sprintf("POST /cgi-bin/luci/ HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			kind, len(form), form))
	}
	const form = "application/x-www-form-urlencoded"
	for name, answer := range map[string]string{
		"wrong":    login(form, "luci_username=root&luci_password=x"),
		"unquoted": login(form, "luci_username=root&luci_password=p&q"),
		"no form":  login("text/plain", "luci_username=root&luci_password=p%26q"),
		"JSON":     login("application/json", `{"luci_username":"root","luci_password":"p&q"}`),
	} {
		require.True(t, strings.HasPrefix(answer, "HTTP/1.1 403 Forbidden\r\n"), name)
		require.Contains(t, answer, "\r\nX-LuCI-Login-Required: yes\r\n", name)
	}
	answer := login(form, "luci_username=root&luci_password=p%26q")
	require.Regexp(t, "^HTTP/1.1 302 Found\r\n", answer)
	require.Regexp(t, "\r\nSet-Cookie: sysauth=[0-9a-f]{32}; path=/cgi-bin/luci/; SameSite=Strict; HttpOnly\r\n", answer)
	require.Contains(t, answer, "\r\nLocation: /cgi-bin/luci/\r\n")
	_, token, _ := strings.Cut(answer, "sysauth=")
	with := func(path string) string {
		return talk(t, d, "GET "+path+" HTTP/1.0\r\nHost: d\r\nConnection: close\r\nCookie: sysauth="+token[:32]+"\r\n\r\n")
	}
	require.Contains(t, with(base+"v1/services"), "200 OK")
	status, _ := ask(t, d, "GET", "v1/services", "")
	require.Equal(t, "403 Forbidden", status)
	wrong := "luci_username=root&luci_password=x"
	require.Contains(t, talk(t, d, fmt.Sprintf("POST /cgi-bin/luci/ HTTP/1.0\r\nHost: d\r\nCookie: sysauth=%s\r\nContent-Type: %s\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n%s", token[:32], form, len(wrong), wrong)), "200 OK", "with a session no password is needed")
	require.Contains(t, with("/cgi-bin/luci/admin/logout"), "302 Found")
	require.Contains(t, with(base+"v1/services"), "403 Forbidden")
}

// TestCommands compares objects with the commands that the device runs for them.
func TestCommands(t *testing.T) {
	for _, tc := range []struct{ name, path, body, want string }{
		{"tcp and udp", "networkfirewall/v1/rules", `"src":"net0","dest":"net1","proto":"tcpudp","dest_port":"53","target":"ACCEPT"`, "iptables -t filter -A FORWARD -i net0 -o net1 -p tcp --dport 53 -j ACCEPT\niptables -t filter -A FORWARD -i net0 -o net1 -p udp --dport 53 -j ACCEPT\n"},
		{"types of ICMP", "networkfirewall/v1/rules", `"src":"net0","proto":"icmp","icmp_type":["ping","pong"],"target":"DROP"`, "iptables -t filter -A INPUT -i net0 -p icmp --icmp-type ping -j DROP\niptables -t filter -A INPUT -i net0 -p icmp --icmp-type pong -j DROP\n"},
		{"ports of no port", "networkfirewall/v1/rules", `"src":"net0","proto":"esp","dest_port":"9","mark":"0x1","src_mac":"00:11:22:33:44:55","target":"DROP"`, "iptables -t filter -A INPUT -i net0 -p esp -m mac --mac-source 00:11:22:33:44:55 -m mark --mark 0x1 -j DROP\n"},
		{"a mark", "networkfirewall/v1/rules", `"src":"net0","dest":"net1","target":"MARK","set_xmark":"0x2"`, "iptables -t mangle -A PREROUTING -i net0 -j MARK --set-mark 0x2\n"},
		{"no track", "networkfirewall/v1/rules", `"src":"net0","target":"NOTRACK"`, ""},
		{"a source", "nat/v1/nats", `"dest":"#source","src_dip":"10.10.10.15","src_ip":"172.16.70.0/24","proto":"udp","dest_port":"53","src_dport":"5353","target":"SNAT"`, "iptables -t nat -A POSTROUTING -o net1 -p udp -s 172.16.70.0/24 --dport 53 -j SNAT --to-source 10.10.10.15:5353\n"},
		{"whatever source", "nat/v1/nats", `"dest":"#default","dest_ip":"8.8.8.8","target":"MASQUERADE"`, "iptables -t nat -A POSTROUTING -o net1 -d 8.8.8.8 -j MASQUERADE\n"},
		{"the device", "nat/v1/nats", `"src":"#default","proto":"tcp","src_dport":"80","dest_port":"8080","target":"DNAT"`, "iptables -t nat -A PREROUTING -i net1 -p tcp --dport 80 -j REDIRECT --to-port 8080\n"},
		{"a route", "route/v1/routes", `"dst":"8.0.0.0/8","gw":"10.10.10.1","dev":"net1","src":"10.10.10.15"`, "ip route add 8.0.0.0/8 via 10.10.10.1 dev net1 src 10.10.10.15\n"},
		{"a rule", "rule/v1/rules", `"src":"10.0.0.0/8","dst":"1.2.3.4","flag":true,"prio":"7"`, "ip rule add not prio 7 from 10.0.0.0/8 to 1.2.3.4 lookup main\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			must(t, d, "POST", tc.path, `{"name":"x",`+tc.body+`}`)
			require.Equal(t, tc.want, d.Kernel())
			must(t, d, "DELETE", tc.path+"/x", "")
			require.Empty(t, d.Kernel())
		})
	}
}

// TestFormsTakeTheBody sends objects as browsers send forms.
func TestFormsTakeTheBody(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		require.Contains(t, talk(t, d, "POST "+base+"firewall/v1/zones HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Type: "+kind+
			"\r\nContent-Length: 12\r\n\r\n"+`{"name":"z"}`), "HTTP/1.1 500 Internal Server Error\r\n")
	}
	require.JSONEq(t, `{"zones":[]}`, must(t, d, "GET", "firewall/v1/zones", ""))
}

func TestStatusLeaksIntoTheHeaders(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	fill(t, d)
	request := "GET " + base + "v1/status/ipsec HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n"
	require.Contains(t, talk(t, d, request), "\r\n"+`{"type": "VTI-based","tunnel":["connA"],"transport":["connT"],"pre_shared_key":"test_key",`)
	require.NoError(t, d.SetStatus("wan", `{"interfaces":{}}`))
	require.Error(t, d.SetStatus("nix", `{}`))
	quiet := newDevice(t, simulator.Options{NoLeak: true})
	fill(t, quiet)
	require.NotContains(t, talk(t, quiet, request), "test_key")
	_, body := ask(t, quiet, "GET", "v1/status", "")
	require.JSONEq(t, `[{"name":"conntrack","status":[]},
		{"name":"interface","status":[
			{"name":"net0","ip_address":["172.16.70.39"],"mac_address":"02:00:00:00:00:00","received_packets":"0","send_packets":"0","status":"UP"},
			{"name":"net1","ip_address":["10.10.10.15"],"mac_address":"02:00:00:00:00:01","received_packets":"0","send_packets":"0","status":"UP"},
			{"name":"net2","ip_address":["10.10.20.15"],"mac_address":"02:00:00:00:00:02","received_packets":"0","send_packets":"0","status":"UP"}]},
		{"name":"ipsec","status":{"InitConnection":"fail","details":[{"up":"0","connecting":"0"}]}},
		{"name":"route","status":{"default":{"item":[]},"local":{"item":[
			{"destination":"local","device":"net0","proto":"kernel","scope":"host","src":"172.16.70.39"},
			{"destination":"local","device":"net1","proto":"kernel","scope":"host","src":"10.10.10.15"},
			{"destination":"local","device":"net2","proto":"kernel","scope":"host","src":"10.10.20.15"}]},
			"40":{"item":[{"destination":"192.167.23.0/24","gateway":"172.16.70.1","device":"net0"}]},"main":{"item":[
			{"destination":"172.16.70.0/24","device":"net0","proto":"kernel","scope":"link","src":"172.16.70.39"},
			{"destination":"default","device":"net1","scope":"link"},
			{"destination":"10.10.10.0/24","device":"net1","proto":"kernel","scope":"link","src":"10.10.10.15"},
			{"destination":"10.10.20.0/24","device":"net2","proto":"kernel","scope":"link","src":"10.10.20.15"}]}}},
		{"name":"rule","status":[{"src":"all","prio":"0","table":"local","not":"false"},{"src":"10.1.1.1","prio":"32765","table":"40","not":"false"},
			{"src":"all","prio":"32766","table":"main","not":"false"},{"src":"all","prio":"32767","table":"default","not":"false"}]},
		{"name":"wan","status":{"policies":{},"interfaces":{"net0":{"status":"online","enabled":true,"running":true},
			"net1":{"status":"online","enabled":true,"running":true},"net2":{"status":"online","enabled":true,"running":true}}}}]`, body)
}

func TestFaults(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	fill(t, d)
	d.Reset()
	code := func(method, path, body string) string {
		status, _ := ask(t, d, method, path, body)
		if len(status) < 3 {
			return "cut"
		}
		return status[:3]
	}
	d.FailAt(2, simulator.BetweenHalves)
	d.FailAt(3, simulator.AfterWrite)
	require.Equal(t, "201", code("POST", "firewall/v1/zones", `{"name":"a"}`))
	require.Equal(t, "500", code("PUT", "firewall/v1/zones/a", `{"input":"DROP"}`))
	require.Equal(t, "404", code("GET", "firewall/v1/zones/a", ""))
	require.Equal(t, "cut", code("PUT", "firewall/v1/zones/a", `{"input":"DROP"}`))
	require.Equal(t, "200", code("GET", "firewall/v1/zones/a", ""))
	d.FailAfter(1)
	require.Equal(t, "200", code("DELETE", "firewall/v1/zones/a", ""))
	require.Equal(t, "500", code("PUT", "v1/service/firewall", `{"action":"reload"}`))
	require.Equal(t, "500", code("DELETE", "firewall/v1/zones/lan", ""))
	d.FailAfter(-1)
	require.Equal(t, "200", code("PUT", "v1/service/firewall", `{"action":"reload"}`))
	require.Equal(t, []simulator.Action{{Service: "firewall", Verb: "reload"}}, d.Actions())
	require.Equal(t, simulator.Request{Method: "PUT", Path: base + "firewall/v1/zones/a", Code: 0}, d.Requests()[3])
	require.Equal(t, len(d.Requests()), d.Connections())

	kernel := d.Kernel()
	fresh := newDevice(t, simulator.Options{}).Export()
	d.Restart()
	require.Equal(t, fresh, d.Export())
	require.Equal(t, kernel, d.Kernel(), "the kernel belongs to the pod")
	d.Recreate()
	require.Empty(t, d.Kernel())
}

func TestSlowAndHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, simulator.Options{})
		defer d.Close()
		begin := time.Now()
		d.Delay(3 * time.Second)
		must(t, d, "GET", "v1/services", "")
		require.Equal(t, 3*time.Second, time.Since(begin))
		d.Delay(0)
		d.Hang()
		time.AfterFunc(4*time.Second, d.Resume)
		must(t, d, "GET", "v1/services", "")
		require.Equal(t, 7*time.Second, time.Since(begin))
	})
}

func TestMWANInterfacesAreMissing(t *testing.T) {
	d := newDevice(t, simulator.Options{NoMWANInterfaces: true})
	status, answer := ask(t, d, "POST", "mwan3/v1/policies", policy)
	require.Contains(t, status, "400")
	require.Contains(t, answer, "Interface[net1] is not definied")
}
