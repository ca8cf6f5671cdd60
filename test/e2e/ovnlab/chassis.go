//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/netloom/netloom/test/await"
)

// Chassis is one hypervisor of a lab: ovs-vswitchd with the userspace datapath in a separate network namespace, and
// ovn-controller.
type Chassis struct {
	lab        *Lab
	name       string
	dir        string
	env        []string
	ns         *netns
	vswitchd   *Process
	controller *Process
}

// StartChassis adds a hypervisor to the lab, for tests that need only one.
func (l *Lab) StartChassis() *Chassis {
	l.tb.Helper()
	return l.StartNode("ch1")
}

// StartNode adds a hypervisor with that name in OVN. The first two are connected by Geneve; a third is isolated.
func (l *Lab) StartNode(name string) *Chassis {
	l.tb.Helper()
	l.chassis++
	c := &Chassis{lab: l, name: name, dir: l.path(name), ns: newNetns(l.tb, "sw"+name)}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		l.tb.Fatalf("chassis %s: %v", name, err)
	}
	c.env = environment(c.dir)
	l.ovsdbTool("create", filepath.Join(name, "conf.db"), ovsSchema)
	c.spawn("confdb", "ovsdb-server", c.path("conf.db"), "--no-chdir", "--unixctl="+c.path("confdb.ctl"), "--remote=punix:"+c.path("db.sock"))
	await.True(l.tb, func() bool { return answers(l.tb.Context(), c.path("db.sock")) }, "the local database listens")
	c.vsctl("--no-wait", "init", "--", "set", "Open_vSwitch", ".", "external_ids:system-id="+name, "external_ids:hostname="+name,
		"external_ids:ovn-remote="+l.SBUnix(), "external_ids:ovn-encap-type=geneve", "external_ids:ovn-encap-ip="+l.tunnelAddr(),
		"external_ids:ovn-bridge-datapath-type=netdev",
		"other_config:bundle-idle-timeout=180") // as ovn-kubernetes has it: hundreds of thousands of flows take longer than the 10 s of the default
	c.vswitchd = c.spawn("vswitchd", "ip", "netns", "exec", c.ns.name, "ovs-vswitchd", "unix:"+c.path("db.sock"),
		"--no-chdir", "--disable-system", "--pidfile="+c.path("ovs-vswitchd.pid"))
	l.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.tb.Context()), 10*time.Second)
		defer cancel()
		_, _ = run(ctx, c.env, "", "ovs-appctl", "-T", "5", "-t", "ovs-vswitchd", "exit", "--cleanup")
	})
	c.vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev", "fail-mode=secure")
	c.tunnel()
	c.StartController()
	await.True(l.tb, func() bool {
		return slices.Contains(strings.Fields(l.run("ovn-sbctl", "-t", "30", "--bare", "--columns=name", "list", "Chassis")), name)
	}, "the chassis registers")
	return c
}

// tunnelAddr is the tunnel address of the newest chassis of a lab.
func (l *Lab) tunnelAddr() string { return fmt.Sprintf("172.31.%d.%d", l.zone, l.chassis) }

const tunnelBridge = "br-tun"

// tunnel gives the chassis a bridge with its tunnel address, and connects the first two by a cable.
func (c *Chassis) tunnel() {
	c.lab.tb.Helper()
	c.vsctl("add-br", tunnelBridge, "--", "set", "Bridge", tunnelBridge, "datapath_type=netdev")
	lines := []string{
		"link set lo up", fmt.Sprintf("addr add %s/16 dev %s", c.lab.tunnelAddr(), tunnelBridge), "link set " + tunnelBridge + " up",
	}
	switch c.lab.chassis {
	case 1:
		c.lab.first = c
	case 2:
		connect(c.lab.first, c)
	}
	if _, err := run(c.lab.tb.Context(), c.env, strings.Join(lines, "\n")+"\n", "ip", "-n", c.ns.name, "-batch", "-"); err != nil {
		c.lab.tb.Fatal(err)
	}
}

// connect lays a cable for tunnels between two chassis.
func connect(a, b *Chassis) {
	a.lab.tb.Helper()
	a.lab.run("ip", "link", "add", "cable", "netns", a.ns.name, "type", "veth", "peer", "name", "cable", "netns", b.ns.name)
	for _, end := range []*Chassis{a, b} {
		end.lab.run("ip", "-n", end.ns.name, "link", "set", "cable", "up")
		end.vsctl("add-port", tunnelBridge, "cable")
	}
}

func (c *Chassis) path(name string) string { return filepath.Join(c.dir, name) }

// spawn starts a program of the chassis. Its log is next to those of the lab.
func (c *Chassis) spawn(what string, argv ...string) *Process {
	c.lab.tb.Helper()
	return Spawn(c.lab.tb, c.lab.path(c.name+"-"+what+".log"), c.env, argv...)
}

func (c *Chassis) vsctl(args ...string) {
	c.lab.tb.Helper()
	if _, err := run(c.lab.tb.Context(), c.env, "", append([]string{"ovs-vsctl", "-t", "30"}, args...)...); err != nil {
		c.lab.tb.Fatal(err)
	}
}

// SyncHV waits until the chassis has installed the flows for everything in the Northbound database.
func (c *Chassis) SyncHV() {
	c.lab.tb.Helper()
	c.lab.NBCtl("--wait=hv", "sync")
}

// Flows counts the OpenFlow flows of the chassis.
func (c *Chassis) Flows() int {
	c.lab.tb.Helper()
	return c.count("")
}

// Learned counts the flows that record the backend of a client: those of the table that OVN calls
// OFTABLE_CHK_LB_AFFINITY.
func (c *Chassis) Learned() int {
	c.lab.tb.Helper()
	return c.count("table=78")
}

func (c *Chassis) count(match string) int {
	c.lab.tb.Helper()
	out := c.lab.run("ovs-ofctl", "-O", "OpenFlow13", "dump-aggregate", "unix:"+c.path("br-int.mgmt"), match)
	_, rest, ok := strings.Cut(out, "flow_count=")
	var n int
	if _, err := fmt.Sscan(rest, &n); !ok || err != nil {
		c.lab.tb.Fatalf("count flows: %q", out)
	}
	return n
}

// Bind creates a host in a network namespace for each named port of the lab's network, and returns the hosts in that
// order. World may be bound too; it also has the extra addresses.
func (c *Chassis) Bind(extra []netip.Addr, names ...string) []*Host {
	c.lab.tb.Helper()
	hosts := make([]*Host, len(names))
	var add [][]string
	for i, name := range names {
		p := c.lab.net.Port(name)
		if p == nil {
			c.lab.tb.Fatalf("bind %s: no such port", name)
		}
		c.lab.hosts++
		h := &Host{tb: c.lab.tb, port: p, ns: newNetns(c.lab.tb, fmt.Sprintf("h%d", c.lab.hosts)), link: fmt.Sprintf("tap%d", c.lab.hosts)}
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

// ControllerLog is the path of ovn-controller's log.
func (c *Chassis) ControllerLog() string { return c.controller.log }

// StartController starts ovn-controller, anew if it was stopped.
func (c *Chassis) StartController() {
	c.lab.tb.Helper()
	c.controller = c.spawn("controller", "ovn-controller", "unix:"+c.path("db.sock"), "--no-chdir",
		"--pidfile="+c.path("ovn-controller.pid"))
}

// StopController stops ovn-controller; the flows it installed stay.
func (c *Chassis) StopController() { c.controller.Stop() }

// netnsDir is where iproute2 keeps the files of named network namespaces.
const netnsDir = "/run/netns"

func netnsPath(name string) string { return filepath.Join(netnsDir, name) }
