package nbtrace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// FuzzJudge compares, for any match, the answer for all ports at once with that for one port.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		`outport == @g1 && ip4.src == {$some, 10.0.0.9} && 8000<=tcp.dst<=8100`, `!(ip4.src > 10.0.0.1 || tcp.dst == {80, 443})`,
		`(ip4.src == 0.0.0.0/0 && ip4.src != {10.0.0.0/8, $empty}) && tcp`, `tcp.dst == 0x50/0xfff0 && ip4.src[0..7] == 2`,
		`vlan.present || udp.src == 68`, `ct.new && !ct.est && ct_label == 0x1/0x1`, `is_chassis_resident("x") && ip.ttl > 3`, `ip4.src == ^x`,
	} {
		f.Add(s, uint16(80))
	}
	f.Fuzz(func(t *testing.T, match string, port uint16) {
		if strings.Count(match, "dst") > 100 {
			return // as many verdicts to compute
		}
		tracer, _ := nbtrace.New(rows(acl("1", "to-lport 0.5 drop : "+match), acl("0", "to-lport 0.1 allow-related : ip")))
		judge := nbtrace.NewJudge(tracer)
		from, to := end(tracer, "b 10.0.0.2"), end(tracer, "a 10.0.0.1")
		for _, protocol := range []uint8{6, 17, 132} {
			p := nbtrace.Packet{Inport: "b", Outport: "a", Src: from.Addr, Dst: to.Addr, Protocol: protocol, DstPort: port}
			want := tracer.Trace(p).Ingress
			for _, s := range judge.Ingress(&from, &to) {
				if s.Protocol == protocol && s.First <= port && port <= s.Last {
					require.Equal(t, want, s.Step)
				}
			}
		}
	})
}

// FuzzReadDump reads arbitrary files.
func FuzzReadDump(f *testing.F) {
	f.Add(`{"ACL": [{"_uuid": ["uuid", "a"], "match": "ip"}]}`)
	f.Add(`{"caption":"ACL table","data":[[["uuid","a"],"drop"]],"headings":["_uuid","action"]}`)
	f.Add("OVSDB JSON 2 x\n{\"name\":\"OVN_Northbound\"}\nOVSDB JSON 2 x\n{\"ACL\":{\"a\":{\"match\":\"ip\"}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := nbtrace.ReadDump(strings.NewReader(text))
		if err != nil {
			require.Empty(t, r)
			return
		}
		_, _ = nbtrace.New(r)
	})
}
