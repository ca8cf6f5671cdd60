//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netloom/netloom/test/await"
)

// Schemas of OVN and Open vSwitch, below the share directory of their programs.
const (
	nbSchema  = "ovn/ovn-nb.ovsschema"
	sbSchema  = "ovn/ovn-sb.ovsschema"
	ovsSchema = "openvswitch/vswitch.ovsschema"
)

// Names of the files of each database, as Debian's ovn-central has them: its log of transactions, its sockets and what its server prints.
const (
	nbFiles = "ovnnb_db"
	sbFiles = "ovnsb_db"
)

// shared returns the path of a file in the share directory of the programs that are tested.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	program, err := exec.LookPath("ovn-northd")
	if err != nil {
		tb.Fatalf("find %s: %v", name, err)
	}
	return filepath.Join(filepath.Dir(program), "../share", name)
}

// Lab is an OVN control plane: the Northbound and Southbound databases, each with a server of its own, and northd. A write to the
// Northbound database does not wait for northd's transactions in the other, as with Debian's ovn-central.
// Its methods fail the test on any error, so they belong to the test's own goroutine.
type Lab struct {
	tb    testing.TB
	dir   string
	env   []string
	port  int
	nb    *Process
	sb    *Process
	north *Process
	net   *Network // what Install put there

	zone    int      // the number of the lab, among those that are joined
	chassis int      // started so far
	first   *Chassis // the other end of the second one's cable
	hosts   int      // bound so far
}

// Start brings up a control plane with empty databases.
func Start(tb testing.TB) *Lab {
	tb.Helper()
	l := &Lab{tb: tb, dir: scratch(tb), port: FreePort(tb)}
	l.env = environment(l.dir)
	l.ovsdbTool("create", nbFiles+".db", nbSchema)
	l.ovsdbTool("create", sbFiles+".db", sbSchema)
	l.StartDBs()
	l.north = l.spawn("northd.log", "ovn-northd", "--no-chdir", "--unixctl="+l.path("northd.ctl"),
		"--ovnnb-db="+l.NBUnix(), "--ovnsb-db="+l.SBUnix())
	l.Sync()
	return l
}

// StartZone is Start for one of several labs that Join connects, each with another number.
func StartZone(tb testing.TB, number int) *Lab {
	tb.Helper()
	l := Start(tb)
	l.zone = number
	return l
}

