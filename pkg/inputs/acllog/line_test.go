package acllog_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/acllog"
)

const (
	fields = `name="shop/db ingress", verdict=drop, severity=alert, direction=to-lport: `
	tcp    = "tcp,vlan_tci=0x0000,dl_src=50:54:00:00:00:01,dl_dst=50:54:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_tos=0,nw_ecn=0,nw_ttl=64,nw_frag=no,tp_src=41234,tp_dst=5432,tcp_flags=syn"
	tcp6   = "tcp6,vlan_tci=0x0000,dl_src=50:54:00:00:00:01,dl_dst=50:54:00:00:00:02,ipv6_src=fd00::1,ipv6_dst=fd00::2,ipv6_label=0x1d5f4,nw_tos=0,nw_ecn=0,nw_ttl=64,nw_frag=no,tp_src=41234,tp_dst=5432,tcp_flags=syn"
	icmp6  = "icmp6,vlan_tci=0x0000,dl_src=50:54:00:00:00:01,dl_dst=50:54:00:00:00:02,ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_tos=0,nw_ttl=64,icmp_type=128,icmp_code=0"
	own    = "2026-03-02T10:15:07.512Z|00042|acl_log(ovn_pinctrl0)|INFO|"
)

var (
	now   = time.Date(2026, 3, 2, 12, 0, 0, 0, time.FixedZone("", 3600))
	stamp = time.Date(2026, 3, 2, 10, 15, 7, 512e6, time.UTC)
)

func entry(at time.Time) acllog.Entry {
	return acllog.Entry{
		At: at, Name: "shop/db ingress", Verdict: acllog.Drop, Severity: "alert", Direction: "to-lport", Protocol: "tcp",
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Port: 5432,
	}
}

func TestLinesOfEverySource(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		at         time.Time
	}{
		{"a log file", own + fields + tcp, stamp},
		{"the log of a container", "2026-03-02T10:15:09.1Z stderr F " + own + fields + tcp, stamp},
		{"journalctl -o cat", "ovs|00042|acl_log(ovn_pinctrl0)|INFO|" + fields + tcp, time.Time{}},
		{
			"journalctl -o short", "Mar 02 11:15:07 node-1 ovn-controller[811]: ovs|00042|acl_log(ovn_pinctrl0)|INFO|" + fields + tcp,
			time.Date(2026, 3, 2, 11, 15, 7, 0, now.Location()),
		},
		{
			"journalctl -o short of last year", "Dec 31 23:59:59 node-1 ovn-controller[811]: ovs|00042|acl_log(ovn_pinctrl0)|INFO|" + fields + tcp,
			time.Date(2025, 12, 31, 23, 59, 59, 0, now.Location()),
		},
		{
			"journalctl -o short-iso", "2026-03-02T11:15:07+0100 node-1 ovn-controller[811]: ovs|00042|acl_log|INFO|" + fields + tcp,
			stamp.Truncate(time.Second),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := acllog.Parse(tc.line, now)
			require.True(t, ok)
			require.True(t, tc.at.Equal(got.At), "%s is not %s", got.At, tc.at)
			got.At = time.Time{}
			require.Equal(t, entry(time.Time{}), got)
		})
	}
}

func TestPackets(t *testing.T) {
	got, ok := acllog.Parse(own+`name="<unnamed>", verdict=allow, severity=info, direction=from-lport: `+tcp6+"\r", now)
	require.True(t, ok)
	require.Equal(t, acllog.Entry{
		At: stamp, Verdict: acllog.Allow, Severity: "info", Direction: "from-lport", Protocol: "tcp",
		Src: netip.MustParseAddr("fd00::1"), Dst: netip.MustParseAddr("fd00::2"), Port: 5432,
	}, got)
	got, ok = acllog.Parse(own+fields+icmp6, now)
	require.True(t, ok)
	require.Equal(t, "icmp6", got.Protocol)
	require.Zero(t, got.Port)
	got, ok = acllog.Parse(own+`name="old", verdict=drop, severity=alert: `+tcp, now)
	require.True(t, ok, "OVN before 21.12 writes no direction")
	require.Empty(t, got.Direction)
	got, ok = acllog.Parse(own+fields+"ip,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_proto=47", now)
	require.True(t, ok)
	require.Equal(t, "47", got.Protocol)
}

// TestNamesCannotForge gives an ACL names that look like the rest of a line.
func TestNamesCannotForge(t *testing.T) {
	forged := `x", verdict=allow, severity=info, direction=to-lport: tcp,nw_src=1.1.1.1,nw_dst=2.2.2.2,tp_dst=1`
	escaped := strings.ReplaceAll(forged, `"`, `\"`)
	got, ok := acllog.Parse(own+`name="`+escaped+`", verdict=drop, severity=alert, direction=to-lport: `+tcp, now)
	require.True(t, ok)
	require.Equal(t, forged, got.Name)
	require.Equal(t, acllog.Drop, got.Verdict)
	require.Equal(t, "10.0.0.1", got.Src.String())
	got, ok = acllog.Parse(own+`name="\u001b[2J\n", verdict=drop, severity=alert, direction=to-lport: `+tcp, now)
	require.True(t, ok)
	require.Equal(t, "\x1b[2J\n", got.Name, "as it is: whoever prints it takes care")
}

func TestOtherLinesAreNone(t *testing.T) {
	for _, line := range []string{
		"", "|", "|||", own, own + "name=", own + `name="a`, own + `name="a\`, own + `name="a", `,
		own + `name="a", verdict=drop: tcp`, own + `name="a", verdict=none, severity=alert: ` + tcp,
		own + `name="a", verdict=drop: tcp,nw_src=10.0.0.1,nw_dst=fd00::1`,
		own + `name="a", verdict=drop: tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=70000`,
		own + `name="a", verdict=drop: arp,arp_spa=10.0.0.1,arp_tpa=10.0.0.2`,
		own + `name="a", verdict=drop: tcp,ipv6_src=fe80::1%eth0,ipv6_dst=fe80::2`,
		"2026-03-02T10:15:07.512Z|00042|binding|INFO|Claiming lport x|00042|acl_log(ovn_pinctrl0)|INFO|" + fields + tcp,
		"2026-03-02T10:15:07.512Z|x|acl_log(ovn_pinctrl0)|INFO|" + fields + tcp,
		"2026-03-02T10:15:07.512Z|00042|acl_logger|INFO|" + fields + tcp,
	} {
		_, ok := acllog.Parse(line, now)
		require.False(t, ok, line)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(own + fields + tcp)
	f.Add(own + fields + icmp6)
	f.Add("Mar 02 11:15:07 n ovn-controller[1]: ovs|1|acl_log|INFO|" + fields + tcp6)
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := acllog.Parse(line, now)
		if !ok {
			require.Equal(t, acllog.Entry{}, e)
			return
		}
		require.True(t, e.Src.IsValid() && e.Dst.IsValid() && e.Src.Is4() == e.Dst.Is4(), line)
		require.NotEmpty(t, e.Protocol, line)
	})
}
