package upgrade

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
	"github.com/netloom/netloom/test/policygen"
)

// Branch is a CNF with random SD-WAN objects of every kind that configures one, and NetworkPolicies, which change. Its zones and policies of
// mwan3 stay, as others refer to them, and so does its SdewanApplication.
//
// No two objects that take effect one by one match the same packet: the device does not say in which order it has NetworkFirewallRules.
type Branch struct {
	rng     *rand.Rand
	serial  int
	objects map[string]map[string]any // by kind and name
}

// branchPurpose labels the CNF, and what is for it.
const branchPurpose = "branch"

// NewBranch makes a CNF of a seed with n objects beside its zones and policies of mwan3.
func NewBranch(seed uint64, n int) *Branch {
	b := &Branch{rng: policygen.NewRand(seed), objects: map[string]map[string]any{}}
	for _, zone := range branchZones() {
		b.put("FirewallZone", zone)
	}
	b.put("Mwan3Policy", "fixed")
	b.put("Mwan3Policy", "shared")
	b.put("IpsecProposal", "strong")
	b.put("SdewanApplication", "shop")
	for range n {
		b.add(branchKinds()...)
	}
	return b
}

func branchZones() []string { return []string{"office", "fibre", "mobile"} }

// branchKinds are the kinds of objects that come and go.
func branchKinds() []string {
	return []string{
		"FirewallForwarding", "FirewallForwarding", "FirewallRule", "FirewallRule", "FirewallRule", "FirewallSNAT", "FirewallDNAT", "Mwan3Rule",
		"Mwan3Rule", "IpsecSite", "IpsecHost", "CNFNAT", "CNFRoute", "CNFRouteRule", "CNFService", "CNFLocalService", "CNFHubSite",
		"NetworkFirewallRule", "NetworkPolicy", "NetworkPolicy",
	}
}

// Mutate adds, edits and deletes some objects of one part of the device.
func (b *Branch) Mutate() {
	of := b.pick("", "", "firewall", "firewall", "mwan3", "ipsec")
	b.mutate(4, func(kind string) bool { return part(kind) != of })
}

// MutateTogether adds, edits and deletes some objects of several parts of the device at once: all but those that direct packets, which go the
// old way under the new firewall for a moment.
func (b *Branch) MutateTogether() {
	b.mutate(10, func(kind string) bool {
		switch kind {
		case "CNFNAT", "CNFService", "NetworkFirewallRule":
			return false
		}
		return part(kind) != "firewall" && part(kind) != "ipsec"
	})
}

// mutate changes n objects, except of kinds that are others.
func (b *Branch) mutate(n int, others func(kind string) bool) {
	for range n {
		ids := slices.DeleteFunc(slices.Sorted(maps.Keys(b.objects)), func(id string) bool { return others(b.objects[id]["kind"].(string)) })
		id := b.pick(ids...)
		o := b.objects[id]
		kind, name := o["kind"].(string), b.name(o)
		switch {
		case b.rng.IntN(3) == 0:
			b.add(slices.DeleteFunc(branchKinds(), others)...)
		case b.rng.IntN(2) == 0 || !slices.Contains(branchKinds(), kind):
			b.put(kind, name)
		default:
			delete(b.objects, id)
		}
	}
}

// part is what has the objects of a kind take effect: one of the services of the device at a reload, or "" for each object at once. The device
// has no transaction for several of them, so what changes in two of them at a time has a state in between. Versions before the order of parts
// (docs/sdewan.md) may have it allow what neither the objects before nor those after do.
func part(kind string) string {
	switch kind {
	case "Mwan3Policy", "Mwan3Rule":
		return "mwan3"
	case "IpsecHost", "IpsecProposal", "IpsecSite":
		return "ipsec"
	case "FirewallDNAT", "FirewallForwarding", "FirewallRule", "FirewallSNAT", "FirewallZone", "NetworkPolicy":
		return "firewall"
	}
	return ""
}

func (*Branch) name(o map[string]any) string { return o["metadata"].(map[string]any)["name"].(string) }

