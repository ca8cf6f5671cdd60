package verify

import (
	"fmt"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// Covers reports whether a finding is about a protocol and port, such as tcp/80.
func Covers(f *Finding, probe string) bool {
	for _, p := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP} {
		var port uint16
		if n, _ := fmt.Sscanf(probe, p.String()+"/%d", &port); n == 1 {
			return f.traffic.Has(p, port)
		}
	}
	return false
}

// OriginOf names the objects that an ACL was written for.
func OriginOf(rows *nbtrace.Rows, acl *nbtrace.ACL) string { return newOrigins(rows).of(acl) }
