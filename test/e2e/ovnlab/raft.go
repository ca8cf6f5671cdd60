//go:build e2e

package ovnlab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/netloom/netloom/test/await"
)

// Raft is a Northbound database on three servers, without northd.
type Raft struct {
	tb      testing.TB
	dir     string
	env     []string
	servers []*member
}

type member struct {
	name    string
	place   place
	clients string // HOST:PORT for clients
	proc    *Process
	hung    bool
	down    bool
}

// place is where a server runs and listens.
type place struct {
	ns      *netns     // nil for that of the test
	clients netip.Addr // where it listens to clients
	peers   netip.Addr // and to the other servers
}

// members is how many servers a Raft has.
const members = 3

// StartRaft brings up an empty clustered Northbound database.
func StartRaft(tb testing.TB) *Raft {
	tb.Helper()
	loopback := netip.MustParseAddr("127.0.0.1")
	return startRaft(tb, [members]place{{clients: loopback, peers: loopback}, {clients: loopback, peers: loopback}, {clients: loopback, peers: loopback}})
}

// startRaft brings up the servers at these places.
func startRaft(tb testing.TB, places [members]place) *Raft {
	tb.Helper()
	r := &Raft{tb: tb, dir: scratch(tb)}
	r.env = environment(r.dir)
	var first string
	for i, at := range places {
		own := fmt.Sprintf("tcp:%s:%d", at.peers, FreePort(tb))
		m := &member{name: fmt.Sprintf("nb%d", i), place: at, clients: fmt.Sprintf("%s:%d", at.clients, FreePort(tb))}
		argv := []string{"ovsdb-tool", "create-cluster", r.path(m.name + ".db"), shared(tb, nbSchema), own}
		if i == 0 {
			first = own
		} else {
			argv = []string{"ovsdb-tool", "join-cluster", r.path(m.name + ".db"), "OVN_Northbound", own, first}
		}
		if _, err := run(tb.Context(), r.env, "", argv...); err != nil {
			tb.Fatal(err)
		}
		r.servers = append(r.servers, m)
		r.start(m)
	}
	return r
}

func (r *Raft) path(name string) string { return filepath.Join(r.dir, name) }

func (r *Raft) start(m *member) {
	r.tb.Helper()
	host, port, _ := strings.Cut(m.clients, ":")
	m.proc = Spawn(r.tb, r.path(m.name+".log"), r.env, m.place.ns.inside("ovsdb-server", r.path(m.name+".db"), "--no-chdir",
		"--unixctl="+r.path(m.name+".ctl"), "--remote=punix:"+r.path(m.name+".sock"), "--remote=ptcp:"+port+":"+host)...)
	m.down = false
	sock := r.path(m.name + ".sock")
	await.True(r.tb, func() bool { return answers(r.tb.Context(), sock) }, "%s", m.name+" listens")
	if _, err := run(r.tb.Context(), r.env, "", "ovsdb-client", "-t", "30", "wait", "unix:"+sock, "OVN_Northbound", "connected"); err != nil {
		r.tb.Fatal(err)
	}
}

// Endpoints is the connection string for clients: the addresses of all servers.
func (r *Raft) Endpoints() string {
	var all []string
	for _, m := range r.servers {
		all = append(all, "tcp:"+m.clients)
	}
	return strings.Join(all, ",")
}

// Leader is the leader among the servers that answer; it waits for an election to end.
func (r *Raft) Leader() int {
	r.tb.Helper()
	found := -1
	await.True(r.tb, func() bool {
		found = r.leader(r.tb.Context())
		return found >= 0
	}, "the cluster has a leader")
	return found
}

func (r *Raft) leader(ctx context.Context) int {
	for i, m := range r.servers {
		if m.down || m.hung {
			continue
		}
		out, err := run(ctx, r.env, "", "ovs-appctl", "-T", "5", "-t", r.path(m.name+".ctl"), "cluster/status", "OVN_Northbound")
		if err == nil && strings.Contains(out, "\nRole: leader\n") {
			return i
		}
	}
	return -1
}

// Socket is the endpoint of a server for clients on the same machine, whatever network it is on.
func (r *Raft) Socket(i int) string { return "unix:" + r.path(r.servers[i].name+".sock") }

// Kill sends SIGKILL to a server.
func (r *Raft) Kill(i int) {
	r.servers[i].down = true
	r.servers[i].proc.Kill()
}

// Restart starts a killed server again with its content on disk.
func (r *Raft) Restart(i int) {
	r.tb.Helper()
	r.start(r.servers[i])
}

// Hang freezes a server: its connections stay up and it accepts new ones, but never answers.
func (r *Raft) Hang(i int) {
	r.tb.Helper()
	r.servers[i].hung = true
	if err := r.servers[i].proc.Signal(syscall.SIGSTOP); err != nil {
		r.tb.Fatal(err)
	}
}

// Resume resumes a hung server.
func (r *Raft) Resume(i int) {
	r.tb.Helper()
	r.servers[i].hung = false
	if err := r.servers[i].proc.Signal(syscall.SIGCONT); err != nil {
		r.tb.Fatal(err)
	}
}

// NBCtl runs ovn-nbctl against the leader and returns what it printed. It retries while there is no leader.
func (r *Raft) NBCtl(args ...string) string {
	r.tb.Helper()
	var out string
	var err error
	await.NoError(r.tb, func() error {
		i := r.leader(r.tb.Context())
		if i < 0 {
			return errors.New("there is no leader")
		}
		db := "--db=unix:" + r.path(r.servers[i].name+".sock")
		out, err = run(r.tb.Context(), r.env, "", append([]string{"ovn-nbctl", "-t", "10", db}, args...)...)
		return err
	}, "a leader takes the command")
	return out
}