// scratch makes a directory with a path short enough for unix sockets, which that of testing.TB may not be.
func scratch(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ovnlab") //nolint:usetesting // the name of a subtest can exceed the limit on a socket path
	if err != nil {
		tb.Fatalf("scratch directory: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// searchPath is where programs are looked for: where the test itself finds them, and where the system has its own.
func searchPath() string { return os.Getenv("PATH") + ":/usr/sbin:/usr/bin:/sbin:/bin" }

// environment makes every OVN and OVS program use dir.
func environment(dir string) []string {
	return []string{
		"PATH=" + searchPath(),
		"OVS_RUNDIR=" + dir, "OVN_RUNDIR=" + dir, "OVS_DBDIR=" + dir, "OVN_DBDIR=" + dir,
		"OVS_LOGDIR=" + dir, "OVN_LOGDIR=" + dir,
		"OVN_NB_DB=unix:" + filepath.Join(dir, nbFiles+".sock"), "OVN_SB_DB=unix:" + filepath.Join(dir, sbFiles+".sock"),
	}
}

// serve starts the server of one database.
func (l *Lab) serve(files string, more ...string) *Process {
	l.tb.Helper()
	path := l.path(files)
	argv := []string{"ovsdb-server", path + ".db", "--no-chdir", "--unixctl=" + path + ".ctl", "--remote=punix:" + path + ".sock"}
	p := l.spawn(files+".log", append(argv, more...)...)
	await.True(l.tb, func() bool { return answers(l.tb.Context(), path+".sock") }, "%s", "the server of "+files+" listens")
	return p
}

// StopDBs stops the servers of both databases; their content stays on disk.
func (l *Lab) StopDBs() {
	l.nb.Stop()
	l.sb.Stop()
}

// KillDBs sends SIGKILL to the servers of both databases.
func (l *Lab) KillDBs() {
	l.nb.Kill()
	l.sb.Kill()
}

// StartDBs starts the servers of both databases, after StopDBs and KillDBs on the same addresses with the same content.
func (l *Lab) StartDBs() {
	l.tb.Helper()
	l.nb = l.serve(nbFiles, fmt.Sprintf("--remote=ptcp:%d:127.0.0.1", l.port))
	l.sb = l.serve(sbFiles)
}

func (l *Lab) path(name string) string { return filepath.Join(l.dir, name) }

func (l *Lab) spawn(logName string, argv ...string) *Process {
	l.tb.Helper()
	return Spawn(l.tb, l.path(logName), l.env, argv...)
}

func (l *Lab) run(argv ...string) string {
	l.tb.Helper()
	out, err := run(l.tb.Context(), l.env, "", argv...)
	if err != nil {
		l.tb.Fatal(err)
	}
	return out
}

func (l *Lab) ovsdbTool(verb, db, schema string) {
	l.tb.Helper()
	l.run("ovsdb-tool", verb, l.path(db), shared(l.tb, schema))
}

// HasTiers reports whether the OVN that is tested has tiers for ACLs.
func (l *Lab) HasTiers() bool {
	l.tb.Helper()
	return strings.Contains(l.run("ovsdb-client", "list-columns", l.NBUnix(), "OVN_Northbound", "ACL"), "tier")
}

// NBUnix is the Northbound database's address on a unix socket.
func (l *Lab) NBUnix() string { return "unix:" + l.path(nbFiles+".sock") }

// NBTCP is the Northbound database's address on loopback.
func (l *Lab) NBTCP() string { return fmt.Sprintf("tcp:127.0.0.1:%d", l.port) }

// SBUnix is the Southbound database's address on a unix socket.
func (l *Lab) SBUnix() string { return "unix:" + l.path(sbFiles+".sock") }

// NBCtl runs ovn-nbctl and returns what it printed.
func (l *Lab) NBCtl(args ...string) string {
	l.tb.Helper()
	return l.run(append([]string{"ovn-nbctl", "-t", "30"}, args...)...)
}

// Sync waits until northd has translated all of the Northbound database into logical flows.
func (l *Lab) Sync() {
	l.tb.Helper()
	l.NBCtl("--wait=sb", "sync")
}

// Dump is the content of the Northbound database in a stable order, row by row, without the counters of NB_Global that a
// sync changes.
func (l *Lab) Dump() string {
	l.tb.Helper()
	out := ""
	for _, table := range []string{
		"ACL", "Address_Set", "Chassis_Template_Var", "Load_Balancer", "Load_Balancer_Group", "Logical_Router", "Logical_Switch",
		"Logical_Switch_Port", "Meter", "Port_Group",
	} {
		out += l.run("ovsdb-client", "-f", "csv", "dump", l.NBUnix(), "OVN_Northbound", table)
	}
	return out
}

// Rows counts the rows of a Northbound table.
func (l *Lab) Rows(table string) int {
	l.tb.Helper()
	return rowCount(l.NBCtl("--bare", "--no-headings", "--columns=_uuid", "list", table))
}

// RowsWhere counts the rows of a Northbound table that meet a condition of ovn-nbctl find.
func (l *Lab) RowsWhere(table, condition string) int {
	l.tb.Helper()
	return rowCount(l.NBCtl("--bare", "--no-headings", "--columns=_uuid", "find", table, condition))
}

// RunProgram executes any program with the lab's environment and returns what it printed.
func (l *Lab) RunProgram(ctx context.Context, argv ...string) (string, error) {
	return run(ctx, l.env, "", argv...)
}

// Complaints lists the log lines of programs that could not parse a match or an action. Such an ACL is silently ignored,
// which for a drop is a security hole.
func (l *Lab) Complaints() []string {
	l.tb.Helper()
	logs, err := filepath.Glob(l.path("*.log"))
	if err != nil {
		l.tb.Fatal(err)
	}
	var found []string
	for _, name := range logs {
		raw, err := os.ReadFile(name)
		if err != nil {
			l.tb.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, "|ovntrace|") && strings.Contains(line, "^") {
				continue // ovn-trace does not support templates
			}
			if strings.Contains(line, "|WARN|") && (strings.Contains(line, "parsing") || strings.Contains(line, "yntax error")) {
				found = append(found, filepath.Base(name)+": "+strings.TrimSpace(line))
			}
		}
	}
	return found
}
