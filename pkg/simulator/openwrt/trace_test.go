package openwrt_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

const (
	pod     = "172.16.70.5"  // behind net0
	peer    = "10.10.20.9"   // behind net2
	outside = "8.8.8.8"      // behind net1, where the default route goes
	ours    = "172.16.70.39" // the device on net0
	ours1   = "10.10.10.15"  // the device on net1
)

func packet(in, src, dst, proto string, port uint16) simulator.Packet {
	return simulator.Packet{
		In: in, Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst), Proto: proto, SrcPort: 40000, DstPort: port,
	}
}

// TestTrace traces packets, given objects that are made on a device with the zones lan and wan.
func TestTrace(t *testing.T) {
	type made [][2]string
	rule := func(fields string) [2]string { return [2]string{"firewall/v1/rules", `{"name":"r",` + fields + `}`} }
	redirect := func(fields string) [2]string {
		return [2]string{"firewall/v1/redirects", `{"name":"x",` + fields + `}`}
	}
	forwarding := [2]string{"firewall/v1/forwardings", `{"name":"out","src":"lan","dest":"wan"}`}
	out := packet("net0", pod, outside, "tcp", 80)
	for _, tc := range []struct {
		name      string
		made      made
		packet    simulator.Packet
		want      simulator.Verdict
		wantOut   string
		wantSrc   string // "" for the packet's
		wantDst   string
		wantPort  uint16 // 0 for the packet's
		wantSteps []string
	}{
		{"a zone lets nothing pass to another", nil, out, simulator.Reject, "net1", "", "", 0, []string{"defaults: forward"}},
		{"a forwarding does, and wan masquerades", made{forwarding}, out, simulator.Accept, "net1", ours1, "", 0, []string{"forwarding out", "zone wan: masquerade"}},
		{"a rule comes before a forwarding", made{forwarding, rule(`"src":"lan","dest":"wan","proto":"tcp","dest_port":"80","target":"DROP"`)}, out, simulator.Drop, "net1", "", "", 0, []string{"rule r"}},
		{"a rule for another port does not", made{forwarding, rule(`"src":"lan","dest":"wan","dest_port":"81","target":"DROP"`)}, out, simulator.Accept, "net1", ours1, "", 0, nil},
		{"a rule without protocol means tcp and udp", made{forwarding, rule(`"src":"lan","dest":"wan","target":"DROP"`)}, packet("net0", pod, outside, "icmp", 0), simulator.Accept, "net1", ours1, "", 0, nil},
		{"a rule without target rejects", made{forwarding, rule(`"src":"lan","dest":"wan"`)}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"the first rule decides", made{rule(`"src":"lan","dest":"wan","target":"ACCEPT"`), rule(`"src":"lan","dest":"wan","target":"DROP"`)}, out, simulator.Accept, "net1", ours1, "", 0, nil},
		{"a rule without dest applies to the device", made{rule(`"src":"lan","target":"ACCEPT"`)}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"a source that does not fit", made{rule(`"src":"lan","dest":"wan","src_ip":"172.16.70.0/30","target":"ACCEPT"`)}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"a rule with more than is modelled", made{rule(`"src":"lan","dest":"wan","extra":"-m time --kerneltz","target":"ACCEPT"`)}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"lan takes packets for the device", nil, packet("net0", pod, ours, "tcp", 22), simulator.Accept, "", "", "", 0, []string{"zone lan: input"}},
		{"wan does not", nil, packet("net1", outside, ours1, "tcp", 22), simulator.Reject, "", "", "", 0, []string{"zone wan: input"}},
		{"unless a rule accepts it", made{rule(`"src":"wan","dest_port":"22","target":"ACCEPT"`)}, packet("net1", outside, ours1, "tcp", 22), simulator.Accept, "", "", "", 0, nil},
		{"an interface without a zone has the defaults", nil, packet("net2", peer, "10.10.20.15", "tcp", 22), simulator.Accept, "", "", "", 0, []string{"defaults: input"}},
		{"and is not forwarded", nil, packet("net2", peer, outside, "tcp", 22), simulator.Reject, "net1", "", "", 0, nil},
		{"what the device sends may go", nil, packet("", ours1, outside, "tcp", 22), simulator.Accept, "net1", ours1, "", 0, []string{"zone wan: output", "zone wan: masquerade"}},
		{"a redirect needs no forwarding", made{redirect(`"src":"wan","src_dip":"10.10.10.15","src_dport":"80","dest":"lan","dest_ip":"172.16.70.5","dest_port":"8080","target":"DNAT"`)}, packet("net1", outside, ours1, "tcp", 80), simulator.Accept, "net0", "", pod, 8080, []string{"redirect x", "zone wan: translated"}},
		{"a redirect elsewhere changes nothing", made{redirect(`"src":"wan","src_dport":"81","dest":"lan","dest_ip":"172.16.70.5","target":"DNAT"`)}, packet("net1", outside, ours1, "tcp", 80), simulator.Reject, "", "", "", 0, nil},
		{"a redirect of another zone changes nothing", made{redirect(`"src":"lan","src_dport":"80","dest_ip":"172.16.70.5","target":"DNAT"`)}, packet("net1", outside, ours1, "tcp", 80), simulator.Reject, "", "", "", 0, nil},
		{"a rule for another zone does not apply to the device", made{rule(`"src":"wan","dest":"lan","target":"ACCEPT"`)}, packet("net1", outside, ours1, "tcp", 22), simulator.Reject, "", "", "", 0, nil},
		{"a redirect to the device itself", made{redirect(`"src":"wan","src_dport":"80","dest_port":"8080","target":"DNAT"`)}, packet("net1", outside, ours1, "tcp", 80), simulator.Accept, "", "", "", 8080, []string{"redirect x", "zone wan: translated"}},
		{"the same at once is not let in", made{{"nat/v1/nats", `{"name":"n","proto":"tcp","src_dport":"80","dest_port":"8080","target":"DNAT"}`}}, packet("net1", outside, ours1, "tcp", 80), simulator.Reject, "", "", "", 8080, nil},
		{"the longest route decides", made{{"route/v1/routes", `{"name":"a","dst":"8.8.0.0/16","dev":"net2"}`}, {"route/v1/routes", `{"name":"b","dst":"8.8.8.0/24","dev":"net0"}`}, {"route/v1/routes", `{"name":"c","dst":"8.0.0.0/8","dev":"net2"}`}}, packet("", ours1, outside, "tcp", 80), simulator.Accept, "net0", "", "", 0, nil},
		{"a mark is asked for", made{rule(`"src":"lan","dest":"wan","proto":"all","target":"MARK","set_mark":"0x10/0xff"`), {"firewall/v1/rules", `{"name":"m","src":"lan","dest":"wan","mark":"0x10/0xf0","target":"ACCEPT"}`}}, out, simulator.Accept, "net1", ours1, "", 0, []string{"rule r: mark 0x10", "rule m", "zone wan: masquerade"}},
		{"a mark without a zone to go to is for packets to the device", made{rule(`"src":"lan","proto":"all","target":"MARK","set_mark":"0x10/0xff"`), {"firewall/v1/rules", `{"name":"m","src":"lan","dest":"wan","mark":"0x10/0xf0","target":"ACCEPT"}`}}, out, simulator.Reject, "net1", "", "", 0, []string{"defaults: forward"}},
		{"where it can be asked for", made{rule(`"src":"wan","proto":"all","target":"MARK","set_mark":"0x10/0xff"`), {"firewall/v1/rules", `{"name":"m","src":"wan","mark":"0x10/0xf0","target":"ACCEPT"}`}}, packet("net1", outside, ours1, "tcp", 22), simulator.Accept, "", "", "", 0, []string{"rule r: mark 0x10", "rule m"}},
		{"a mark from another zone", made{rule(`"src":"wan","dest":"lan","proto":"all","target":"MARK","set_mark":"0x10"`), {"firewall/v1/rules", `{"name":"m","src":"lan","dest":"wan","mark":"0x10","target":"ACCEPT"}`}}, out, simulator.Reject, "net1", "", "", 0, []string{"defaults: forward"}},
		{"a zone without interfaces marks everything that passes", made{{"firewall/v1/zones", `{"name":"none"}`}, rule(`"src":"none","dest":"none","proto":"all","target":"MARK","set_xmark":"0x10/0x10"`), {"firewall/v1/rules", `{"name":"m","src":"lan","dest":"wan","mark":"0x10/0xf0","target":"ACCEPT"}`}}, out, simulator.Accept, "net1", ours1, "", 0, []string{"rule r: mark 0x10", "rule m", "zone wan: masquerade"}},
		{"a mark sees the translated destination", made{{"firewall/v1/zones", `{"name":"none"}`}, rule(`"src":"none","dest":"none","dest_ip":"172.16.70.5","dest_port":"8080","proto":"tcp","target":"MARK","set_xmark":"0x10/0x10"`), {"firewall/v1/rules", `{"name":"m","src":"wan","dest":"lan","mark":"0x10/0x10","target":"DROP"}`}, redirect(`"src":"wan","src_dip":"10.10.10.15","src_dport":"80","dest":"lan","dest_ip":"172.16.70.5","dest_port":"8080","target":"DNAT"`)}, packet("net1", outside, ours1, "tcp", 80), simulator.Drop, "net0", "", pod, 8080, []string{"redirect x", "rule r: mark 0x10", "rule m"}},
		{"several ports in extra", made{rule(`"src":"lan","dest":"wan","proto":"tcp","extra":"-m multiport --dports 22,79:81","target":"ACCEPT"`)}, out, simulator.Accept, "net1", ours1, "", 0, nil},
		{"and others", made{rule(`"src":"lan","dest":"wan","proto":"tcp","extra":"-m multiport --dports 22,81:90","target":"ACCEPT"`)}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"addresses in extra", made{rule(`"src":"lan","dest":"wan","extra":"-s 172.16.70.0/24 -d 8.8.8.8","target":"ACCEPT"`)}, out, simulator.Accept, "net1", ours1, "", 0, nil},
		{"another source in extra", made{rule(`"src":"lan","dest":"wan","extra":"! -s 172.16.70.0/24","target":"ACCEPT"`)}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"marks in extra", made{rule(`"src":"lan","dest":"wan","extra":"-m mark ! --mark 0x1/0x3 -m mark --mark 0x0","target":"ACCEPT"`)}, out, simulator.Accept, "net1", ours1, "", 0, nil},
		{"a first packet is of no known connection", made{rule(`"src":"lan","dest":"wan","extra":"-m conntrack --ctstate RELATED,ESTABLISHED","target":"ACCEPT"`)}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"and is not there", made{{"firewall/v1/rules", `{"name":"m","src":"lan","dest":"wan","mark":"0x10/0xf0","target":"ACCEPT"}`}}, out, simulator.Reject, "net1", "", "", 0, []string{"defaults: forward"}},
		{"another mark chooses nothing", made{{"networkfirewall/v1/rules", `{"name":"m","src":"net0","target":"MARK","set_mark":"0x111"}`}, {"rule/v1/rules", `{"name":"r","fwmark":"0x110","table":"40"}`}, {"route/v1/routes", `{"name":"r","dst":"default","dev":"net2","table":"cnf"}`}}, out, simulator.Reject, "net1", "", "", 0, nil},
		{"a mark chooses a table", made{{"networkfirewall/v1/rules", `{"name":"m","src":"net0","target":"MARK","set_mark":"0x110"}`}, {"rule/v1/rules", `{"name":"r","fwmark":"0x110","table":"40"}`}, {"route/v1/routes", `{"name":"r","dst":"default","dev":"net2","table":"cnf"}`}}, out, simulator.Reject, "net2", "", "", 0, nil},
		{"a source redirect comes before masquerading", made{forwarding, redirect(`"src":"lan","dest":"wan","src_ip":"172.16.70.5","src_dip":"10.10.10.99","target":"SNAT"`)}, out, simulator.Accept, "net1", "10.10.10.99", "", 0, []string{"forwarding out", "redirect x"}},
		{"nat at once needs a forwarding", made{forwarding, {"nat/v1/nats", `{"name":"n","src":"net1","proto":"tcp","src_dport":"80","dest_ip":"10.10.20.9","dest_port":"8080","target":"DNAT"}`}}, packet("net1", outside, ours1, "tcp", 80), simulator.Reject, "net2", "", peer, 8080, nil},
		{"a policy of mwan3 chooses the way out", made{forwarding, {"mwan3/v1/policies", `{"name":"p","members":[{"interface":"net2","metric":"1","weight":"1"},{"interface":"net1","metric":"2","weight":"1"}]}`}, {"mwan3/v1/rules", `{"name":"m","policy":"p","dest_ip":"8.8.0.0/16"}`}}, out, simulator.Reject, "net2", "", "", 0, []string{"rule m: policy p", "defaults: forward"}},
		{"what goes out may be translated at once", made{forwarding, {"nat/v1/nats", `{"name":"n","dest":"net1","src_dip":"10.10.10.77","src_ip":"172.16.70.0/24","target":"SNAT","index":"1"}`}}, out, simulator.Accept, "net1", "10.10.10.77", "", 0, nil},
		{"or masqueraded", made{forwarding, {"nat/v1/nats", `{"name":"n","dest":"net1","target":"MASQUERADE","index":"1"}`}}, out, simulator.Accept, "net1", ours1, "", 0, []string{"forwarding out", "-o net1 -j MASQUERADE"}},
		{"a zone may leave some out", made{{"firewall/v1/zones", `{"name":"far","network":["net2"],"masq":"1","masq_dest":["!10.10.20.0/24"]}`}, {"firewall/v1/forwardings", `{"name":"f","src":"lan","dest":"far"}`}}, packet("net0", pod, peer, "tcp", 80), simulator.Accept, "net2", "", "", 0, []string{"forwarding f"}},
		{"a zone of subnets", made{{"firewall/v1/zones", `{"name":"dns","subnet":["8.8.8.0/24"]}`}, {"firewall/v1/forwardings", `{"name":"f","src":"lan","dest":"dns"}`}}, out, simulator.Accept, "net1", ours1, "", 0, []string{"forwarding f", "zone wan: masquerade"}},
		{"and of no others", made{{"firewall/v1/zones", `{"name":"dns","subnet":["8.8.8.0/24"]}`}, {"firewall/v1/forwardings", `{"name":"f","src":"lan","dest":"dns"}`}}, packet("net0", pod, "9.9.9.9", "tcp", 80), simulator.Reject, "net1", "", "", 0, nil},
		{"a rule of what the device sends", made{rule(`"dest":"wan","dest_port":"25","target":"REJECT"`)}, packet("", ours1, outside, "tcp", 25), simulator.Reject, "net1", "", "", 0, []string{"rule r"}},
		{"a rule of another family", made{rule(`"src":"wan","family":"ipv6","target":"ACCEPT"`)}, packet("net1", outside, ours1, "tcp", 22), simulator.Reject, "", "", "", 0, nil},
		{"an application looks up its own table", made{forwarding, {"route/v1/routes", `{"name":"r","dst":"default","dev":"net2","table":"cnf"}`}, {"application/v1/applications", `{"name":"a","iplist":"172.16.70.5"}`}}, out, simulator.Reject, "net2", "", "", 0, nil},
		{"a tunnel carries it", made{forwarding, {"ipsec/v1/remotes", `{"name":"hub","authentication_method":"psk","pre_shared_key":"k","connections":[{"name":"c","conn_type":"tunnel","local_subnet":"172.16.70.0/24","remote_subnet":"8.8.8.0/24"}]}`}}, out, simulator.Accept, "net1", ours1, "", 0, []string{"forwarding out", "tunnel hub/c", "zone wan: masquerade"}},
		{"a rule between interfaces older than the service's", made{forwarding, {"networkfirewall/v1/rules", `{"name":"n","src":"net0","dest":"net1","target":"DROP"}`}}, out, simulator.Drop, "net1", "", "", 0, []string{"-i net0 -o net1 -j DROP"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			must(t, d, "POST", "firewall/v1/zones", zoneLAN)
			must(t, d, "POST", "firewall/v1/zones", zoneWAN)
			for _, m := range tc.made {
				must(t, d, "POST", m[0], m[1])
			}
			for _, service := range []string{"firewall", "mwan3", "ipsec"} {
				must(t, d, "PUT", "v1/service/"+service, `{"action":"reload"}`)
			}
			got := d.Trace(tc.packet)
			require.Equal(t, tc.want, got.Verdict, "%v", got.Steps)
			require.Equal(t, tc.wantOut, got.Out)
			want := tc.packet
			if tc.wantSrc != "" {
				want.Src = netip.MustParseAddr(tc.wantSrc)
			}
			if tc.wantDst != "" {
				want.Dst = netip.MustParseAddr(tc.wantDst)
			}
			if tc.wantPort != 0 {
				want.DstPort = tc.wantPort
			}
			require.Equal(t, []any{want.Src, want.Dst, want.DstPort}, []any{got.Src, got.Dst, got.DstPort})
			if tc.wantSteps != nil {
				require.Equal(t, tc.wantSteps, got.Steps)
			}
		})
	}
}

