package demo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

func TestACLsWithoutAPolicySayWhatTheyAreFor(t *testing.T) {
	require.Equal(t, "(every policy)", origin(nbtrace.ACL{}))
	shared := nbtrace.ACL{ExternalIDs: map[string]string{ovn.KeyTitle: "rules of several policies, ingress"}}
	require.Equal(t, "(rules of several policies, ingress)", origin(shared))
}