// add adds an object of one of some kinds.
func (b *Branch) add(kinds ...string) {
	b.serial++
	b.put(b.pick(kinds...), fmt.Sprintf("%s.thing-%d", b.pick("a", "an-uncommonly-long-name-of-a"), b.serial))
}

// put adds an object with a random spec, or replaces its spec.
func (b *Branch) put(kind, name string) {
	group := v1alpha1.GroupVersion.String()
	if kind == "NetworkPolicy" {
		group = "networking.k8s.io/v1"
	}
	b.objects[kind+" "+name] = map[string]any{
		"apiVersion": group, "kind": kind, "spec": b.spec(kind, name),
		"metadata": map[string]any{"namespace": "edge", "name": name, "labels": map[string]any{v1alpha1.LabelPurpose: branchPurpose}},
	}
}

func (b *Branch) pick(words ...string) string { return words[b.rng.IntN(len(words))] }

// net is one of few prefixes, so that rules overlap.
func (b *Branch) net() string { return fmt.Sprintf("10.5.%d.0/24", b.rng.IntN(4)) }

// own is the number in the name of an object, 0 if there is none: part of addresses that only this object has.
func own(name string) int {
	n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:]) // zones have no number
	return n
}

func (b *Branch) spec(kind, name string) map[string]any {
	zone := func() string { return b.pick(branchZones()...) }
	policy := func() string { return b.pick("ACCEPT", "REJECT", "DROP") }
	n := own(name)
	switch kind {
	case "FirewallZone":
		return map[string]any{"network": []any{name}, "input": policy(), "forward": policy(), "masq": b.pick("0", "1")}
	case "Mwan3Policy":
		return map[string]any{"members": []any{
			map[string]any{"network": "fibre", "metric": 1 + b.rng.IntN(2), "weight": 1 + b.rng.IntN(3)},
			map[string]any{"network": "mobile", "metric": 1 + b.rng.IntN(2), "weight": 2},
		}}
	case "IpsecProposal":
		return map[string]any{"encryption_algorithm": b.pick("aes128", "aes256"), "hash_algorithm": "sha256", "dh_group": "modp3072"}
	case "IpsecSite", "IpsecHost":
		return b.tunnel(kind, n)
	case "FirewallForwarding":
		return map[string]any{"src": zone(), "dest": zone()}
	case "FirewallRule":
		return map[string]any{
			"src": zone(), "dest": b.pick("", zone()), "dest_ip": b.pick("", b.net()), "dest_port": b.pick("", "80", "443"),
			"proto": b.pick("tcp", "udp"), "target": policy(),
		}
	case "FirewallSNAT":
		return map[string]any{"src": zone(), "dest": zone(), "src_ip": "172.16.70.0/24", "dest_ip": b.net(), "src_dip": "1.2.3.4", "proto": "all"}
	case "FirewallDNAT":
		return map[string]any{"src": zone(), "src_dip": "1.2.3.4", "dest_ip": b.pick("10.5.0.1", "10.5.1.1"), "proto": "tcp", "src_dport": b.pick("80", "443")}
	case "Mwan3Rule":
		return map[string]any{
			"policy": b.pick("fixed", "shared"), "src_ip": "", "src_port": "", "dest_ip": b.net(), "dest_port": b.pick("", "80"),
			"proto": b.pick("tcp", "udp"), "family": "ipv4", "sticky": "", "timeout": "",
		}
	default:
		return b.single(kind, n)
	}
}

// tunnel returns the spec of a peer of IPsec.
func (b *Branch) tunnel(kind string, n int) map[string]any {
	connection := map[string]any{
		"name": "all", "conn_type": "tunnel", "mode": "start", "remote_subnet": fmt.Sprintf("10.6.%d.0/24", n), "crypto_proposal": []any{"strong"},
	}
	if kind == "IpsecHost" {
		connection["local_sourceip"] = "%config"
	} else {
		connection["local_subnet"] = "172.16.70.0/24"
	}
	return map[string]any{
		"remote": fmt.Sprintf("10.10.10.%d", n), "authentication_method": "psk", "pre_shared_key": b.pick("only-for-tests", "for-tests-too"),
		"crypto_proposal": []any{"strong"}, "connections": []any{connection},
	}
}

