package demo

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// probeLine is a line of probes.txt: the source, the destination, the port and the expected result.
type probeLine struct {
	text     string
	src, dst string
	protocol intent.Protocol
	port     uint16
	want     string
}

// The results of a probe: it arrives, it is dropped, or it is rejected at once because a service has no endpoint.
const (
	allow  = "allow"
	deny   = "deny"
	refuse = "refuse"
)

// parseProbe reads "shop/web-0 -> shop/api-0 tcp/9000 allow". An end is a pod, a node or an address; the destination may
// also be a service, such as svc/shop/api.
func parseProbe(line string) (probeLine, error) {
	fields := strings.Fields(line)
	if len(fields) != 5 || fields[1] != "->" {
		return probeLine{}, fmt.Errorf("%q: expected FROM -> TO PROTOCOL/PORT allow|deny|refuse", line)
	}
	proto, number, _ := strings.Cut(fields[3], "/")
	protocols := map[string]intent.Protocol{"tcp": intent.TCP, "udp": intent.UDP, "sctp": intent.SCTP}
	port, err := strconv.ParseUint(number, 10, 16)
	if protocols[proto] == 0 || err != nil {
		return probeLine{}, fmt.Errorf("%q: expected a protocol and port such as tcp/80", fields[3])
	}
	if want := fields[4]; want != allow && want != deny && want != refuse {
		return probeLine{}, fmt.Errorf("%q: expected allow, deny or refuse", want)
	}
	return probeLine{
		text: strings.Join(fields[:4], " "), src: fields[0], dst: fields[2],
		protocol: protocols[proto], port: uint16(port), want: fields[4],
	}, nil
}

// probesFile is the name of the file of probes in a directory of examples.
const probesFile = "probes.txt"

// readProbes reads the probes in a file of a directory; none if it has no such file.
func readProbes(dir, file string) ([]probeLine, error) {
	f, err := os.Open(filepath.Join(dir, file)) //nolint:gosec // the directory is the user's own
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("probes: %w", err)
	}
	defer func() { _ = f.Close() }()
	var probes []probeLine
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		p, err := parseProbe(line)
		if err != nil {
			return nil, fmt.Errorf("probes: %w", err)
		}
		probes = append(probes, p)
	}
	return probes, scanner.Err()
}

// printProbes runs every probe on the native rows and counts the unexpected results.
func (s *show) printProbes(rows nbtrace.Rows) (wrong int, err error) {
	probes, err := readProbes(s.dir, probesFile)
	if err != nil || len(probes) == 0 {
		return 0, err
	}
	tracer, err := nbtrace.New(rows)
	if err != nil {
		return 0, err
	}
	s.printf("%s\n", s.bold("Can A reach B? Answered from the rows above"))
	for _, p := range probes {
		packet, err := s.packet(p)
		if err != nil {
			return wrong, fmt.Errorf("probe %q: %w", p.text, err)
		}
		result := tracer.Trace(packet)
		got := deny
		switch {
		case result.Allowed:
			got = allow
		case result.Balanced != nil && result.Balanced.Outcome == nbtrace.Refused:
			got = refuse
		}
		wrong += s.printAnswer(p, got, because(result))
	}
	return wrong, nil
}

// printAnswer prints the answer to a probe, what decided it, and whether that is unexpected. It returns 1 in that case, else 0.
func (s *show) printAnswer(p probeLine, got, decided string) (wrong int) {
	note := ""
	if got != p.want {
		wrong, note = 1, "  ← unexpected"
	}
	color := map[string]string{allow: "32", deny: "31", refuse: "33"}[got]
	s.printf("  %s %-58s %s%s\n", s.paint(color, fmt.Sprintf("%-6s", got)), p.text, decided, note)
	return wrong
}

// because names the row that decided, and the endpoint that a service selected.
func because(r nbtrace.Result) string {
	b := r.Balanced
	switch {
	case b == nil:
		return decided(r)
	case b.Outcome != nbtrace.SentOn:
		return b.LoadBalancer.Name + " has no backend"
	}
	backends := make([]string, len(b.Backends))
	for i := range b.Backends {
		backends[i] = b.Backends[i].Addr.String()
	}
	return "to " + strings.Join(backends, " or ") + "; " + decided(r)
}

// decided names the ACL that decided.
func decided(r nbtrace.Result) string {
	for _, step := range []struct {
		side string
		nbtrace.Step
	}{{"egress", r.Egress}, {"ingress", r.Ingress}} {
		if !step.Verdict.Allows() && step.ACL != nil {
			return step.side + ": " + step.ACL.Name
		}
	}
	if r.Ingress.ACL != nil {
		return "ingress: " + r.Ingress.ACL.Name
	}
	if r.Egress.ACL != nil {
		return "egress: " + r.Egress.ACL.Name
	}
	return "no policy"
}

// packet returns the first packet of a probe, in the family that both ends have.
func (s *show) packet(p probeLine) (nbtrace.Packet, error) {
	src, err := s.end(p.src)
	if err != nil {
		return nbtrace.Packet{}, err
	}
	dst, err := s.end(p.dst)
	if err != nil {
		return nbtrace.Packet{}, err
	}
	for _, from := range src.addrs {
		for _, to := range dst.addrs {
			if from.Is4() == to.Is4() {
				return nbtrace.Packet{
					Inport: src.port, Outport: dst.port, Chassis: src.node, PortOf: s.podPorts.port, Src: from, Dst: to,
					Protocol: uint8(p.protocol), SrcPort: 40000, DstPort: p.port,
				}, nil
			}
		}
	}
	return nbtrace.Packet{}, errors.New("the ends have no address family in common")
}

// end is the source or destination of a probe.
type end struct {
	port  string // the logical port of a pod
	node  string // where a pod runs
	addrs []netip.Addr
}

// end finds a pod, a service, a node or an address.
func (s *show) end(name string) (end, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return end{addrs: []netip.Addr{a}}, nil
	}
	ref := object.Ref{Kind: object.KindNode, Name: name}
	rest, service := strings.CutPrefix(name, "svc/")
	if ns, short, ok := strings.Cut(rest, "/"); ok {
		ref = object.Ref{Kind: object.KindPod, Namespace: ns, Name: short}
		if service {
			ref.Kind = object.KindService
		}
	}
	object, _ := s.daemon.Object(ref)
	switch o := object.(type) {
	case *corev1.Pod:
		return end{port: portName(o.Namespace, o.Name), node: o.Spec.NodeName, addrs: podAddrs(o)}, nil
	case *corev1.Service:
		return end{addrs: addrs(o.Spec.ClusterIPs)}, nil
	case *corev1.Node:
		var texts []string
		for _, a := range o.Status.Addresses {
			texts = append(texts, a.Address)
		}
		return end{addrs: addrs(texts)}, nil
	default:
		return end{}, fmt.Errorf("%s is not a known pod, Service, node or address", name)
	}
}
