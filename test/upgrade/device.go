package upgrade

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/await"
)

// CNF is the device of a CNF for programs, and what it did with some packets after each of their writes.
type CNF struct {
	*simulator.Device
	Address netip.Addr
	packets []simulator.Packet
	stop    func()

	mu    sync.Mutex
	seen  int // number of requests that were looked at
	idle  int // read-backs since the last write
	after []Moment
}

// Moment is what a device does with each packet, and the write before that.
type Moment struct {
	write   string
	results []simulator.Result
}

// OwnNetwork gives the calling goroutine, and the programs that it starts, a network of their own until it ends, with two addresses.
func OwnNetwork(t *testing.T) [2]string {
	t.Helper()
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	require.NoError(t, syscall.Unshare(syscall.CLONE_NEWNET), "a CNF has port 80 of the address of its pod: run as root, or with unshare --map-root-user")
	command(t, ".", "ip", "link", "set", "lo", "up")
	addresses := [2]string{"198.18.0.1", "198.18.0.2"}
	for _, a := range addresses {
		command(t, ".", "ip", "address", "add", a+"/32", "dev", "lo")
	}
	return addresses
}

// interfaces are those of the device: three networks, and the tunnels of branchHubs, which are up.
func interfaces() []simulator.Interface {
	list := []simulator.Interface{
		{Name: "net0", Address: netip.MustParsePrefix(branchAddress + "/24")},
		{Name: "net1", Address: netip.MustParsePrefix("10.10.10.15/24"), Default: true},
		{Name: "net2", Address: netip.MustParsePrefix("10.10.20.15/24")},
	}
	for i, hub := range branchHubs() {
		inside := netip.AddrFrom4([4]byte{192, 168, 1, byte(i + 1)})
		list = append(list, simulator.Interface{Name: "vti_" + hub, Address: netip.PrefixFrom(inside, 32)})
	}
	return list
}

// NewCNF starts a device where programs look for it: at port 80 of the address of its pod.
func NewCNF(t *testing.T, address string, packets []simulator.Packet) *CNF {
	t.Helper()
	d, err := simulator.New(simulator.Options{Interfaces: interfaces()})
	require.NoError(t, err)
	c := &CNF{Device: d, Address: netip.MustParseAddr(address), packets: packets}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, "80"))
	require.NoError(t, err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil || !d.Serve(judged{conn, c}) {
				return
			}
		}
	})
	c.stop = func() {
		_ = listener.Close() // the test is over
		accepting.Wait()
		d.Close()
	}
	t.Cleanup(c.stop)
	return c
}

// Stop ends the device; its address is free then.
func (c *CNF) Stop() { c.stop() }

// judged is a connection to a CNF, which judges each write before it answers.
type judged struct {
	net.Conn
	cnf *CNF
}

func (j judged) Write(answer []byte) (int, error) {
	j.cnf.look()
	return j.Conn.Write(answer)
}

// look judges the packets if a request was a write.
func (c *CNF) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests := c.Requests()
	for _, q := range requests[c.seen:] {
		switch {
		case q.Login:
		case q.Method != http.MethodGet:
			c.idle = 0
			c.after = append(c.after, c.moment(q.Method+" "+q.Path))
		case strings.HasSuffix(q.Path, "/firewall/v1/zones"):
			c.idle++
		}
	}
	c.seen = len(requests)
}

// moment is what the device does now.
func (c *CNF) moment(write string) Moment {
	m := Moment{write: write}
	for _, p := range c.packets {
		m.results = append(m.results, c.Trace(p))
	}
	return m
}

// Way is what becomes of each packet now.
func (c *CNF) Way() []string { return c.moment("").Way() }

// settled is how many read-backs without a write it takes for a program to have nothing left to write: some of what a device does not
// show at once is written after the second.
const settled = 4

// Apply runs a program until it has nothing left to write, and returns what the device did before it and after each write.
func (c *CNF) Apply(t *testing.T, p *Program, manifests []byte) []Moment {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "all.yaml"), manifests, 0o600))
	c.mu.Lock()
	c.idle, c.after = 0, []Moment{c.moment("the start")}
	c.mu.Unlock()
	running := p.Run(t, "--manifests", dir, "--sdewan", "--sdewan-plain-http", "--sdewan-interval", "1s", "--owner", "upgrade")
	await.True(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.idle >= settled
	}, "%s leaves the device alone", p.Name)
	running.Stop(t)
	return c.after
}

// Configuration is the sections and the kernel's rules of the device, in order of their text: where rules are matters only to packets.
func (c *CNF) Configuration() []string {
	list := append(strings.Split(c.Export(), "\n\n"), strings.Split(c.Kernel(), "\n")...)
	slices.Sort(list)
	return list
}

// flowOf is a packet as a flow of an intent.
func flowOf(p simulator.Packet) intent.Flow {
	f := intent.Flow{Src: intent.Party{Addr: p.Src}, Dst: intent.Party{Addr: p.Dst}, Protocol: intent.TCP, Port: p.DstPort, Node: p.In}
	if p.Proto == "udp" {
		f.Protocol = intent.UDP
	}
	return f
}

// verdicts are the results as Bounds takes them: a translated destination is a backend.
func (m Moment) verdicts(packets []simulator.Packet) []backendtest.Verdict {
	var list []backendtest.Verdict
	for i, r := range m.results {
		v := backendtest.Verdict{Allowed: r.Verdict == simulator.Accept, Refused: r.Verdict == simulator.Reject}
		if r.Dst != packets[i].Dst || r.DstPort != packets[i].DstPort {
			v.Backends = map[netip.AddrPort]bool{netip.AddrPortFrom(r.Dst, r.DstPort): v.Allowed}
		}
		list = append(list, v)
	}
	return list
}

// Way is what becomes of each packet: the verdict, and how it leaves if it does.
func (m Moment) Way() []string {
	var list []string
	for _, r := range m.results {
		list = append(list, r.Verdict.String()+" "+road(r))
	}
	return list
}

// road is the way of a packet that arrives; "" if it does not.
func road(r simulator.Result) string {
	if r.Verdict != simulator.Accept {
		return ""
	}
	return fmt.Sprintf("from %s to %s by %s of %v in %q", netip.AddrPortFrom(r.Src, r.SrcPort), netip.AddrPortFrom(r.Dst, r.DstPort), r.Out, r.WANs, r.Tunnel)
}

// Windows lists what states on the way do with a packet although neither the first nor the last does.
func Windows(packets []simulator.Packet, states []Moment) []string {
	var flows []intent.Flow
	for _, p := range packets {
		flows = append(flows, flowOf(p))
	}
	first, last := states[0], states[len(states)-1]
	bounds := BoundsOf(flows, first.verdicts(packets), last.verdicts(packets))
	var faults []string
	for n, m := range states {
		what := fmt.Sprintf("after write %d of %d, %s: ", n, len(states)-1, m.write)
		for _, fault := range bounds.Outside(m.verdicts(packets)) {
			faults = append(faults, what+fault)
		}
		for i, r := range m.results {
			if way := road(first.results[i]); way != "" && way == road(last.results[i]) && way != road(r) && road(r) != "" {
				faults = append(faults, fmt.Sprintf("%s%+v goes %s instead of %s", what, packets[i], road(r), way))
			}
		}
	}
	return faults
}
