//go:build e2e

package e2e_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestForeignLoadBalancers lets services come and go beside load balancers, groups and variables of another client, which
// has an address that a service wants, and checks that all of theirs is as it was and nothing is left.
func TestForeignLoadBalancers(t *testing.T) {
	dir := gather(t, "testdata/services")
	cluster := load(t, dir)
	lab := ovnlab.Start(t)
	lab.Install(network(t, cluster, vips(cluster)...))
	lab.NBCtl("--id=@lb", "create", "Load_Balancer", "name=theirs", "protocol=tcp", `vips={"10.96.0.1:80"="10.244.1.22:9","10.97.0.1:80"="10.244.1.22:9"}`, "--",
		"--id=@g", "create", "Load_Balancer_Group", "name=theirs", "load_balancer=@lb", "--", "add", "Logical_Switch", "ls0", "load_balancer_group", "@g", "--",
		"create", "Chassis_Template_Var", "chassis=n1", "variables:theirs=x")
	before := lab.Dump()
	code, out := apply(t, dir, lab.NBUnix())
	require.Contains(t, []int{inSync, problems}, code, out)
	require.Contains(t, out, "theirs", "the conflict of a service is not reported")
	with := lab.Dump()
	require.NotEqual(t, before, with)
	lab.Sync()
	tracer := lab.Tracer()
	defer tracer.Close()
	got := tracer.Balance(ovnlab.Flow{Src: netip.MustParseAddr("10.244.1.11"), Dst: netip.MustParseAddr("10.96.0.1"), Protocol: "tcp", Port: 80})
	require.Len(t, got.Backends, 1)
	require.Equal(t, "10.244.1.22:9", got.Backends[0].String(), "the address is still theirs")
	got = tracer.Balance(ovnlab.Flow{Src: netip.MustParseAddr("10.244.1.11"), Dst: netip.MustParseAddr("10.96.0.1"), Protocol: "udp", Port: 80})
	require.Len(t, got.Backends, 3, "no other row has it with UDP")

	require.NoError(t, os.Remove(filepath.Join(dir, "services", "services.yaml")))
	require.NoError(t, os.Remove(filepath.Join(dir, "services", "policies.yaml")))
	mustApply(t, dir, lab.NBUnix(), "--force")
	require.Equal(t, before, lab.Dump())
}

// TestLoadBalancerDrift damages what netloom wrote for services and checks that the next run restores it row for row.
func TestLoadBalancerDrift(t *testing.T) {
	dir := gather(t, "testdata/services")
	cluster := load(t, dir)
	lab := ovnlab.Start(t)
	lab.Install(network(t, cluster, vips(cluster)...))
	mustApply(t, dir, lab.NBUnix(), gatewayFlags...)
	settled := lab.Dump()
	web := func() string {
		for _, r := range list(t, lab, "Load_Balancer") {
			if r.text("name") == "shop/web:tcp:cluster" {
				return r.references("_uuid")[0]
			}
		}
		require.FailNow(t, "no row for the service")
		return ""
	}
	group := func() string { return list(t, lab, "Load_Balancer_Group")[0].references("_uuid")[0] }
	variables := func() string { return list(t, lab, "Chassis_Template_Var")[0].references("_uuid")[0] }
	tests := []struct {
		name   string
		damage []string
	}{
		{"a frontend has other backends", []string{"set", "Load_Balancer", web(), `vips:"10.96.0.1:80"="10.9.9.9:9"`}},
		{"a frontend is gone", []string{"remove", "Load_Balancer", web(), "vips", `"10.96.0.1:80"`}},
		{"there is a frontend too many", []string{"set", "Load_Balancer", web(), `vips:"10.99.9.9:80"="10.9.9.9:9"`}},
		{"an option is another", []string{"set", "Load_Balancer", web(), "options:reject=false"}},
		{"a row is gone", []string{"lb-del", web()}},
		{"a group is empty", []string{"clear", "Load_Balancer_Group", group(), "load_balancer"}},
		{"a switch lacks its groups", []string{"clear", "Logical_Switch", "ls0", "load_balancer_group"}},
		{"the router lacks its groups", []string{"clear", "Logical_Router", "lr", "load_balancer_group"}},
		{"a chassis lacks its variables", []string{"clear", "Chassis_Template_Var", variables(), "variables"}},
		{"a chassis has no row", []string{"destroy", "Chassis_Template_Var", variables()}},
		{"a switch lacks the ACLs of source ranges", []string{"clear", "Logical_Switch", "ls0", "acls"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			lab.NBCtl(tc.damage...)
			require.NotEqual(t, settled, lab.Dump())
			code, out := apply(t, dir, lab.NBUnix(), append([]string{"--dry-run"}, gatewayFlags...)...)
			require.Equal(t, differs, code, "the damage is not seen:\n%s", out)
			mustApply(t, dir, lab.NBUnix(), gatewayFlags...)
			require.Equal(t, settled, lab.Dump())
		})
	}
}
