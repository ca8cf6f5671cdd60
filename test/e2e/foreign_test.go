//go:build e2e

package e2e_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/seeds"
)

// foreignProbes is how many connections are traced in each database.
const foreignProbes = 60

// TestForeignRowsMatchOVN loads databases as other controllers wrote them into a real OVN, and compares verdicts of random
// connections, and of connections between the ends and ports that the policies name, with ovn-trace. An OVN without tiers gets
// the rows of NetworkPolicies and EgressFirewalls only; the tracer then gets the same ones.
func TestForeignRowsMatchOVN(t *testing.T) {
	for _, name := range []string{
		"ovn-kubernetes/nb", "ovn-kubernetes/nb-broken-1", "ovn-kubernetes/nb-broken-2", "ovn-kubernetes/nb-broken-4", "kube-ovn/nb", "kube-ovn/nb-broken-3",
	} {
		t.Run(name, func(t *testing.T) {
			lab := ovnlab.Start(t)
			f := readForeign(t, name)
			f.load(t, lab)
			lab.Sync()
			db := connect(t, lab)
			rows, err := nbtrace.Load(t.Context(), db)
			require.NoError(t, err)
			tracer, err := nbtrace.New(rows)
			require.NoError(t, err)
			t.Logf("tiers: %t, %d ACLs", lab.HasTiers(), len(rows.ACLs))
			rng := rand.New(rand.NewPCG(seeds.Of(t, "foreign")[0], 1))
			allowed := 0
			for range foreignProbes {
				p, expr := f.probe(rng)
				got := tracer.Trace(p).Allowed
				want := f.trace(t, lab, &p, expr)
				require.Equal(t, want, got, "%s", expr)
				if want {
					allowed++
				}
			}
			t.Logf("%d of %d connections are allowed", allowed, foreignProbes)
			require.Positive(t, allowed)
			require.Less(t, allowed, foreignProbes)
		})
	}
}

func connect(t *testing.T, lab *ovnlab.Lab) *ovsdb.Client {
	t.Helper()
	db, err := ovsdb.New(ovsdb.Options{Endpoints: []string{lab.NBUnix()}})
	require.NoError(t, err)
	go func() { _ = db.Run(t.Context()) }()
	await.True(t, db.Connected, "the client is connected")
	return db
}

// foreign is a database as a controller wrote it.
type foreign struct {
	tables map[string][]libovsdb.Row
	pods   []foreignPort
	uplink map[string]string // by switch: the port to the router
	macs   map[string]string // of router ports, by switch
}

// foreignPort is the logical port of a pod.
type foreignPort struct {
	name, sw, mac string
	addrs         []netip.Addr
}

