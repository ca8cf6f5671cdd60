//go:build e2e

package ovnlab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// Flow is the first packet of a connection.
type Flow struct {
	Src, Dst netip.Addr
	Protocol string // tcp, udp, sctp or icmp
	Port     uint16 // of the destination; nothing with icmp
}

// String spells f for people.
func (f Flow) String() string {
	if f.Protocol == "icmp" {
		return fmt.Sprintf("%s -> %s icmp", f.Src, f.Dst)
	}
	return fmt.Sprintf("%s -> %s %s/%d", f.Src, f.Dst, f.Protocol, f.Port)
}

// Verdict is what happens to a packet. The zero value is Drop.
type Verdict int

// Drop delivers nothing to anyone, Reject answers the sender, Allow delivers the packet to the port that holds the
// destination.
const (
	Drop Verdict = iota
	Reject
	Allow
)

// String is the verdict's lower-case name.
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Reject:
		return "reject"
	case Drop:
	}
	return "drop"
}

// microflow is the packet of f as ovn-trace wants it, the switch on which it starts and the port where it should end.
func (n *Network) microflow(f Flow) (datapath, expr, want string, err error) {
	src, dst := n.holder(f.Src), n.holder(f.Dst)
	if src == dst {
		return "", "", "", fmt.Errorf("trace %s: both ends are behind port %s", f, src.Name)
	}
	mac := dst.mac
	if src.sw != dst.sw {
		mac = src.sw.routerMAC
	}
	return src.sw.name, src.packet(f, mac), dst.Name, nil
}

// packet is the packet of f as ovn-trace wants it, sent by p to the Ethernet address mac.
func (p *Port) packet(f Flow, mac string) string {
	ip, icmp := "ip4", "icmp4.type == 8 && icmp4.code == 0"
	if f.Src.Is6() {
		ip, icmp = "ip6", "icmp6.type == 128 && icmp6.code == 0"
	}
	l4 := icmp
	if f.Protocol != "icmp" {
		l4 = fmt.Sprintf("%s.src == 40000 && %s.dst == %d", f.Protocol, f.Protocol, f.Port)
	}
	return fmt.Sprintf("inport == %q && eth.src == %s && eth.dst == %s && %s.src == %s && %s.dst == %s && ip.ttl == 64 && %s",
		p.Name, p.mac, mac, ip, f.Src, ip, f.Dst, l4)
}

// readTrace reads the output of ovn-trace --minimal: Allow when the packet leaves by the port want, outside the blocks
// that show an answer which OVN itself makes up.
func readTrace(out, want string) (Verdict, error) {
	var blocks []string
	verdict := Drop
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "/*"):
		case strings.HasPrefix(line, "}"):
			if len(blocks) == 0 {
				return Drop, fmt.Errorf("unbalanced trace:\n%s", out)
			}
			blocks = blocks[:len(blocks)-1]
		case strings.HasSuffix(line, "{"):
			name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(line, "{")), "(")
			blocks = append(blocks, name)
		case strings.HasPrefix(line, `output(`):
			port := strings.TrimSuffix(strings.TrimPrefix(line, `output("`), `");`)
			switch {
			case madeUp(blocks):
				verdict = max(verdict, Reject)
			case port == want:
				verdict = Allow
			default:
				return Drop, fmt.Errorf("packet left by %s instead of %q:\n%s", port, want, out)
			}
		}
	}
	if len(blocks) != 0 || !strings.HasPrefix(out, "#") {
		return Drop, fmt.Errorf("cannot read trace:\n%s", out)
	}
	return verdict, nil
}

// madeUp says whether one of blocks holds a packet of OVN's own instead of the one that is traced.
func madeUp(blocks []string) bool {
	for _, b := range blocks {
		switch b {
		case "tcp_reset", "icmp4", "icmp6", "icmp4_error", "icmp6_error", "sctp_abort", "reject", "arp", "nd_na", "nd_ns", "clone":
			return true
		}
	}
	return false
}

// hops is more conntrack lookups than one packet meets on its way. Each eats one --ct option; when none is left,
// ovn-trace takes the packet for one of an established connection, which is a different question.
const hops = 12

