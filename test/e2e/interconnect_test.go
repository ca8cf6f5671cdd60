//go:build e2e

package e2e_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// twoClusters is the example of two clusters on two OVNs that OVN Interconnect joins, each with a netloom of its own.
type twoClusters struct {
	dir     string // with the manifests of each cluster in a directory of its name
	labs    map[string]*ovnlab.Lab
	gateway map[string]*ovnlab.Chassis
	hosts   map[string]*ovnlab.Host // by the name of their port
}

func startTwoClusters(t *testing.T) *twoClusters {
	t.Helper()
	c := &twoClusters{
		dir:  gather(t, "../../deploy/examples/clusters/a", "../../deploy/examples/clusters/b"),
		labs: map[string]*ovnlab.Lab{}, gateway: map[string]*ovnlab.Chassis{}, hosts: map[string]*ovnlab.Host{},
	}
	var zones []ovnlab.Zone
	for i, z := range []struct {
		name, network string
		ports         []string
	}{
		{"a", "10.1.0.0/24", []string{"shop_db-0", "shop_report-0"}},
		{"b", "10.2.0.0/24", []string{"shop_checkout-0", "shop_web-0"}},
	} {
		lab := ovnlab.StartZone(t, i)
		t.Cleanup(func() { require.Empty(t, lab.Complaints(), "OVN cannot read what was written") })
		lab.Install(network(t, load(t, c.dir+"/"+z.name)))
		chassis := lab.StartNode("gw-" + z.name)
		for _, h := range chassis.Bind(nil, z.ports...) {
			c.hosts[h.Name()] = h
			h.Serve("tcp", 5432)
		}
		c.labs[z.name], c.gateway[z.name] = lab, chassis
		zones = append(zones, ovnlab.Zone{Name: z.name, Lab: lab, Gateway: chassis, Networks: []netip.Prefix{netip.MustParsePrefix(z.network)}})
	}
	ovnlab.Join(t, zones[0], zones[1])
	return c
}

// run starts the netloom of a cluster, which reads the other one.
func (c *twoClusters) run(t *testing.T, own, other string) {
	t.Helper()
	startWith(t, c.dir+"/"+own, c.labs[own].NBTCP(), "--cluster", own, "--peer-manifests", other+"="+c.dir+"/"+other)
}

// relabel changes the label app of the pods of b.
func (c *twoClusters) relabel(t *testing.T, replace ...string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/examples/clusters/b/shop.yaml")
	require.NoError(t, err)
	put(t, c.dir+"/b", "shop.yaml", strings.NewReplacer(replace...).Replace(string(text)))
}

// peers waits until the only address set of a cluster has exactly some addresses, and its chassis the flows for it.
func (c *twoClusters) peers(t *testing.T, cluster string, want ...string) {
	t.Helper()
	await.True(t, func() bool {
		return strings.TrimSpace(c.labs[cluster].NBCtl("--bare", "--columns=addresses", "list", "Address_Set")) == strings.Join(want, " ")
	}, "%s", "the address set of cluster "+cluster+" has "+strings.Join(want, " "))
	c.gateway[cluster].SyncHV()
}

func (c *twoClusters) expect(t *testing.T, want ovnlab.Outcome, from, to string) {
	t.Helper()
	src, dst := c.hosts[from].Addr(false), netip.AddrPortFrom(c.hosts[to].Addr(false), 5432)
	got, err := c.hosts[from].Connect(t.Context(), "tcp", src, dst, ovnlab.Within(want))
	require.NoError(t, err)
	require.Equal(t, want, got, "%s -> %s", from, to)
}

// connects waits until a connection succeeds: OVN may take a while to bring a port of one zone to the other.
func (c *twoClusters) connects(t *testing.T, from, to string) {
	t.Helper()
	src, dst := c.hosts[from].Addr(false), netip.AddrPortFrom(c.hosts[to].Addr(false), 5432)
	await.True(t, func() bool {
		got, err := c.hosts[from].Connect(t.Context(), "tcp", src, dst, 2*time.Second)
		return err == nil && got == ovnlab.Answered
	}, "%s", from+" reaches "+to)
}

// TestInterconnect sends packets between the pods of two clusters: what a policy allows by a label in the other cluster
// passes, and what that label no longer allows does not.
func TestInterconnect(t *testing.T) {
	c := startTwoClusters(t)
	// Without policies everything passes, so that what does not pass below is refused by a policy.
	c.connects(t, "shop_checkout-0", "shop_db-0")
	c.connects(t, "shop_web-0", "shop_db-0")
	c.connects(t, "shop_checkout-0", "shop_report-0")
	transit := c.transit(t)
	c.run(t, "a", "b")
	c.run(t, "b", "a")

	c.peers(t, "a", "10.2.0.10")
	c.peers(t, "b", "10.1.0.10")
	c.expect(t, ovnlab.Answered, "shop_checkout-0", "shop_db-0")
	c.expect(t, ovnlab.Timeout, "shop_web-0", "shop_db-0")
	c.expect(t, ovnlab.Timeout, "shop_report-0", "shop_db-0")
	c.expect(t, ovnlab.Timeout, "shop_checkout-0", "shop_report-0") // by the policy for egress of b
	c.expect(t, ovnlab.Answered, "shop_web-0", "shop_report-0")
	c.expect(t, ovnlab.Answered, "shop_db-0", "shop_web-0")

	c.relabel(t, "labels: {app: web}", "labels: {app: checkout}")
	c.peers(t, "a", "10.2.0.10", "10.2.0.11")
	c.expect(t, ovnlab.Answered, "shop_web-0", "shop_db-0")
	c.expect(t, ovnlab.Answered, "shop_checkout-0", "shop_db-0")

	c.relabel(t, "labels: {app: checkout}", "labels: {app: other}")
	c.peers(t, "a", "")
	c.expect(t, ovnlab.Timeout, "shop_checkout-0", "shop_db-0")
	c.expect(t, ovnlab.Timeout, "shop_web-0", "shop_db-0")
	c.expect(t, ovnlab.Answered, "shop_web-0", "shop_report-0")

	require.Equal(t, transit, c.transit(t), "netloom changes nothing of the transit switch, its router port and its remote port")
}

// transit is what both databases have of the transit switch, which is not netloom's.
func (c *twoClusters) transit(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{"a", "b"} {
		lab := c.labs[name]
		out.WriteString(lab.NBCtl("--columns=name,acls,load_balancer,ports,other_config", "find", "Logical_Switch", "name="+ovnlab.TransitSwitch))
		for _, port := range []string{"transit-a", "transit-b"} {
			out.WriteString(lab.NBCtl("--columns=_uuid,name,type,addresses,port_security,options,external_ids", "find", "Logical_Switch_Port", "name="+port))
			uuid := strings.TrimSpace(lab.NBCtl("--bare", "--columns=_uuid", "find", "Logical_Switch_Port", "name="+port))
			require.Len(t, uuid, 36)
			require.NotContains(t, lab.NBCtl("--bare", "--columns=ports", "list", "Port_Group"), uuid, "a port of the transit switch is in a port group")
		}
	}
	return out.String()
}
