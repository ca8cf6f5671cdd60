// Package acllogtest writes ACL logs in the format of ovn-controller, for tests.
package acllogtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/netloom/netloom/pkg/inputs/acllog"
)

// Line returns what ovn-controller logs of the first packet of a TCP connection between two IPv4 addresses, with its newline.
func Line(at time.Time, acl string, verdict acllog.Verdict, src, dst string, port int) string {
	return fmt.Sprintf(`%s|00042|acl_log(ovn_pinctrl0)|INFO|name="%s", verdict=%s, severity=alert, direction=to-lport: `+
		"tcp,vlan_tci=0x0000,dl_src=50:54:00:00:00:01,dl_dst=50:54:00:00:00:02,nw_src=%s,nw_dst=%s,nw_tos=0,nw_ecn=0,nw_ttl=64,nw_frag=no,"+
		"tp_src=41234,tp_dst=%d,tcp_flags=syn\n", at.UTC().Format("2006-01-02T15:04:05.000Z"), acl, verdict, src, dst, port)
}

// Append appends text to a log, which it creates if it is missing.
func Append(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the file of a test
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
