//go:build e2e

package e2e_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestForeignRows lets netloom come and go in a database that another client uses, and checks that every row of theirs is
// as it was and none of netloom's is left.
func TestForeignRows(t *testing.T) {
	dir := gather(t, "testdata/base", "testdata/verdicts/sums")
	lab := ovnlab.Start(t)
	lab.Install(network(t, load(t, dir)))
	lab.NBCtl("pg-add", "foreign", "shop_web", "--", "--type=port-group", "acl-add", "foreign", "to-lport", "1000", "outport == @foreign && ip4.src == $theirs", "drop", "--",
		"create", "Address_Set", "name=theirs", "addresses=192.0.2.1", "external_ids:owner=somebody", "--",
		"acl-add", "ls0", "to-lport", "1000", "ip4.src == 192.0.2.2", "drop", "--",
		"--id=@m", "create", "Meter", "name=theirs", "unit=pktps", "bands=@b", "--", "--id=@b", "create", "Meter_Band", "action=drop", "rate=10")
	before := lab.Dump()
	mustApply(t, dir, lab.NBUnix())
	with := lab.Dump()
	require.NotEqual(t, before, with)
	mustApply(t, dir, lab.NBUnix())
	require.Equal(t, with, lab.Dump())

	require.NoError(t, os.Remove(filepath.Join(dir, "sums", "policies.yaml")))
	code, out := apply(t, dir, lab.NBUnix())
	require.Equal(t, problems, code, "the removal of everything was not reported:\n%s", out)
	require.Equal(t, with, lab.Dump())
	mustApply(t, dir, lab.NBUnix(), "--force")
	require.Equal(t, before, lab.Dump())
}

// TestDrift damages what netloom wrote, in every table, and checks that the next run restores it row for row.
func TestDrift(t *testing.T) {
	dir := gather(t, "testdata/base", "testdata/verdicts/sums")
	lab := ovnlab.Start(t)
	lab.Install(network(t, load(t, dir)))
	mustApply(t, dir, lab.NBUnix())
	settled := lab.Dump()
	first := func(table, column string) string {
		names := strings.Fields(lab.NBCtl("--bare", "--columns="+column, "list", table))
		require.NotEmpty(t, names, table)
		return names[0]
	}
	group := func() string { return first("Port_Group", "name") }
	tests := []struct {
		name   string
		damage []string
	}{
		{"an ACL matches something else", []string{"set", "ACL", first("ACL", "_uuid"), `match="ip"`}},
		{"an ACL does something else", []string{"set", "ACL", first("ACL", "_uuid"), "action=allow", "priority=7"}},
		{"the ACLs of a group are gone", []string{"clear", "Port_Group", group(), "acls"}},
		{"the ports of a group are gone", []string{"clear", "Port_Group", group(), "ports"}},
		{"a group is gone", []string{"pg-del", group()}},
		{"a set lacks its addresses", []string{"clear", "Address_Set", first("Address_Set", "name"), "addresses"}},
		{"a set has one too many", []string{"add", "Address_Set", first("Address_Set", "name"), "addresses", "192.0.2.99"}},
		{"a set is gone", []string{"destroy", "Address_Set", first("Address_Set", "name")}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			lab.NBCtl(tc.damage...)
			require.NotEqual(t, settled, lab.Dump())
			code, out := apply(t, dir, lab.NBUnix(), "--dry-run")
			require.Equal(t, differs, code, "the damage is not seen:\n%s", out)
			mustApply(t, dir, lab.NBUnix())
			require.Equal(t, settled, lab.Dump())
		})
	}
}

// TestPortAppearsLater makes a pod's logical port while the daemon runs: its policies must be in force at once.
func TestPortAppearsLater(t *testing.T) {
	dir := gather(t, "testdata/base", "testdata/verdicts/deny-both")
	lab := ovnlab.Start(t)
	lab.Install(network(t, load(t, dir)))
	lab.NBCtl("lsp-del", "shop_web")
	daemon := start(t, dir, lab.NBUnix())
	probe := ovnlab.Flow{Src: netip.MustParseAddr("10.244.1.30"), Dst: netip.MustParseAddr("10.244.1.10"), Protocol: "tcp", Port: 80}
	for range 3 { // gone and back again
		lab.NBCtl("lsp-add", "ls0", "shop_web", "--", "lsp-set-addresses", "shop_web", "0a:01:00:00:00:00 10.244.1.10 fd00:10:1::10")
		await.True(t, func() bool {
			running(t, daemon)
			lab.Sync()
			return lab.Trace(probe) == ovnlab.Drop
		}, "the new port is isolated")
		require.True(t, isInSync(t, dir, lab.NBUnix()))
		lab.NBCtl("lsp-del", "shop_web")
	}
}
