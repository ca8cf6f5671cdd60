//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
)

// Chassis is one hypervisor of a lab: ovs-vswitchd with the userspace datapath in a network namespace of its own, and
// ovn-controller.
type Chassis struct {
	lab        *Lab
	ns         *netns
	vswitchd   *Process
	controller *Process
	hosts      int
}

// StartChassis adds a hypervisor to the lab. A lab has at most one.
func (l *Lab) StartChassis() *Chassis {
	l.tb.Helper()
	c := &Chassis{lab: l, ns: newNetns(l.tb, "sw")}
	l.ovsdbTool("create", "conf.db", ovsSchema)
	l.spawn("confdb.log", "ovsdb-server", l.path("conf.db"), "--no-chdir", "--unixctl="+l.path("confdb.ctl"),
		"--remote=punix:"+l.path("db.sock"))
	Eventually(l.tb, patience, "the local database listens", func() bool { return answers(l.tb.Context(), l.path("db.sock")) })
	c.vsctl("--no-wait", "init", "--", "set", "Open_vSwitch", ".", "external_ids:system-id=ch1", "external_ids:hostname=ch1",
		"external_ids:ovn-remote="+l.SBUnix(), "external_ids:ovn-encap-type=geneve", "external_ids:ovn-encap-ip=127.0.0.1",
		"external_ids:ovn-bridge-datapath-type=netdev")
	c.vswitchd = l.spawn("vswitchd.log", "ip", "netns", "exec", c.ns.name, "ovs-vswitchd", "unix:"+l.path("db.sock"),
		"--no-chdir", "--disable-system", "--unixctl="+l.path("vswitchd.ctl"), "--pidfile="+l.path("ovs-vswitchd.pid"))
	l.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.tb.Context()), 10*time.Second)
		defer cancel()
		_, _ = run(ctx, l.env, "", "ovs-appctl", "-T", "5", "-t", l.path("vswitchd.ctl"), "exit", "--cleanup")
	})
	c.vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev", "fail-mode=secure")
	c.controller = l.spawn("controller.log", "ovn-controller", "unix:"+l.path("db.sock"), "--no-chdir",
		"--pidfile="+l.path("ovn-controller.pid"))
	Eventually(l.tb, patience, "the chassis registers", func() bool {
		return strings.TrimSpace(l.run("ovn-sbctl", "-t", "30", "--bare", "--columns=name", "list", "Chassis")) != ""
	})
	return c
}

func (c *Chassis) vsctl(args ...string) {
	c.lab.tb.Helper()
	c.lab.run(append([]string{"ovs-vsctl", "-t", "30"}, args...)...)
}

// SyncHV waits until the chassis has installed the flows of all that is in the Northbound database.
func (c *Chassis) SyncHV() {
	c.lab.tb.Helper()
	c.lab.NBCtl("--wait=hv", "sync")
}

// Flows counts the OpenFlow flows of the chassis.
func (c *Chassis) Flows() int {
	c.lab.tb.Helper()
	out := c.lab.run("ovs-ofctl", "-O", "OpenFlow13", "dump-aggregate", "unix:"+c.lab.path("br-int.mgmt"))
	_, rest, ok := strings.Cut(out, "flow_count=")
	var n int
	if _, err := fmt.Sscan(rest, &n); !ok || err != nil {
		c.lab.tb.Fatalf("count flows: %q", out)
	}
	return n
}

// Bind gives each named port of the lab's network a host of its own, in a network namespace, and returns the hosts in
// that order. World may be bound too; it also holds the extra addresses.
func (c *Chassis) Bind(extra []netip.Addr, names ...string) []*Host {
	c.lab.tb.Helper()
	hosts := make([]*Host, len(names))
	var add [][]string
	for i, name := range names {
		p := c.lab.net.Port(name)
		if p == nil {
			c.lab.tb.Fatalf("bind %s: no such port", name)
		}
		c.hosts++
		h := &Host{tb: c.lab.tb, port: p, ns: newNetns(c.lab.tb, fmt.Sprintf("h%d", c.hosts)), link: fmt.Sprintf("tap%d", c.hosts)}
		hosts[i] = h
		add = append(add, []string{"add-port", "br-int", h.link},
			[]string{"set", "Interface", h.link, "type=internal", "external_ids:iface-id=" + name})
	}
	c.vsctl(splice(add)...)
	for _, h := range hosts {
		h.configure(c, extra)
	}
	for _, name := range names {
		c.lab.NBCtl("wait-until", "Logical_Switch_Port", name, "up=true")
	}
	c.SyncHV()
	return hosts
}

// configure moves the host's link into its namespace and gives it addresses and routes.
func (h *Host) configure(c *Chassis, extra []netip.Addr) {
	h.tb.Helper()
	c.lab.run("ip", "-n", c.ns.name, "link", "set", h.link, "netns", h.ns.name)
	lines := []string{
		"link set lo up",
		fmt.Sprintf("link set %s name eth0 address %s", h.link, h.port.mac),
	}
	var routes []string
	addrs := h.port.Addrs
	if h.port.Name == World {
		addrs = append(addrs[:len(addrs):len(addrs)], extra...)
	}
	for _, a := range addrs {
		gw, prefix, ok := h.port.sw.gateway(a)
		if !ok {
			h.tb.Fatalf("port %s: no gateway for %s", h.port.Name, a)
		}
		bits, flags := prefix.Bits(), ""
		if !prefix.Contains(a) {
			bits = a.BitLen()
		}
		if a.Is6() {
			flags = " nodad"
		}
		lines = append(lines, fmt.Sprintf("addr add %s/%d dev eth0%s", a, bits, flags))
		if prefix.Contains(a) {
			routes = append(routes, fmt.Sprintf("route add default via %s dev eth0", gw))
		}
	}
	lines = append(append(lines, "link set eth0 up"), routes...)
	if _, err := run(h.tb.Context(), c.lab.env, strings.Join(lines, "\n")+"\n", "ip", "-n", h.ns.name, "-batch", "-"); err != nil {
		h.tb.Fatal(err)
	}
}

// StopController ends ovn-controller; the flows it installed stay.
func (c *Chassis) StopController() { c.controller.Stop() }

// netnsDir is where iproute2 keeps the files of named network namespaces.
const netnsDir = "/run/netns"

func netnsPath(name string) string { return filepath.Join(netnsDir, name) }
