package verify_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/verify"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// TestSharedACLsAreThoseOfTheirPolicies follows an ACL that names no policy to those that share it, also by the notes of earlier versions.
func TestSharedACLsAreThoseOfTheirPolicies(t *testing.T) {
	for _, tc := range []struct{ name, id, key, note string }{
		{"notes of a namespace", "policies/shop", "NetworkPolicy/shop/%d/ingress", "other spec.ingress[1]; s spec.ingress[0]; s spec.ingress[2]"},
		{"notes of a group", "notes/s", "NetworkPolicy/shop/%d", "spec.ingress[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			acl := &nbtrace.ACL{UUID: "u", ExternalIDs: map[string]string{"netloom.io/owner": "a"}}
			ids := map[string]string{"netloom.io/id": tc.id, "netloom.io/owner": "a"}
			rows := &nbtrace.Rows{
				PortGroups:  []nbtrace.PortGroup{{Name: "pg", ACLs: []string{"u"}, ExternalIDs: map[string]string{"netloom.io/id": "s"}}},
				AddressSets: []nbtrace.AddressSet{{ExternalIDs: ids}},
			}
			require.Empty(t, verify.OriginOf(rows, acl))
			for i := range 5 {
				ids[fmt.Sprintf(tc.key, i)] = tc.note
			}
			require.Equal(t, "NetworkPolicy/shop/0, NetworkPolicy/shop/1, NetworkPolicy/shop/2 and 2 more", verify.OriginOf(rows, acl))
		})
	}
}
