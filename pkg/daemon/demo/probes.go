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
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/watch"
)

// probe is a line of probes.txt: who asks whom for what, and what the answer should be.
type probe struct {
	text     string
	src, dst string
	protocol intent.Protocol
	port     uint16
	allow    bool
}

// parseProbe reads "shop/web-0 -> shop/api-0 tcp/9000 allow". An end is a pod, a node or an address.
func parseProbe(line string) (probe, error) {
	fields := strings.Fields(line)
	if len(fields) != 5 || fields[1] != "->" {
		return probe{}, fmt.Errorf("%q: expected FROM -> TO PROTOCOL/PORT allow|deny", line)
	}
	proto, number, _ := strings.Cut(fields[3], "/")
	protocols := map[string]intent.Protocol{"tcp": intent.TCP, "udp": intent.UDP, "sctp": intent.SCTP}
	port, err := strconv.ParseUint(number, 10, 16)
	if protocols[proto] == 0 || err != nil {
		return probe{}, fmt.Errorf("%q: expected a protocol and port such as tcp/80", fields[3])
	}
	if fields[4] != "allow" && fields[4] != "deny" {
		return probe{}, fmt.Errorf("%q: expected allow or deny", fields[4])
	}
	return probe{
		text: strings.Join(fields[:4], " "), src: fields[0], dst: fields[2],
		protocol: protocols[proto], port: uint16(port), allow: fields[4] == "allow",
	}, nil
}

// readProbes reads the probes of a directory; there are none where it has no such file.
func readProbes(dir string) ([]probe, error) {
	f, err := os.Open(filepath.Join(dir, "probes.txt")) //nolint:gosec // the directory is the user's own
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("probes: %w", err)
	}
	defer func() { _ = f.Close() }()
	var probes []probe
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

// printProbes answers every probe from the native rows and counts the answers that were not expected.
func (s *show) printProbes(rows nbtrace.Rows) (wrong int, err error) {
	probes, err := readProbes(s.dir)
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
		answer, code := "deny ", "31"
		if result.Allowed {
			answer, code = "allow", "32"
		}
		note := ""
		if result.Allowed != p.allow {
			wrong++
			note = "  ← expected otherwise"
		}
		s.printf("  %s  %-58s %s%s\n", s.paint(code, answer), p.text, because(result), note)
	}
	return wrong, nil
}

// because names the row that decided.
func because(r nbtrace.Result) string {
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

// packet is the first packet of a probe, in the family that both ends have.
func (s *show) packet(p probe) (nbtrace.Packet, error) {
	inport, sources, err := s.end(p.src)
	if err != nil {
		return nbtrace.Packet{}, err
	}
	outport, targets, err := s.end(p.dst)
	if err != nil {
		return nbtrace.Packet{}, err
	}
	for _, src := range sources {
		for _, dst := range targets {
			if src.Is4() == dst.Is4() {
				return nbtrace.Packet{
					Inport: inport, Outport: outport, Src: src, Dst: dst,
					Protocol: uint8(p.protocol), SrcPort: 40000, DstPort: p.port,
				}, nil
			}
		}
	}
	return nbtrace.Packet{}, errors.New("the ends have no address family in common")
}

// end is the logical port and the addresses of a pod, the addresses of a node, or an address.
func (s *show) end(name string) (port string, addrs []netip.Addr, err error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return "", []netip.Addr{a}, nil
	}
	ref := watch.Ref{Kind: watch.KindNode, Name: name}
	if ns, pod, ok := strings.Cut(name, "/"); ok {
		ref = watch.Ref{Kind: watch.KindPod, Namespace: ns, Name: pod}
		port = ns + "_" + pod
	}
	object, _ := s.daemon.Object(ref)
	var texts []string
	switch o := object.(type) {
	case *corev1.Pod:
		for _, ip := range o.Status.PodIPs {
			texts = append(texts, ip.IP)
		}
	case *corev1.Node:
		for _, a := range o.Status.Addresses {
			texts = append(texts, a.Address)
		}
	default:
		return "", nil, fmt.Errorf("%s is no pod, node or address known here", name)
	}
	for _, t := range texts {
		if a, err := netip.ParseAddr(t); err == nil {
			addrs = append(addrs, a)
		}
	}
	return port, addrs, nil
}
