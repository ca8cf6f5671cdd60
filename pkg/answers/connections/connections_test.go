package connections_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// place is one end of a flow: a pod at one of its addresses, or an address outside.
type place struct {
	pod  string
	addr netip.Addr
}

// listing answers from a report alone whether a flow is allowed.
type listing struct {
	*connections.Report
	groupOf map[place]int
	traffic map[[2]int]map[string]reach.Traffic // by family; "" is both
}

// read expands the ends of a report into the pods of their workloads, and checks that each place is in one group.
func read(t *testing.T, r *connections.Report, w *world.World) *listing {
	t.Helper()
	l := &listing{Report: r, groupOf: map[place]int{}, traffic: map[[2]int]map[string]reach.Traffic{}}
	workloads := map[string][]string{}
	for i := range w.State.Workloads {
		load := &w.State.Workloads[i]
		for _, pod := range load.Pods {
			full := load.Namespace + "/" + string(load.Kind) + "/" + load.Name
			workloads[full] = append(workloads[full], load.Namespace+"/"+pod)
		}
	}
	addrs := map[string][]netip.Addr{}
	for _, e := range w.Endpoints() {
		addrs[w.NameOf(e.Key)] = e.AllAddrs()
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		require.Equal(t, i+1, g.ID)
		for _, e := range g.Ends {
			pod, at, single := strings.Cut(e.Name, " at ")
			pods := workloads[pod]
			if pods == nil {
				pods = []string{pod}
			}
			for _, pod := range pods {
				for _, a := range addrs[pod] {
					if !single || at == a.String() {
						require.Zero(t, l.groupOf[place{pod, a}], "%s is in two groups", pod)
						l.groupOf[place{pod, a}] = g.ID
					}
				}
			}
		}
	}
	for _, c := range r.Connections {
		at := [2]int{c.From, c.To}
		if l.traffic[at] == nil {
			l.traffic[at] = map[string]reach.Traffic{}
		}
		require.NotContains(t, l.traffic[at], c.Family, "listed twice")
		l.traffic[at][c.Family] = readPorts(t, c.Ports)
	}
	return l
}

// readPorts is the reverse of connections.Ports.
func readPorts(t *testing.T, text string) reach.Traffic {
	t.Helper()
	if rest, ok := strings.CutPrefix(text, "all"); ok {
		if rest == "" {
			return reach.All()
		}
		return reach.All().Minus(readPorts(t, strings.TrimPrefix(rest, " except ")))
	}
	var out reach.Traffic
	for part := range strings.SplitSeq(text, "; ") {
		if part == "other protocols" {
			out.Other = true
			continue
		}
		word, list, _ := strings.Cut(part, " ")
		protocol := map[string]intent.Protocol{"TCP": intent.TCP, "UDP": intent.UDP, "SCTP": intent.SCTP}[word]
		require.NotZero(t, protocol, text)
		for ports := range strings.SplitSeq(list, ", ") {
			if ports == "all ports" {
				ports = "0-65535"
			}
			first, last, several := strings.Cut(ports, "-")
			if !several {
				last = first
			}
			from, err := strconv.ParseUint(first, 10, 16)
			require.NoError(t, err, text)
			to, err := strconv.ParseUint(last, 10, 16)
			require.NoError(t, err, text)
			out = out.Union(reach.Traffic{Ranges: []intent.PortRange{{Protocol: protocol, First: uint16(from), Last: uint16(to)}}})
		}
	}
	return out
}

// group finds the group of a place.
func (l *listing) group(p place) int {
	if p.pod != "" {
		return l.groupOf[p]
	}
	for i := range l.Groups {
		if slices.ContainsFunc(l.Groups[i].Outside, func(x netip.Prefix) bool { return x.Contains(p.addr) }) {
			return l.Groups[i].ID
		}
	}
	return 0
}

func (l *listing) allows(from, to place, protocol intent.Protocol, port uint16) bool {
	family := "IPv6"
	if to.addr.Is4() {
		family = "IPv4"
	}
	byFamily := l.traffic[[2]int{l.group(from), l.group(to)}]
	return byFamily[""].Has(protocol, port) || byFamily[family].Has(protocol, port)
}

// stateOf is a random cluster, in which some pods belong to workloads.
func stateOf(t *testing.T, seed uint64) (*oracle.Cluster, world.State) {
	t.Helper()
	size := policygen.Size{Odd: seed%3 == 0}
	if seed%2 == 0 {
		size.Cluster = 6
	}
	c := policygen.Generate(seed, size)
	c.Answers = nil // no DNS here
	state := answerstest.StateOf(t, policygen.Objects(c))
	at := map[string]int{}
	for i, p := range c.Pods {
		if i%4 == 0 {
			continue // it stands alone
		}
		load := fmt.Sprintf("%s/w%d", p.Namespace, i%2)
		if _, known := at[load]; !known {
			at[load] = len(state.Workloads)
			state.Workloads = append(state.Workloads, world.Workload{Kind: name.Deployment, Namespace: p.Namespace, Name: fmt.Sprintf("w%d", i%2)})
		}
		w := &state.Workloads[at[load]]
		w.Pods = append(w.Pods, p.Name)
	}
	return c, state
}