func readForeign(t *testing.T, name string) *foreign {
	t.Helper()
	file, err := os.Open(filepath.Join("../../pkg/answers/verify/testdata", name+".json.gz"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	var raw map[string][]map[string]any
	require.NoError(t, json.Unmarshal(text, &raw))
	f := &foreign{tables: map[string][]libovsdb.Row{}, uplink: map[string]string{}, macs: map[string]string{}}
	for table, rows := range raw {
		for _, row := range rows {
			f.tables[table] = append(f.tables[table], ovsdb.RowFromWire(row))
		}
	}
	ports := map[string]libovsdb.Row{}
	for _, row := range f.tables["Logical_Switch_Port"] {
		ports[ovsdb.String(row["_uuid"])] = row
	}
	routers := map[string]string{}
	for _, row := range f.tables["Logical_Router_Port"] {
		routers[ovsdb.String(row["name"])] = ovsdb.String(row["mac"])
	}
	for _, sw := range f.tables["Logical_Switch"] {
		name := ovsdb.String(sw["name"])
		for _, uuid := range ovsdb.Strings(sw["ports"]) {
			row := ports[uuid]
			if ovsdb.String(row["type"]) == "router" {
				f.uplink[name] = ovsdb.String(row["name"])
				f.macs[name] = routers[ovsdb.StringMap(row["options"])["router-port"]]
				continue
			}
			if pod := ovsdb.StringMap(row["external_ids"])["pod"]; pod == "" {
				continue
			}
			words := strings.Fields(ovsdb.String(row["addresses"]))
			p := foreignPort{name: ovsdb.String(row["name"]), sw: name, mac: words[0]}
			for _, w := range words[1:] {
				p.addrs = append(p.addrs, netip.MustParseAddr(w))
			}
			f.pods = append(f.pods, p)
		}
	}
	require.NotEmpty(t, f.pods)
	return f
}

// load inserts the rows into a database, as far as it has the columns.
func (f *foreign) load(t *testing.T, lab *ovnlab.Lab) {
	t.Helper()
	db := connect(t, lab)
	schema := db.Schema()
	dropped := map[string]bool{}
	for _, row := range f.tables["ACL"] {
		if tier := ovsdb.Int(row["tier"]); !lab.HasTiers() && tier != 2 {
			dropped[ovsdb.String(row["_uuid"])] = true
		}
	}
	var ops []libovsdb.Operation
	for _, table := range []struct {
		name    string
		columns []string
	}{
		{"ACL", []string{"direction", "priority", "tier", "match", "action", "options", "external_ids"}},
		{"Address_Set", []string{"name", "addresses", "external_ids"}},
		{"Port_Group", []string{"name", "ports", "acls", "external_ids"}},
		{"Logical_Switch_Port", []string{"name", "type", "addresses", "options", "external_ids"}},
		{"Logical_Switch", []string{"name", "ports", "acls", "other_config"}},
		{"Logical_Router_Port", []string{"name", "mac", "networks"}},
		{"Logical_Router", []string{"name", "ports"}},
	} {
		for _, row := range f.tables[table.name] {
			uuid := ovsdb.String(row["_uuid"])
			if dropped[uuid] {
				continue
			}
			out := libovsdb.Row{}
			for _, column := range table.columns {
				switch value := row[column]; {
				case !schema.HasColumn(table.name, column):
				case column == "priority" || column == "tier":
					out[column] = ovsdb.Int(value)
				case column == "acls":
					out[column] = ovsdb.UUIDs(slices.DeleteFunc(ovsdb.Strings(value), func(u string) bool { return dropped[u] }))
				default:
					out[column] = value
				}
			}
			if options, ok := out["options"]; ok && table.name == "Logical_Switch_Port" {
				m := ovsdb.StringMap(options)
				delete(m, "requested-chassis") // there is none
				out["options"] = ovsdb.Map(m)
			}
			ops = append(ops, ovsdb.Insert(table.name, uuid, out))
		}
	}
	_, err := db.Transact(t.Context(), ops)
	require.NoError(t, err)
}

// probe chooses a connection: half of them to a port that policies name.
func (f *foreign) probe(rng *rand.Rand) (p nbtrace.Packet, expr string) {
	from, to := rng.IntN(len(f.pods)), rng.IntN(len(f.pods)+2)
	for from == to {
		to = rng.IntN(len(f.pods) + 2)
	}
	src := &f.pods[from]
	family := rng.IntN(2)
	p.Inport, p.Src, p.SrcPort = src.name, src.addrs[family], 40000
	mac := f.macs[src.sw]
	if to >= len(f.pods) { // outside
		outside := [][]string{{"192.0.2.10", "192.0.2.53", "203.0.113.5", "198.51.100.7"}, {"2001:db8::5"}}[family]
		p.Dst = netip.MustParseAddr(outside[rng.IntN(len(outside))])
	} else {
		dst := &f.pods[to]
		p.Outport, p.Dst, mac = dst.name, dst.addrs[family], dst.mac
	}
	protocol := []string{"tcp", "tcp", "tcp", "udp", "sctp"}[rng.IntN(5)]
	p.Protocol = map[string]uint8{"tcp": 6, "udp": 17, "sctp": 132}[protocol]
	ports := []uint16{53, 80, 443, 514, 3868, 5432, 6432, 8000, 8080, 8081, 8088, 9000, 9001, 9090, 9091}
	p.DstPort = ports[rng.IntN(len(ports))]
	if rng.IntN(2) == 0 {
		p.DstPort = uint16(1 + rng.IntN(65535))
	}
	ip := []string{"ip4", "ip6"}[family]
	return p, fmt.Sprintf(`inport == %q && eth.src == %s && eth.dst == %s && %s.src == %s && %s.dst == %s && ip.ttl == 64 && %s.src == 40000 && %s.dst == %d`,
		p.Inport, src.mac, mac, ip, p.Src, ip, p.Dst, protocol, protocol, p.DstPort)
}

// trace asks ovn-trace whether a packet reaches its port, or the port to the router.
func (f *foreign) trace(t *testing.T, lab *ovnlab.Lab, p *nbtrace.Packet, expr string) bool {
	t.Helper()
	at := slices.IndexFunc(f.pods, func(pod foreignPort) bool { return pod.name == p.Inport })
	sw := f.pods[at].sw
	args := []string{"ovn-trace", "--summary"}
	for range 12 {
		args = append(args, "--ct=new")
	}
	out, err := lab.RunProgram(t.Context(), append(args, sw, expr)...)
	require.NoError(t, err, out)
	want := fmt.Sprintf("output to %q", p.Outport)
	if p.Outport == "" {
		want = fmt.Sprintf("output to %q", f.uplink[sw])
	}
	return strings.Contains(out, want)
}