func newStates(n int) []string {
	args := make([]string, n)
	for i := range args {
		args[i] = "--ct=new"
	}
	return args
}

// Trace asks ovn-trace what happens to f.
func (l *Lab) Trace(f Flow) Verdict {
	l.tb.Helper()
	dp, expr, want, err := l.net.microflow(f)
	if err != nil {
		l.tb.Fatal(err)
	}
	args := append([]string{"ovn-trace", "--minimal"}, newStates(hops)...)
	v, err := readTrace(l.run(append(args, dp, expr)...), want)
	if err != nil {
		l.tb.Fatalf("trace %s: %v", f, err)
	}
	return v
}

// queue is how many lookups one tracing daemon answers correctly: as many --ct options as fit on a command line.
const queue = 96_000

// Tracer is an ovn-trace that keeps running: about a hundred times as quick as Trace. It knows the databases as they
// were when it was made.
type Tracer struct {
	lab     *Lab
	tb      testing.TB
	net     *Network
	conn    net.Conn
	replies *json.Decoder
	left    int // probes before the --ct options may run out
	started int
}

// Tracer starts a tracing daemon on the logical flows of now. Sync first.
func (l *Lab) Tracer() *Tracer {
	l.tb.Helper()
	t := &Tracer{lab: l, tb: l.tb, net: l.net}
	t.restart()
	l.tb.Cleanup(t.Close)
	return t
}

// restart lets ovn-trace detach: only then does it serve requests, and it returns when it is ready for them.
func (t *Tracer) restart() {
	t.tb.Helper()
	t.Close()
	t.started++
	ctl := t.lab.path(fmt.Sprintf("trace%p.%d.ctl", t, t.started))
	argv := []string{"ovn-trace", "--no-chdir", "--detach", "--unixctl=" + ctl, "--pidfile=" + ctl + ".pid", "--log-file"}
	t.lab.run(append(argv, newStates(queue)...)...)
	var d net.Dialer
	conn, err := d.DialContext(t.tb.Context(), "unix", ctl)
	if err != nil {
		t.tb.Fatalf("ovn-trace: %v", err)
	}
	t.conn, t.replies, t.left = conn, json.NewDecoder(bufio.NewReader(conn)), queue/hops
}

// Close ends the daemon. It may be called twice.
func (t *Tracer) Close() {
	if t.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.tb.Context()), patience)
	defer cancel()
	_, _ = t.call(ctx, "exit")
	_ = t.conn.Close()
	t.conn = nil
}

// Verdict says what happens to f.
func (t *Tracer) Verdict(f Flow) Verdict {
	t.tb.Helper()
	if t.left == 0 {
		t.restart()
	}
	t.left--
	dp, expr, want, err := t.net.microflow(f)
	if err != nil {
		t.tb.Fatal(err)
	}
	out, err := t.call(t.tb.Context(), "trace", "--minimal", dp, expr)
	if err != nil {
		t.tb.Fatalf("trace %s: %v", f, err)
	}
	v, err := readTrace(out, want)
	if err != nil {
		t.tb.Fatalf("trace %s: %v", f, err)
	}
	return v
}

// call sends one command of the unixctl protocol, which is JSON-RPC 1.0.
func (t *Tracer) call(ctx context.Context, method string, params ...string) (string, error) {
	if params == nil {
		params = []string{}
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(patience)
	}
	_ = t.conn.SetDeadline(deadline)
	request := map[string]any{"id": 0, "method": method, "params": params}
	if err := json.NewEncoder(t.conn).Encode(request); err != nil {
		return "", fmt.Errorf("ask ovn-trace: %w", err)
	}
	var reply struct {
		Result *string `json:"result"`
		Error  *string `json:"error"`
	}
	if err := t.replies.Decode(&reply); err != nil {
		return "", fmt.Errorf("answer of ovn-trace: %w", err)
	}
	switch {
	case reply.Error != nil:
		return "", errors.New(*reply.Error)
	case reply.Result == nil:
		return "", nil
	default:
		return *reply.Result, nil
	}
}
