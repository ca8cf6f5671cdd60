package verify_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/verify"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// TestSharedACLsAreThoseOfTheirPolicies follows an ACL that names no policy to those that share it.
func TestSharedACLsAreThoseOfTheirPolicies(t *testing.T) {
	acl := &nbtrace.ACL{UUID: "u", ExternalIDs: map[string]string{"netloom.io/owner": "a"}}
	ids := map[string]string{"netloom.io/id": "notes/s", "netloom.io/owner": "a"}
	rows := &nbtrace.Rows{
		PortGroups:  []nbtrace.PortGroup{{Name: "pg", ACLs: []string{"u"}, ExternalIDs: map[string]string{"netloom.io/id": "s"}}},
		AddressSets: []nbtrace.AddressSet{{ExternalIDs: ids}},
	}
	require.Empty(t, verify.OriginOf(rows, acl))
	for i := range 5 {
		ids[fmt.Sprint("NetworkPolicy/shop/", i)] = "spec.ingress[0]"
	}
	require.Equal(t, "NetworkPolicy/shop/0, NetworkPolicy/shop/1, NetworkPolicy/shop/2 and 2 more", verify.OriginOf(rows, acl))
}
