package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// deniedLine is a line of an ACL log.
const deniedLine = `2026-03-02T10:15:07.512Z|00042|acl_log(ovn_pinctrl0)|INFO|name="shop/db ingress", verdict=drop, severity=alert, ` +
	"direction=to-lport: tcp,vlan_tci=0x0000,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_tos=0,tp_src=41234,tp_dst=5432,tcp_flags=syn\n"

// TestObserveHostileLogs reads lines that tenants may have caused: nothing of them may reach the terminal as a control character,
// and what has no room is counted.
func TestObserveHostileLogs(t *testing.T) {
	var log strings.Builder
	log.WriteString(strings.Replace(deniedLine, "shop/db ingress", `\u001b[2Jx\n`, 1))
	log.WriteString("\x1b[2J|1|acl_log|INFO|" + strings.Repeat("x", 100_000) + "\n")
	for i := range 600 {
		log.WriteString(strings.NewReplacer("10.0.0.1", fmt.Sprintf("203.0.%d.%d", i>>8, i&255), "10.0.0.2", "198.51.100.1").Replace(deniedLine))
	}
	dir := t.TempDir()
	write(t, dir, "pods.yaml", servedPods)
	path := filepath.Join(t.TempDir(), "acl.log")
	require.NoError(t, os.WriteFile(path, []byte(log.String()), 0o600))
	got := netloom(t, "observe", "-f", dir, path)
	require.Equal(t, exitDone, got.code, got.errout)
	require.NotContains(t, got.out+got.errout, "\x1b")
	require.Contains(t, got.errout, "1 line skipped, longer than 8192 bytes")
	require.True(t, strings.HasSuffix(got.out, "there was no room, 345 times\n"))
	got = netloom(t, "observe", "-f", dir, "-o", "json", path)
	var report observation
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Len(t, report.Flows, 256)
	require.Equal(t, map[string]uint64{"denied": 345}, report.Other)
}
