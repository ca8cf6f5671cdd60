package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestZoneNode(t *testing.T) {
	inZone := func(args string) place {
		return place{
			args: "--ovn-nb unix:/run/ovn/ovnnb_db.sock " + args,
			env:  map[string]string{"NETLOOM_ZONE_NODE": "ip-10-0-0-1.example"},
		}
	}
	c, err := inZone("").load(t)
	require.NoError(t, err)
	require.Equal(t, "ip-10-0-0-1.example", c.ZoneNode)
	for args, want := range map[string]string{
		"--sdewan":                    "sdewan (flag --sdewan): cannot be combined with zone-node (environment NETLOOM_ZONE_NODE): every",
		"--tungsten http://c:8082":    "tungsten (flag --tungsten): cannot be combined with zone-node (environment NETLOOM_ZONE_NODE): every",
		"--leader-elect":              "leader-elect (flag --leader-elect): cannot be combined with zone-node",
		"--policy-events":             "policy-events (flag --policy-events): cannot be combined with zone-node",
		"--ui-listen 127.0.0.1:8081":  "ui-listen (flag --ui-listen): cannot be combined with zone-node",
		"--acl-log /var/log/ovn.log":  "acl-log (flag --acl-log): cannot be combined with zone-node (environment NETLOOM_ZONE_NODE): it has no page",
		"--zone-node Node_A --sdewan": `zone-node (flag --zone-node): "Node_A": expected the name of a node`,
	} {
		_, err := inZone(args).load(t)
		require.ErrorContains(t, err, want)
	}
	_, err = inZone("--policy-status").load(t)
	require.NoError(t, err)
	_, err = inZone("--zone-node= --sdewan --leader-elect").load(t)
	require.NoError(t, err)
}
