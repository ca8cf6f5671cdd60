//go:build e2e

package ovnlab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netloom/netloom/test/await"
)

// TransitSwitch is the name of the switch between the zones of an Interconnect.
const TransitSwitch = "transit"

// Schemas of the databases of OVN Interconnect.
const (
	icNBSchema = "ovn/ovn-ic-nb.ovsschema"
	icSBSchema = "ovn/ovn-ic-sb.ovsschema"
)

// Interconnect joins the control planes of labs by OVN Interconnect: its two databases, ovn-ic for each lab, and a transit
// switch to which the router of each is connected. Every lab is an availability zone.
type Interconnect struct {
	tb  testing.TB
	dir string
	env []string
}

// Zone is a lab with its name as an availability zone, the chassis that is its gateway, and the networks of its ports.
type Zone struct {
	Name     string
	Lab      *Lab
	Gateway  *Chassis
	Networks []netip.Prefix
}

// Join starts the databases and joins two zones. It returns when each knows the port and the chassis of the other.
func Join(tb testing.TB, a, b Zone) *Interconnect {
	tb.Helper()
	ic := &Interconnect{tb: tb, dir: scratch(tb)}
	ic.env = append(environment(ic.dir), "OVN_IC_NB_DB="+ic.remote(), "OVN_IC_SB_DB="+ic.remote())
	for name, schema := range map[string]string{"icnb.db": icNBSchema, "icsb.db": icSBSchema} {
		ic.run("ovsdb-tool", "create", ic.path(name), shared(tb, schema))
	}
	ic.spawn("icdb.log", "ovsdb-server", ic.path("icnb.db"), ic.path("icsb.db"), "--no-chdir",
		"--unixctl="+ic.path("icdb.ctl"), "--remote=p"+ic.remote())
	await.True(tb, func() bool { return answers(tb.Context(), ic.path("ic.sock")) }, "the interconnection databases listen")
	ic.run("ovn-ic-nbctl", "-t", "30", "ts-add", TransitSwitch)
	connect(a.Gateway, b.Gateway)
	for i, z := range []Zone{a, b} {
		ic.add(i, z)
	}
	for i, z := range []Zone{a, b} {
		other := []Zone{b, a}[i]
		ic.route(i, z, other)
	}
	return ic
}

func (ic *Interconnect) path(name string) string { return ic.dir + "/" + name }

func (ic *Interconnect) remote() string { return "unix:" + ic.path("ic.sock") }

func (ic *Interconnect) run(argv ...string) string {
	ic.tb.Helper()
	out, err := run(ic.tb.Context(), ic.env, "", argv...)
	if err != nil {
		ic.tb.Fatal(err)
	}
	return out
}

func (ic *Interconnect) spawn(logName string, argv ...string) {
	ic.tb.Helper()
	Spawn(ic.tb, ic.path(logName), ic.env, argv...)
}

// transitAddr is the address of the nth zone's router on the transit switch.
func transitAddr(zone int) string { return fmt.Sprintf("169.254.100.%d", zone+1) }

// add starts ovn-ic for a zone and connects its router to the transit switch.
func (ic *Interconnect) add(number int, z Zone) {
	ic.tb.Helper()
	z.Lab.NBCtl("set", "NB_Global", ".", "name="+z.Name)
	z.Gateway.vsctl("set", "Open_vSwitch", ".", "external_ids:ovn-is-interconn=true")
	ic.spawn("ic-"+z.Name+".log", "ovn-ic", "--no-chdir", "--unixctl="+ic.path(z.Name+".ctl"), "--pidfile="+ic.path(z.Name+".pid"),
		"--ovnnb-db="+z.Lab.NBUnix(), "--ovnsb-db="+z.Lab.SBUnix(), "--ic-nb-db="+ic.remote(), "--ic-sb-db="+ic.remote())
	await.True(ic.tb, func() bool {
		return z.Lab.RowsWhere("Logical_Switch", "name="+TransitSwitch) == 1
	}, "%s", "zone "+z.Name+" has the transit switch")
	port := "lr-" + z.Name
	z.Lab.NBCtl(splice([][]string{
		{"lrp-add", "lr", port, fmt.Sprintf("0a:02:00:00:00:%02x", number+1), transitAddr(number) + "/24"},
		{"lrp-set-gateway-chassis", port, z.Gateway.name, "1"},
		{"lsp-add", TransitSwitch, "transit-" + z.Name},
		{"lsp-set-type", "transit-" + z.Name, "router"},
		{"lsp-set-addresses", "transit-" + z.Name, "router"},
		{"lsp-set-options", "transit-" + z.Name, "router-port=" + port},
	})...)
}

// route sends packets for the networks of another zone there, once ovn-ic has brought its port and its chassis.
func (ic *Interconnect) route(number int, z, other Zone) {
	ic.tb.Helper()
	await.True(ic.tb, func() bool {
		found := z.Lab.NBCtl("--bare", "--columns=type,addresses", "find", "Logical_Switch_Port", "name=transit-"+other.Name)
		return strings.Contains(found, "remote") && strings.Contains(found, transitAddr(1-number))
	}, "%s", "zone "+z.Name+" knows the port of zone "+other.Name)
	await.True(ic.tb, func() bool {
		return slices.Contains(strings.Fields(z.Lab.run("ovn-sbctl", "-t", "30", "--bare", "--columns=name", "list", "Chassis")), other.Gateway.name)
	}, "%s", "zone "+z.Name+" knows the chassis of zone "+other.Name)
	var routes [][]string
	for _, p := range other.Networks {
		routes = append(routes, []string{"lr-route-add", "lr", p.String(), transitAddr(1 - number)})
	}
	z.Lab.NBCtl(splice(routes)...)
	z.Gateway.SyncHV()
}
