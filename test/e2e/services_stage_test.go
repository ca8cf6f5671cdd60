//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// mall is two chassis with the pods of testdata/services, all of which greet, and their manifests in a directory that
// tests may edit.
type mall struct {
	lab     *ovnlab.Lab
	chassis *ovnlab.Chassis // any
	nodes   map[string]*ovnlab.Chassis
	dir     string
	hosts   map[string]*ovnlab.Host // by pod name
	greets  map[string][]*ovnlab.Server
}

// The nodes on which the pods of a mall are; the world is at the first.
var mallNodes = map[string][]string{
	"n1": {"shop_client", "shop_web-1", "shop_web-2", "shop_locked", "secure_app", "kube-system_dns", ovnlab.World},
	"n2": {"shop_web-3", "shop_far"},
}

func newMall(t *testing.T) *mall {
	t.Helper()
	m := &mall{
		dir: gather(t, "testdata/services") + "/services", nodes: map[string]*ovnlab.Chassis{},
		hosts: map[string]*ovnlab.Host{}, greets: map[string][]*ovnlab.Server{},
	}
	m.lab = ovnlab.Start(t)
	m.lab.Install(network(t, load(t, m.dir)))
	t.Cleanup(func() { require.Empty(t, m.lab.Complaints(), "OVN cannot read what was written") })
	for _, node := range []string{"n1", "n2"} {
		chassis := m.lab.StartNode(node)
		m.chassis, m.nodes[node] = chassis, chassis
		for _, h := range chassis.Bind(outsiders[:], mallNodes[node]...) {
			name := podOf(h.Name())
			m.hosts[name] = h
			for _, protocol := range []string{"tcp", "udp"} {
				for _, port := range []uint16{53, 8080} {
					m.greets[name] = append(m.greets[name], h.Greet(protocol, port))
				}
			}
		}
	}
	// The first packet between two chassis is lost while ARP resolves the other.
	_, outcome, err := m.hosts["client"].Ask(t.Context(), "tcp", m.hosts["client"].Addr(false),
		netip.AddrPortFrom(m.hosts["far"].Addr(false), 8080), 0)
	require.NoError(t, err)
	require.Equal(t, ovnlab.Answered, outcome)
	return m
}

// visit is a client that asks at an address of a service, of each family.
type visit struct {
	name     string
	from     string
	to       [2]string // addresses of IPv4 and IPv6
	port     uint16
	protocol string // "" is TCP and UDP
	want     ovnlab.Outcome
	by       []string // the hosts that answer, one or the other
	hairpin  bool     // the client answers itself, and sees an address that stands for it
}

// hairpins stand for a pod that reaches itself through a service.
var hairpins = [2]netip.Addr{netip.MustParseAddr("169.254.169.5"), netip.MustParseAddr("fd69::5")}

// visits runs each visit of a table.
func (m *mall) visits(t *testing.T, all []visit) {
	t.Helper()
	for _, v := range all {
		protocols := []string{"tcp", "udp"}
		if v.protocol != "" {
			protocols = []string{v.protocol}
		}
		t.Run(v.name, func(t *testing.T) {
			var group sync.WaitGroup
			for i := range v.to {
				for _, protocol := range protocols {
					group.Go(func() {
						if err := m.visit(t.Context(), &v, protocol, i); err != nil {
							t.Error(err)
						}
					})
				}
			}
			group.Wait()
		})
	}
}

// tries is how often a client asks at most until all of a pool have answered; one of three is missed by all of them
// once in ten million runs.
const tries = 40

// visit asks over a family, 0 for IPv4 and 1 for IPv6, until all that should have answered. Any other answer is an error.
func (m *mall) visit(ctx context.Context, v *visit, protocol string, family int) error {
	host := m.hosts[v.from]
	src, to := host.Addr(family == 1), netip.AddrPortFrom(netip.MustParseAddr(v.to[family]), v.port)
	if v.from == ovnlab.World {
		src = outsiders[family]
	}
	saw := src
	if v.hairpin {
		saw = hairpins[family]
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s %s -> %s: %s", protocol, src, to, fmt.Sprintf(format, args...))
	}
	var answered []string
	for n := 0; n == 0 || (len(answered) < len(v.by) && n < tries); n++ {
		got, outcome, err := host.Ask(ctx, protocol, src, to, ovnlab.Within(v.want))
		switch by := podOf(got.By); {
		case err != nil:
			return wrong("%v", err)
		case outcome != v.want:
			return wrong("%s %s, want %s", outcome, by, v.want)
		case outcome != ovnlab.Answered:
			return nil
		case !slices.Contains(v.by, by):
			return wrong("answered by %s, want %v", by, v.by)
		case got.From != saw:
			return wrong("the backend takes it for one of %s, want %s", got.From, saw)
		case !slices.Contains(answered, by):
			answered = append(answered, by)
		}
	}
	if len(answered) < len(v.by) {
		return wrong("only %v ever answered, want %v", answered, v.by)
	}
	return nil
}

// podOf is the name of the pod that a logical port is for.
func podOf(port string) string { return port[strings.LastIndexByte(port, '_')+1:] }

// vip is the addresses of the service with a number, as testdata/services numbers them.
func vip(n string) [2]string { return [2]string{"10.96.0." + n, "fd00:10:96::" + n} }

// both are the addresses of a host.
func (m *mall) both(name string) [2]string {
	return [2]string{m.hosts[name].Addr(false).String(), m.hosts[name].Addr(true).String()}
}