// single returns the spec of an object that takes effect alone, and of a NetworkPolicy.
func (b *Branch) single(kind string, n int) map[string]any {
	switch kind {
	case "CNFNAT":
		return map[string]any{"src": "net1", "proto": "tcp", "src_dport": fmt.Sprint(branchPorts + n), "dest_ip": b.pick("10.5.0.1", "10.5.1.1"), "dest_port": "80", "target": "DNAT"}
	case "CNFRoute":
		return map[string]any{"dst": fmt.Sprintf("10.8.%d.0/24", n), "gw": b.pick("172.16.70.1", "172.16.70.2"), "dev": "net0", "table": b.pick("cnf", "default")}
	case "CNFRouteRule":
		return map[string]any{"src": fmt.Sprintf("172.16.70.%d", branchPods+n), "prio": fmt.Sprint(200 + n), "table": "40"}
	case "CNFService":
		return map[string]any{"fullname": b.local(), "port": fmt.Sprint(branchPorts + n), "dport": "80"}
	case "CNFLocalService":
		return map[string]any{"localservice": b.local(), "localport": "8080", "remoteservice": serviceName(remote(n)), "remoteport": "80"}
	case "CNFHubSite":
		site := map[string]any{"type": b.pick("Hub", "Device"), "subnet": fmt.Sprintf("10.11.%d.0/24", n)}
		if site["type"] == "Hub" {
			site["hubip"] = b.pick(branchHubs()...)
		} else {
			site["devicepip"] = branchAddress
		}
		return site
	case "SdewanApplication":
		return map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": b.pick("a", "b", "c")}}}
	case "NetworkFirewallRule":
		return map[string]any{"src": b.pick("net0", "net1"), "dest": "net2", "dest_ip": fmt.Sprintf("10.9.%d.0/24", n), "proto": "tcp", "target": b.pick("DROP", "ACCEPT")}
	}
	peer := map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": b.pick("a", "b")}}}
	if b.rng.IntN(2) == 0 {
		peer = map[string]any{"ipBlock": map[string]any{"cidr": b.pick("10.5.0.0/16", "9.9.9.0/24", "0.0.0.0/0")}}
	}
	peers := map[string]any{"ports": []any{map[string]any{"protocol": b.pick("TCP", "UDP"), "port": 80}}}
	spec := map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": b.pick("a", "b", "c")}}}
	if b.rng.IntN(2) == 0 {
		peers["from"], spec["policyTypes"], spec["ingress"] = []any{peer}, []any{"Ingress"}, []any{peers}
	} else {
		peers["to"], spec["policyTypes"], spec["egress"] = []any{peer}, []any{"Egress"}, []any{peers}
	}
	return spec
}

const (
	branchAddress = "172.16.70.39" // of the CNF, in the network of its pods

	branchPods  = 5    // the last byte of the address of the first pod behind the CNF
	branchPorts = 3000 // translations have ports from here on
)

// branchHubs are the other ends of the CNF's tunnels.
func branchHubs() []string { return []string{"10.10.10.1", "10.10.10.2"} }

// branchServices are the Services of the cluster that objects lead to, with their addresses.
func branchServices() map[string]string {
	return map[string]string{"web": "10.5.0.1", "db": "10.5.1.1"}
}

// local is the DNS name of one of branchServices.
func (b *Branch) local() string {
	return serviceName(b.pick(slices.Sorted(maps.Keys(branchServices()))...))
}

// remote is the name of the Service whose packets a CNFLocalService redirects, one for each of them.
func remote(n int) string { return fmt.Sprintf("remote-%d", n) }

// serviceName is the DNS name of a Service.
func serviceName(name string) string { return name + ".edge.svc.cluster.local" }