// TestTraceWaitsForReload checks that changes take effect when their service is reloaded.
func TestTraceWaitsForReload(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	in := packet("net1", outside, ours1, "tcp", 22)
	require.Equal(t, simulator.Accept, d.Trace(in).Verdict)
	must(t, d, "POST", "firewall/v1/zones", zoneWAN)
	require.Equal(t, simulator.Accept, d.Trace(in).Verdict)
	must(t, d, "PUT", "v1/service/firewall", `{"action":"reload"}`)
	require.Equal(t, simulator.Reject, d.Trace(in).Verdict)

	// What the defaults reject ends there, whatever was added at once behind the service's rules.
	through := packet("net2", peer, outside, "tcp", 22)
	must(t, d, "POST", "networkfirewall/v1/rules", `{"name":"f","src":"net2","dest":"net1","target":"ACCEPT"}`)
	require.Equal(t, simulator.Reject, d.Trace(through).Verdict)
	must(t, d, "PUT", "v1/service/firewall", `{"action":"restart"}`)
	require.Equal(t, simulator.Accept, d.Trace(through).Verdict)

	// A rule made at once is behind those of the service until the service restarts.
	must(t, d, "POST", "networkfirewall/v1/rules", `{"name":"n","src":"net1","target":"ACCEPT"}`)
	require.Equal(t, simulator.Reject, d.Trace(in).Verdict)
	must(t, d, "PUT", "v1/service/firewall", `{"action":"restart"}`)
	require.Equal(t, simulator.Accept, d.Trace(in).Verdict)
	must(t, d, "DELETE", "networkfirewall/v1/rules/n", "")
	require.Equal(t, simulator.Reject, d.Trace(in).Verdict)
	must(t, d, "PUT", "v1/service/firewall", `{"action":"stop"}`)
	require.Equal(t, simulator.Accept, d.Trace(in).Verdict)
}