// places are the addresses of pods, and some outside: those at the edges of what policies name, without those of nodes, which reach their
// own pods.
func places(c *oracle.Cluster, w *world.World) []place {
	var out []place
	for _, e := range w.Endpoints() {
		for _, a := range e.AllAddrs() {
			out = append(out, place{w.NameOf(e.Key), a})
		}
	}
	add := func(a netip.Addr) {
		p := place{addr: a}
		if a.IsValid() && !a.IsUnspecified() && len(w.PodsAt(a)) == 0 && !isNode(c, a) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	add(netip.MustParseAddr("203.0.113.7"))
	add(netip.MustParseAddr("2001:db8::7"))
	for _, p := range reach.Prefixes(w.Snapshot()) {
		if len(out) < 30 {
			add(p.Addr())
			add(p.Addr().Prev())
		}
	}
	return out
}

func isNode(c *oracle.Cluster, a netip.Addr) bool {
	for _, n := range c.Nodes {
		if slices.ContainsFunc(n.Status.Addresses, func(x corev1.NodeAddress) bool { return x.Address == a.String() }) {
			return true
		}
		if strings.Contains(fmt.Sprint(n.Annotations), a.String()) {
			return true
		}
	}
	return false
}

func (p place) end() oracle.End { return oracle.End{Pod: p.pod, Addr: p.addr} }

func (p place) String() string {
	if p.pod != "" {
		return p.pod
	}
	return p.addr.String()
}

// TestListAgreesWithTheOracle asks the oracle about every pair of pods, and of pods and addresses outside, in random clusters: what the
// list has is allowed, and what it lacks is denied.
func TestListAgreesWithTheOracle(t *testing.T) {
	allowed, denied := 0, 0
	seeds.Each(t, "connections", func(t *testing.T, seed uint64) {
		c, state := stateOf(t, seed)
		w := world.New(state)
		report := connections.Of(w, connections.Filter{})
		l := read(t, &report, w)
		frozen, rng := c.Freeze(), policygen.NewRand(seed)
		all := places(c, w)
		ports := []uint16{1, 53, 54, 80, 81, 443, 8000, 8080, 9000, 30000, 65535}
		for _, from := range all {
			for _, to := range all {
				if from.addr == to.addr || from.addr.Is4() != to.addr.Is4() || from.pod == "" && to.pod == "" {
					continue
				}
				for _, protocol := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP} {
					port := ports[rng.IntN(len(ports))]
					v := frozen.Allowed(oracle.Flow{
						Src: from.end(), Dst: to.end(), Protocol: corev1.Protocol(strings.ToUpper(protocol.String())), Port: int32(port),
					})
					require.Equal(t, v.Allowed, l.allows(from, to, protocol, port), "seed %d: %s -> %s %s/%d: %v", seed, from, to, protocol, port, v.Why)
					if v.Allowed {
						allowed++
					} else {
						denied++
					}
				}
			}
		}
	})
	if seeds.All() {
		require.Greater(t, allowed, 10_000)
		require.Greater(t, denied, 10_000)
	}
}

// TestListAgreesWithProbe asks probe about every pair of pods with one port, and compares what it says of each two addresses.
func TestListAgreesWithProbe(t *testing.T) {
	seeds.Each(t, "connections", func(t *testing.T, seed uint64) {
		c, state := stateOf(t, seed)
		w := world.New(state)
		report := connections.Of(w, connections.Filter{})
		l := read(t, &report, w)
		rng := policygen.NewRand(seed)
		for _, from := range places(c, w) {
			for _, to := range places(c, w) {
				port := []uint16{53, 80, 81, 443, 8080}[rng.IntN(5)]
				if from.addr == to.addr || from.addr.Is4() != to.addr.Is4() || from.pod == "" && to.pod == "" {
					continue
				}
				answers, err := probe.Of(w, question.Question{From: from.String(), To: to.String(), Port: fmt.Sprint(port)}, question.Where{})
				require.NoError(t, err)
				at := slices.IndexFunc(answers[0].Flows, func(f probe.Flow) bool {
					return f.Source == from.addr.String() && strings.HasPrefix(f.Destination, to.addr.String()+" ")
				})
				require.Equal(t, answers[0].Flows[at].Verdict == probe.Allow, l.allows(from, to, intent.TCP, port), "seed %d: %s", seed, answers[0].Question)
			}
		}
	})
}
