package openwrt_test

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

const base = "/cgi-bin/luci/sdewan/"

func newDevice(t *testing.T, opts simulator.Options) *simulator.Device {
	t.Helper()
	d, err := simulator.New(opts)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// talk sends bytes on a connection of their own and returns the bytes that come back.
func talk(t *testing.T, d *simulator.Device, request string) string {
	t.Helper()
	nc, err := d.Dial(t.Context(), "tcp", "device")
	require.NoError(t, err)
	defer func() { _ = nc.Close() }()                  // the answer was read
	go func() { _, _ = io.WriteString(nc, request) }() // the answer shows whether it arrived
	out, err := io.ReadAll(nc)
	require.NoError(t, err)
	return string(out)
}

// ask sends a plain request and returns status line and body.
func ask(t *testing.T, d *simulator.Device, method, path, body string) (status, answer string) {
	t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = base + path
	}
	raw := fmt.Sprintf("%s %s HTTP/1.0\r\nHost: d\r\nConnection: close\r\n", method, path)
	if body != "" {
		raw += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	out := talk(t, d, raw+"\r\n"+body)
	head, answer, _ := strings.Cut(out, "\r\n\r\n")
	status, _, _ = strings.Cut(strings.TrimPrefix(head, "HTTP/1.1 "), "\r\n")
	return status, answer
}

// must sends a request and requires success.
func must(t *testing.T, d *simulator.Device, method, path, body string) string {
	t.Helper()
	status, answer := ask(t, d, method, path, body)
	require.Regexp(t, "^20[01] ", status, "%s %s: %s", method, path, answer)
	return answer
}

const (
	zoneLAN = `{"name":"lan","network":["net0"],"input":"ACCEPT","forward":"REJECT","output":"ACCEPT"}`
	zoneWAN = `{"name":"wan","network":["net1"],"input":"REJECT","forward":"REJECT","output":"ACCEPT","masq":"1"}`
	policy  = `{"name":"balance1","members":[{"interface":"net1","metric":"2","weight":"2"}]}`
	crypto  = `{"name":"prop1","encryption_algorithm":"aes128","hash_algorithm":"sha256","dh_group":"modp3072"}`
	remote  = `{"name":"hub","gateway":"10.10.10.35","type":"VTI-based","authentication_method":"psk","pre_shared_key":"test_key",` +
		`"crypto_proposal":["prop1"],"connections":[` +
		`{"name":"connT","conn_type":"transport","mode":"start"},` +
		`{"name":"connA","conn_type":"tunnel","mode":"start","if_id":"7","remote_subnet":"192.168.1.1/24"}]}`
)

// TestBytes compares whole exchanges with the bytes on the wire.
func TestBytes(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	const always = "Connection: close\r\nTransfer-Encoding: chunked\r\nCache-Control: no-cache\r\nExpires: 0\r\n"
	for _, tc := range []struct{ name, request, wantHead, wantBody string }{
		{
			"an empty list",
			"GET /cgi-bin/luci/sdewan/mwan3/v1/policies HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n",
			"HTTP/1.1 200 OK\r\n" + always + "Content-Type: application/json\r\n", `{"policies":[]}`,
		},
		{
			"creation has no reason",
			"POST /cgi-bin/luci/sdewan/mwan3/v1/policies HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Length: 78\r\n\r\n" + policy,
			"HTTP/1.1 201 \r\n" + always + "Content-Type: application/json\r\n",
			`{"name":"balance1","members":[{"weight":"2","name":"balance1_net1","metric":"2","interface":"net1"}]}`,
		},
		{
			"an error is text, and its reason cut short",
			"POST /cgi-bin/luci/sdewan/mwan3/v1/rules HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Length: 27\r\n\r\n" +
				`{"name":"r","policy":"nix"}`,
			"HTTP/1.1 400 Field[policy] checked failed: invalid policy [Policy[nix] is no\r\n" + always + "Content-Type: text/plain\r\n",
			`{"message":"Field[policy] checked failed: invalid policy [Policy[nix] is not definied]"}`,
		},
		{
			"a body without a length is ignored",
			"POST /cgi-bin/luci/sdewan/mwan3/v1/rules HTTP/1.1\r\nHost: d\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"c\r\n{\"name\":\"r\"}\r\n0\r\n\r\n",
			"HTTP/1.1 400 Body parse error: unexpected end of data\r\n" + always + "Content-Type: text/plain\r\n",
			`{"message":"Body parse error: unexpected end of data"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := fmt.Sprintf("%s\r\n%x\r\n%s\r\n0\r\n\r\n", tc.wantHead, len(tc.wantBody), tc.wantBody)
			require.Equal(t, want, talk(t, d, tc.request))
		})
	}
}

// TestAnswers asks a device with one object of most kinds.
func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		name, method, path, body string
		wantCode                 int
		want                     string // "" for anything
	}{
		{"help", "GET", "v1", "", 200, `{"message":"sdewan restful API service v1"}`},
		{"help of a module", "GET", "nat/v1", "", 200, `{"message":"sdewan restful API service v1"}`},
		{"slashes do no harm", "GET", "firewall//v1/zones/lan/", "", 200, `{"output":"ACCEPT","network":["net0"],"name":"lan","input":"ACCEPT","forward":"REJECT"}`},
		{"a query is part of the name", "GET", "firewall/v1/zones?x=1", "", 500, ""},
		{"a query after a name as well", "GET", "firewall/v1/zones/lan?x=1", "", 404, `{"message":"Cannot find zone[lan?x=1]"}`},
		{"no such object", "GET", "firewall/v1/zones/nix", "", 404, `{"message":"Cannot find zone[nix]"}`},
		{"no such object to delete", "DELETE", "firewall/v1/zones/nix", "", 404, `{"message":"zone nix is not defined"}`},
		{"too many parts", "GET", "firewall/v1/zones/lan/x", "", 400, `{"message":"Bad request URI"}`},
		{"creating under a name", "POST", "firewall/v1/zones/x", zoneLAN, 400, `{"message":"Bad request URI"}`},
		{"putting a list", "PUT", "firewall/v1/zones", zoneLAN, 400, `{"message":"Bad request URI"}`},
		{"no other methods", "PATCH", "firewall/v1/zones/lan", "{}", 405, `{"message":"Method Not Allowed"}`},
		{"no such module is a page", "GET", "fire/v1/zones", "", 404, ""},
		{"no name", "POST", "firewall/v1/zones", "{}", 400, `{"message":"Field[name] checked failed: required"}`},
		{"blanks are no name", "POST", "firewall/v1/zones", `{"name":"  "}`, 400, `{"message":"Field[name] checked failed: required"}`},
		{"not JSON", "POST", "firewall/v1/zones", `{"name":x`, 400, `{"message":"Body parse error: unexpected character"}`},
		{"a zone's name is short", "POST", "firewall/v1/zones", `{"name":"firewallzone"}`, 400, `{"message":"Field[name] checked failed: invalid zone name [The length of Name shall not exceed 11 characters]"}`},
		{"unless it comes by address", "PUT", "firewall/v1/zones/firewallzone", `{"input":"DROP"}`, 200, `{"name":"firewallzone","input":"DROP"}`},
		{"quotes break the message", "POST", "mwan3/v1/rules", `{"name":"r","policy":"a\"b"}`, 400, `{"message":"Field[policy] checked failed: invalid policy [Policy[a"b] is not definied]"}`},
		{"everything is text, and trimmed", "POST", "firewall/v1/rules", `{"name":" r ","mark":42,"extra":true,"src_ip":" 1.2.3.4 ","family":null,"proto":"","nonsense":"x"}`, 201, `{"src_ip":"1.2.3.4","name":"r","mark":"42","extra":"1"}`},
		{"slashes are escaped", "POST", "firewall/v1/rules", `{"name":"r2","src_ip":"10.0.0.0/8"}`, 201, `{"src_ip":"10.0.0.0\/8","name":"r2"}`},
		{"a number is no port", "POST", "firewall/v1/rules", `{"name":"r","src_port":80}`, 400, `{"message":"Field[src_port] checked failed: invalid src_port"}`},
		{"any port from 1 is one", "POST", "firewall/v1/rules", `{"name":"r3","src_port":"700000"}`, 201, `{"src_port":"700000","name":"r3"}`},
		{"an empty list is not a list", "POST", "firewall/v1/zones", `{"name":"z","network":[]}`, 400, `{"message":"Field[network] checked failed: invalid network [Not an array]"}`},
		{"a text for a list is lost", "POST", "firewall/v1/zones", `{"name":"z","network":"net0"}`, 201, `{"name":"z"}`},
		{"an unknown network", "POST", "firewall/v1/zones", `{"name":"z","network":["x"]}`, 400, `{"message":"Field[network] checked failed: invalid network [Interface[x] is not definied]"}`},
		{"no IPv6", "POST", "firewall/v1/rules", `{"name":"r","src_ip":"fd00::1"}`, 400, `{"message":"Field[src_ip] checked failed: invalid src_ip"}`},
		{"an unknown zone is a 400", "POST", "firewall/v1/forwardings", `{"name":"f","src":"x"}`, 400, `{"message":"Field[src] checked failed: invalid src [Zone[x] is not definied]"}`},
		{"nothing is required", "POST", "firewall/v1/forwardings", `{"name":"f"}`, 201, `{"name":"f"}`},
		{"DNAT needs src", "POST", "firewall/v1/redirects", `{"name":"x","target":"DNAT"}`, 400, `{"message":"src is required for DNAT"}`},
		{"SNAT needs src_dip", "POST", "firewall/v1/redirects", `{"name":"x","target":"SNAT","dest":"lan"}`, 400, `{"message":"src_dip is required for SNAT"}`},
		{"MARK needs a mark", "POST", "firewall/v1/rules", `{"name":"x","target":"MARK"}`, 400, `{"message":"set_mark or set_xmark is required for MARK"}`},
		{"a name with a dash is lost", "POST", "mwan3/v1/rules", `{"name":"a-b","policy":"balance1"}`, 201, "null"},
		{"so is a policy", "POST", "mwan3/v1/policies", `{"name":"a.b","members":[{"interface":"net1"}]}`, 201, "null"},
		{"and one that is put", "PUT", "ipsec/v1/proposals/a-b", `{}`, 200, "null"},
		{"a name is taken", "POST", "mwan3/v1/policies", policy, 409, `{"message":"Conflict"}`},
		{"whatever type has it", "POST", "mwan3/v1/rules", `{"name":"net1"}`, 409, `{"message":"Conflict"}`},
		{"and is not found with another", "GET", "mwan3/v1/rules/balance1", "", 404, `{"message":"Cannot find rule[balance1]"}`},
		{"an interface passes for a policy", "POST", "mwan3/v1/rules", `{"name":"r","policy":"net1"}`, 201, `{"policy":"net1","name":"r"}`},
		{"no policy passes as well", "POST", "mwan3/v1/rules", `{"name":"r"}`, 201, `{"name":"r"}`},
		{"a policy without members breaks the script", "POST", "mwan3/v1/policies", `{"name":"p"}`, 500, ""},
		{"a member without metric is one", "POST", "mwan3/v1/policies", `{"name":"p","members":[{"interface":"net0"}]}`, 201, `{"name":"p","members":[{"name":"p_net0","interface":"net0"}]}`},
		{"an interface twice", "POST", "mwan3/v1/policies", `{"name":"p","members":[{"interface":"net0"},{"interface":"net0"}]}`, 400, `{"message":"Same interface is used in different members"}`},
		{"an unknown interface", "POST", "mwan3/v1/policies", `{"name":"p","members":[{"interface":"x"}]}`, 400, `{"message":"Field[members] checked failed: Incorrect policy member [Field[interface] checked failed: invalid interface [Interface[x] is not definied]]"}`},
		{"an unknown proposal is a 428", "POST", "ipsec/v1/remotes", `{"name":"x","crypto_proposal":["nix"]}`, 428, `{"message":"Field[crypto_proposal] checked failed: invalid crypto_proposal [Proposal[nix] is not definied]"}`},
		{"so is an empty list of them", "POST", "ipsec/v1/remotes", `{"name":"x","crypto_proposal":[]}`, 428, `{"message":"Field[crypto_proposal] checked failed: invalid crypto_proposal [Not an array]"}`},
		{"within a connection it is a 400", "POST", "ipsec/v1/remotes", `{"name":"x","connections":[{"name":"c","crypto_proposal":["nix"]}]}`, 400, `{"message":"Field[connections] checked failed: invalid connection [428:Field[crypto_proposal] checked failed: invalid crypto_proposal [Proposal[nix] is not definied]]"}`},
		{"a method needs its secret", "POST", "ipsec/v1/remotes", `{"name":"x","authentication_method":"psk"}`, 400, `{"message":"Secret does not exists for the authentication method: psk"}`},
		{"a remote needs a method", "POST", "ipsec/v1/remotes", `{"name":"x"}`, 400, `{"message":"Invalid authentication method"}`},
		{"tunnels come first, the key in clear", "GET", "ipsec/v1/remotes/hub", "", 200, `{"type":"VTI-based","pre_shared_key":"test_key","name":"hub","gateway":"10.10.10.35","enabled":"1","crypto_proposal":["prop1"],"connections":[{"remote_subnet":"192.168.1.1\/24","name":"connA","mode":"start","conn_type":"tunnel"},{"name":"connT","mode":"start","conn_type":"transport"}],"authentication_method":"psk"}`},
		{"connections share the names", "POST", "ipsec/v1/proposals", `{"name":"connA"}`, 409, `{"message":"Conflict"}`},
		{"a connection with a dash is lost", "POST", "ipsec/v1/remotes", `{"name":"x","authentication_method":"psk","pre_shared_key":"k","connections":[{"name":"a-b","conn_type":"tunnel"}]}`, 201, `{"pre_shared_key":"k","name":"x","enabled":"1","connections":[],"authentication_method":"psk"}`},
		{"a used policy", "DELETE", "mwan3/v1/policies/balance1", "", 400, `{"message":"policy balance1 is used"}`},
		{"a used zone", "DELETE", "firewall/v1/zones/wan", "", 400, `{"message":"zone wan is used"}`},
		{"a used proposal", "DELETE", "ipsec/v1/proposals/prop1", "", 400, `{"message":"proposal prop1 is used"}`},
		{"success is text", "DELETE", "mwan3/v1/rules/r0", "", 200, `{"message":"success"}`},
		{"nat to an unknown interface", "POST", "nat/v1/nats", `{"name":"n","src":"x"}`, 428, `{"message":"Field[src] checked failed: invalid src"}`},
		{"nat to an unknown address", "POST", "nat/v1/nats", `{"name":"n","target":"SNAT","dest":"#source","src_dip":"9.9.9.9"}`, 428, `{"message":"ip not found on all interfaces"}`},
		{"masquerading needs dest", "POST", "nat/v1/nats", `{"name":"n","target":"MASQUERADE"}`, 400, `{"message":"dest is required for SNAT MASQUERADE"}`},
		{"a rule between interfaces reports them", "POST", "networkfirewall/v1/rules", `{"name":"n","src":"#default","dest":"#172.16.70.39","target":"DROP"}`, 201, `{"target":"DROP","src_val":"net1","src":"#default","name":"n","dest_val":"net0","dest":"#172.16.70.39"}`},
		{"and wants them to be there", "POST", "networkfirewall/v1/rules", `{"name":"n","src":"x","target":"DROP"}`, 428, `{"message":"Field[src] checked failed: Invalid interface"}`},
		{"and breaks without one", "POST", "networkfirewall/v1/rules", `{"name":"n","target":"DROP"}`, 500, ""},
		{"a route reports its interface", "POST", "route/v1/routes", `{"name":"r","dst":"192.167.23.0/24","gw":"172.16.44.11","dev":"#default","table":"cnf"}`, 201, `{"table":"cnf","name":"r","gw":"172.16.44.11","dst":"192.167.23.0\/24","dev_val":"net1","dev":"#default"}`},
		{"and wants it to be there", "POST", "route/v1/routes", `{"name":"r","dst":"default","dev":"x"}`, 428, `{"message":"Field[dev] checked failed: Invalid interface"}`},
		{"a rule of routing has a flag", "POST", "rule/v1/rules", `{"name":"r","src":"192.167.24.0/24","flag":true,"prio":"888","table":"40","fwmark":"0x110"}`, 201, `{"table":"40","src":"192.167.24.0\/24","prio":"888","name":"r","fwmark":"0x110","flag":true}`},
		{"even when none was given", "POST", "rule/v1/rules", `{"name":"r"}`, 201, `{"name":"r","flag":false}`},
		{"an application is addresses", "POST", "application/v1/applications", `{"name":"a","iplist":"10.1.1.1,10.1.1.2"}`, 201, `{"name":"a","iplist":"10.1.1.1,10.1.1.2"}`},
		{"without masks", "POST", "application/v1/applications", `{"name":"a","iplist":"10.1.1.0/24"}`, 400, `{"message":"Field[iplist] checked failed: Invalid Source IP Address"}`},
		{"services", "GET", "v1/services", "", 200, `{"services":["mwan3","firewall","ipsec"]}`},
		{"acting on one", "PUT", "v1/service/ipsec", `{"action":"restart"}`, 200, `{"message":"success"}`},
		{"on none", "PUT", "v1/service/dns", `{"action":"restart"}`, 400, `{"message":"Bad request URI"}`},
		{"in no way", "PUT", "v1/service/ipsec", `{"action":"jump"}`, 400, `{"message":"Field[action] checked failed: wrong action"}`},
		{"without saying how", "PUT", "v1/service/ipsec", `{}`, 500, ""},
		{"by another method", "POST", "v1/service/ipsec", `{"action":"restart"}`, 405, `{"message":"Method Not Allowed"}`},
		{"an unknown status", "GET", "v1/status/dns", "", 400, `{"message":"Bad request URI: dns is not supported"}`},
		{"a status", "GET", "v1/status/conntrack", "", 200, `{"status":[],"name":"conntrack"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			for _, made := range [][2]string{
				{"firewall/v1/zones", zoneLAN},
				{"firewall/v1/zones", zoneWAN},
				{"mwan3/v1/policies", policy},
				{"mwan3/v1/rules", `{"name":"r0","policy":"balance1"}`},
				{"ipsec/v1/proposals", crypto},
				{"ipsec/v1/remotes", remote},
				{"firewall/v1/forwardings", `{"name":"out","src":"lan","dest":"wan"}`},
			} {
				must(t, d, "POST", made[0], made[1])
			}
			status, answer := ask(t, d, tc.method, tc.path, tc.body)
			require.Equal(t, strconv.Itoa(tc.wantCode), status[:3], answer)
			if tc.want != "" {
				require.Equal(t, tc.want, answer)
			}
		})
	}
}

// TestListenAndClose runs a device on a real port.
func TestListenAndClose(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	require.NoError(t, d.Start("127.0.0.1:0"))
	require.Error(t, d.Start("127.0.0.1:0"))
	address := strings.TrimPrefix(d.URL(), "http://")
	nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	_, err = io.WriteString(nc, "GET /nothing HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	out, err := io.ReadAll(nc)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(out), "HTTP/1.1 404 Not Found\r\n"), string(out))
	d.Close()
	_, err = new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.Error(t, err)
}