// services are the Services that objects name.
func (b *Branch) services() []map[string]any {
	addresses := branchServices()
	for _, o := range b.objects {
		if o["kind"] == "CNFLocalService" {
			n := own(b.name(o))
			addresses[remote(n)] = fmt.Sprintf("10.7.0.%d", n)
		}
	}
	var list []map[string]any
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		list = append(list, map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": "edge", "name": name},
			"spec": map[string]any{
				"clusterIP": addresses[name], "clusterIPs": []any{addresses[name]}, "ipFamilies": []any{"IPv4"}, "type": "ClusterIP",
				"ports": []any{map[string]any{"name": "http", "port": 80, "protocol": "TCP"}},
			},
		})
	}
	return list
}

// Text returns all manifests: the CNF with its address, six pods behind it, the Services that objects name, and the objects.
func (b *Branch) Text(t testing.TB, address netip.Addr) []byte {
	t.Helper()
	list := []map[string]any{branchPod("cnf-0", address, map[string]any{v1alpha1.LabelPurpose: branchPurpose})}
	list[0]["metadata"].(map[string]any)["annotations"] = map[string]any{"k8s.plugin.opnfv.org/nfn-network": `{"type": "ovn4nfv", "interface": [` +
		`{"interface": "net0", "name": "office"}, {"interface": "net1", "name": "fibre"}, {"interface": "net2", "name": "mobile"}]}`}
	for i := range 6 {
		at := netip.AddrFrom4([4]byte{172, 16, 70, byte(branchPods + i)})
		list = append(list, branchPod(fmt.Sprintf("pod-%d", i), at, map[string]any{"app": []string{"a", "b", "c"}[i%3]}))
	}
	list = append(list, b.services()...)
	for _, id := range slices.Sorted(maps.Keys(b.objects)) {
		list = append(list, b.objects[id])
	}
	var text bytes.Buffer
	for _, o := range list {
		one, err := yaml.Marshal(o)
		require.NoError(t, err)
		text.WriteString("---\n")
		text.Write(one)
	}
	return text.Bytes()
}

func branchPod(name string, address netip.Addr, labels map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "edge", "name": name, "labels": labels},
		"spec": map[string]any{"nodeName": "node-a", "containers": []any{map[string]any{"name": "main", "image": "example.com/main"}}},
		"status": map[string]any{
			"phase": "Running", "podIP": address.String(), "podIPs": []any{map[string]any{"ip": address.String()}},
			"conditions":        []any{map[string]any{"type": "Ready", "status": "True"}},
			"containerStatuses": []any{map[string]any{"name": "main", "ready": true, "image": "example.com/main", "imageID": ""}},
		},
	}
}

// Packets returns n packets that the objects of branches may decide on, the same for the same seed.
func Packets(seed uint64, n int) []simulator.Packet {
	rng := policygen.NewRand(seed)
	below := func(n int) byte { return byte(rng.IntN(n)) } //nolint:gosec // n is at most 50
	var list []simulator.Packet
	for range n {
		p := simulator.Packet{In: fmt.Sprintf("net%d", rng.IntN(3)), SrcPort: 40000, Proto: []string{"tcp", "tcp", "udp"}[rng.IntN(3)]}
		p.Src = map[string]netip.Addr{
			"net0": netip.AddrFrom4([4]byte{172, 16, 70, branchPods + below(8)}),
			"net1": netip.AddrFrom4([4]byte{9, 9, 9, 1 + below(3)}), "net2": netip.AddrFrom4([4]byte{10, 5, below(4), 9}),
		}[p.In]
		k := 1 + below(34) // an object's own
		p.Dst = netip.AddrFrom4([][4]byte{
			{10, 5, below(4), 1},
			{10, 5, below(4), 1},
			{172, 16, 70, branchPods + below(6)},
			{10, 6, k, 1},
			{10, 8, k, 1},
			{10, 9, k, 1},
			{10, 7, 0, k},
			{10, 11, k, 1},
			{1, 2, 3, 4},
			{10, 10, 10, 15},
		}[rng.IntN(10)])
		p.DstPort = []uint16{22, 80, 80, 443, branchPorts + uint16(k)}[rng.IntN(5)]
		list = append(list, p)
	}
	return list
}
