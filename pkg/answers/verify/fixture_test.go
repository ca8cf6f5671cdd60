package verify_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/verify"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

func open(tb testing.TB, name string) io.Reader {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.Close() })
	r, err := gzip.NewReader(f)
	require.NoError(tb, err)
	return r
}

// load reads a cluster and a database of it as a controller wrote it.
func load(tb testing.TB, controller, database string) (*world.State, *nbtrace.Rows) {
	tb.Helper()
	state, err := offline.Load(offline.Manifests{Paths: []string{"-"}, Stdin: open(tb, controller+"/cluster.yaml.gz")})
	require.NoError(tb, err)
	rows, err := nbtrace.ReadDump(open(tb, controller+"/"+database+".json.gz"))
	require.NoError(tb, err)
	return &state, &rows
}

// probes are the connections that the mistakes of the fixtures were found with.
type probes struct {
	pods map[string][]netip.Addr
}

func newProbes(state *world.State) *probes {
	p := &probes{pods: map[string][]netip.Addr{}}
	for e := range state.View.Endpoints() {
		p.pods[e.Key.Namespace+"/"+e.Key.Name] = slices.Clone(e.Addrs)
	}
	for _, a := range []string{
		"192.0.2.10", "192.0.2.53", "192.0.2.200", "198.51.100.7", "203.0.113.5", "203.0.114.9", "2001:db8::5",
	} {
		p.pods[a] = []netip.Addr{netip.MustParseAddr(a)}
	}
	return p
}

// traffic lists the protocols and ports of probes.
func traffic() []string {
	var out []string
	for protocol, ports := range map[string][]int{
		"tcp":  {22, 53, 80, 443, 3000, 5432, 6432, 8000, 8080, 8081, 8085, 8088, 9000, 9001, 9090, 9091, 12345},
		"udp":  {53, 514, 9999},
		"sctp": {3868, 9999},
	} {
		for _, n := range ports {
			out = append(out, fmt.Sprintf("%s/%d", protocol, n))
		}
	}
	return out
}

// hit lists the probes that findings are about, as "opens FROM -> TO PROTOCOL/PORT FAMILY".
func (p *probes) hit(t *testing.T, findings []*verify.Finding) []string {
	t.Helper()
	seen := map[string]bool{}
	var out []string
	for _, f := range findings {
		for _, from := range p.ends(&f.From) {
			for _, to := range p.ends(&f.To) {
				for _, family := range []string{"IPv4", "IPv6"} {
					if from == to || f.Family != "" && f.Family != family || !p.has(from, family) || !p.has(to, family) {
						continue
					}
					for _, probe := range traffic() {
						if !verify.Covers(f, probe) {
							continue
						}
						line := fmt.Sprintf("%s: %s -> %s %s %s", f.Effect, from, to, probe, family)
						require.False(t, seen[line], "twice: %s", line)
						seen[line] = true
						out = append(out, line)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func (p *probes) has(end, family string) bool {
	return slices.ContainsFunc(p.pods[end], func(a netip.Addr) bool { return a.Is4() == (family == "IPv4") })
}

// ends lists the ends of probes in a group.
func (p *probes) ends(g *reach.Group) []string {
	out := slices.Clone(g.Pods)
	for name, addrs := range p.pods {
		if !strings.Contains(name, "/") && slices.ContainsFunc(g.Outside, func(o netip.Prefix) bool { return o.Contains(addrs[0]) }) {
			out = append(out, name)
		}
	}
	return out
}

// expand reads lines like those of the fixtures' descriptions: "opens: FROM -> TO tcp 22,80 (IPv4 only)".
func (p *probes) expand(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		families := []string{"IPv4", "IPv6"}
		for _, f := range families {
			if rest, only := strings.CutSuffix(line, " ("+f+" only)"); only {
				line, families = rest, []string{f}
				break
			}
		}
		var head, ports, protocol string
		if at := strings.LastIndex(line, " all probed "); at > 0 {
			head, protocol = line[:at], line[at+len(" all probed "):]
		} else {
			fields := strings.Fields(line)
			ports, protocol = fields[len(fields)-1], fields[len(fields)-2]
			head = strings.Join(fields[:len(fields)-2], " ")
		}
		for _, probe := range traffic() {
			name, n, _ := strings.Cut(probe, "/")
			if name != protocol || ports != "" && !slices.Contains(strings.Split(ports, ","), n) {
				continue
			}
			for _, f := range families {
				out = append(out, head+" "+probe+" "+f)
			}
		}
	}
	slices.Sort(out)
	return out
}