// TestTraceSpreads checks that a policy uses the interfaces of the lowest metric that have a route.
func TestTraceSpreads(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "mwan3/v1/policies", `{"name":"p","members":[{"interface":"net2","metric":"2","weight":"1"},`+
		`{"interface":"net1","metric":"1","weight":"1"},{"interface":"net0","metric":"1","weight":"3"}]}`)
	must(t, d, "POST", "mwan3/v1/rules", `{"name":"m","policy":"p"}`)
	must(t, d, "PUT", "v1/service/mwan3", `{"action":"restart"}`)
	p := packet("net2", peer, outside, "udp", 53)
	require.Equal(t, []string{"net1", "net0"}, d.Trace(p).WANs, "whatever comes first")
	d.SetDown("net1", true)
	require.Equal(t, []string{"net0"}, d.Trace(p).WANs)
	d.SetDown("net0", true)
	require.Equal(t, []string{"net2"}, d.Trace(p).WANs)
	d.SetDown("net2", true)
	require.Empty(t, d.Trace(p).WANs)
	require.Equal(t, simulator.Reject, d.Trace(p).Verdict)
	d.SetDown("net1", false)
	d.SetDown("net2", false)
	must(t, d, "PUT", "mwan3/v1/policies/p", `{"members":[{"interface":"net1","metric":"1"},{"interface":"net2","metric":"2"}]}`)
	must(t, d, "PUT", "v1/service/mwan3", `{"action":"restart"}`)
	require.Equal(t, []string{"net1"}, d.Trace(p).WANs)
	require.Empty(t, d.Trace(packet("net0", pod, peer, "udp", 53)).WANs, "what is next to the device is not spread")
}
