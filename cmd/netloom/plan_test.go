package main

import (
	"encoding/json"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
)

func TestPlan(t *testing.T) {
	dir, server := manifests(t), database(t)
	write(t, dir, "policies.yaml", policies(2))
	args := []string{"plan", "-f", dir, "--ovn-nb", server.Addr()}
	got := netloom(t, args...)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Empty(t, got.errout)
	require.Contains(t, got.out, "+ ACL shop/db-client-a ingress[0]  (NetworkPolicy/shop/db-client-a spec.ingress[0])\n")
	require.Regexp(t, `\ncost: 4 ACLs, about \d+ flows on an unnamed node\n$`, got.out)
	require.Zero(t, server.Transactions(), "a plan writes nothing")

	var report planReport
	got = netloom(t, append(args, "-o", "json")...)
	require.Equal(t, exitDiffers, got.code)
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.NotEmpty(t, report.Plan.Ops)
	require.Equal(t, 4, report.Cost.ACLs)
	require.Nil(t, report.Before)

	require.Equal(t, exitDone, netloom(t, "apply", "--manifests", dir, "--ovn-nb", server.Addr()).code)
	got = netloom(t, args...)
	require.Equal(t, exitDone, got.code)
	require.True(t, strings.HasPrefix(got.out, "nothing to do\ncost: 4 ACLs"), got.out)

	got = netloom(t, "plan", "-f", dir)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "ovn-nb")
}

func TestPlanBetweenTwoStates(t *testing.T) {
	dir := manifests(t)
	write(t, dir, "policies.yaml", policies(2))
	got := netloom(t, "plan", "-f", dir, "--without", "networkpolicy/shop/db-client-a")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Regexp(t, `(?s)- ACL shop/db-client-a ingress\[0\]  .*\ncost: 3 ACLs \(-1\), about \d+ flows \(-\d\) on`, got.out)
	require.NotContains(t, got.out, "+ ", "all else stays")
	require.NotContains(t, got.out, "client-b")

	got = netloom(t, "plan", "--from", dir, "--to", dir)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `^nothing to do\ncost: 4 ACLs \(\+0\)`, got.out)
}

func TestPlanBetweenTwoDirectories(t *testing.T) {
	before, after := manifests(t), manifests(t)
	write(t, before, "policies.yaml", policies(2))
	write(t, after, "policies.yaml", strings.Replace(strings.Replace(policies(2), "port: 5432", "port: 6000", 1), "client-b", "client-z", 3))
	got := netloom(t, "plan", "--from", before, "--to", after)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Empty(t, got.errout)
	require.Contains(t, got.out, "- ACL shop/db-client-b ingress[0]  (NetworkPolicy/shop/db-client-b spec.ingress[0])\n")
	require.Contains(t, got.out, "+ ACL shop/db-client-z ingress[0]  (NetworkPolicy/shop/db-client-z spec.ingress[0])\n")
	require.Contains(t, got.out, "tcp.dst == 6000")
	require.Regexp(t, `\ncost: 4 ACLs \(\+0\), about \d+ flows \(\+0\) on`, got.out)
	back := netloom(t, "plan", "--from", after, "--to", before)
	require.Contains(t, back.out, "+ ACL shop/db-client-b ingress[0]  (NetworkPolicy/shop/db-client-b spec.ingress[0])\n")

	// The second directory in the place of the first comes beside what it does not name.
	got = netloom(t, "plan", "-f", before, "--with", after)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, "+ ACL shop/db-client-z ingress[0]")
	require.NotContains(t, got.out, "ACL shop/db-client-b ", "it stays")
	require.Regexp(t, `\ncost: 5 ACLs \(\+1\)`, got.out)
}

func TestDrift(t *testing.T) {
	dir, server := manifests(t), database(t)
	write(t, dir, "policies.yaml", policies(2))
	args := []string{"drift", "-f", dir, "--ovn-nb", server.Addr()}
	require.Equal(t, exitDone, netloom(t, "apply", "--manifests", dir, "--ovn-nb", server.Addr()).code)
	require.Equal(t, outcome{exitDone, "nothing to do\n", ""}, netloom(t, args...))
	healthy := server.Dump()

	_, err := server.Transact(libovsdb.Operation{
		Op: libovsdb.OperationUpdate, Table: "ACL", Row: libovsdb.Row{"action": "allow"},
		Where: []libovsdb.Condition{{Column: "action", Function: libovsdb.ConditionEqual, Value: "drop"}},
	}, libovsdb.Operation{
		Op: libovsdb.OperationUpdate, Table: "Address_Set",
		Where: []libovsdb.Condition{{Column: "name", Function: libovsdb.ConditionNotEqual, Value: ""}},
		Row:   libovsdb.Row{"addresses": ovsdb.Set([]string{"10.9.9.9"})},
	})
	require.NoError(t, err)
	harmed := server.Dump()

	got := netloom(t, args...)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, "    action: allow → drop\n")
	require.Contains(t, got.out, "    addresses: +10.244.0.10 -10.9.9.9\n")
	require.Equal(t, harmed, server.Dump(), "without --repair nothing is written")

	got = netloom(t, append(args, "--repair")...)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, "    action: allow → drop\n")
	require.Equal(t, healthy, server.Dump())
	require.Equal(t, outcome{exitDone, "nothing to do\n", ""}, netloom(t, args...))
}
