package cnf

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// soak is a cluster with a source of randomness.
type soak struct {
	t       *testing.T
	rand    *rand.Rand
	cluster *Cluster
	serial  int
	apiDown bool
}

// resourceText is a resource as a user would apply it.
type resourceText struct{ text string }

func newSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	s := &soak{t: t, rand: rand.New(rand.NewPCG(seed, 1)), cluster: NewCluster(t)}
	for i := range *soakFunctions {
		require.NoError(t, s.cluster.Network(function(i), *soakReplicas))
		for range *soakResources {
			s.create(i)
		}
	}
	s.cluster.Start()
	return s
}

// run plays the rounds and then waits until all is settled.
func (s *soak) run() {
	s.t.Helper()
	for range *soakRounds {
		for range 1 + s.rand.IntN(*soakFunctions*4) {
			s.edit()
		}
		for range s.rand.IntN(3) {
			s.harm()
		}
		time.Sleep(time.Duration(s.rand.IntN(20_000)) * time.Millisecond)
	}
	s.mend()
	time.Sleep(5 * time.Minute)
	s.untangle()
	time.Sleep(5 * time.Minute)
	s.judge()
}

func (s *soak) pick(words ...string) string { return words[s.rand.IntN(len(words))] }

// edit creates, changes or deletes a resource of some function.
func (s *soak) edit() {
	i := s.rand.IntN(*soakFunctions)
	mine := s.of(function(i).namespace)
	if len(mine) == 0 || len(mine) < 2**soakResources && s.rand.IntN(3) == 0 {
		s.create(i)
		return
	}
	o := mine[s.rand.IntN(len(mine))]
	if s.rand.IntN(2) == 0 {
		s.cluster.API.Delete(plural(o.GetKind()), o.GetNamespace(), o.GetName())
		return
	}
	spec := s.spec(i, o.GetKind())
	s.cluster.API.Edit(plural(o.GetKind()), o.GetNamespace(), o.GetName(), func(o *unstructured.Unstructured) { o.Object["spec"] = spec })
}

// of lists the resources of a namespace, ordered by kind and name.
func (s *soak) of(namespace string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, r := range v1alpha1.Resources() {
		for _, o := range s.cluster.API.List(r.Plural) {
			if o.GetNamespace() == namespace {
				out = append(out, o.DeepCopy())
			}
		}
	}
	return out
}

// create adds a resource for a function. Names are long, have what devices do not take, and are sometimes of two kinds.
func (s *soak) create(i int) {
	kinds := []string{
		"FirewallZone", "Mwan3Policy", "IpsecProposal", "FirewallForwarding", "FirewallRule", "FirewallSNAT", "FirewallDNAT",
		"Mwan3Rule", "Mwan3Rule", "Mwan3Rule", "FirewallRule", "IpsecSite", "IpsecHost", "CNFNAT", "CNFRoute", "CNFRouteRule",
		"NetworkFirewallRule",
	}
	kind := kinds[s.rand.IntN(len(kinds))]
	s.serial++
	o := object("batch.sdewan.akraino.org/v1alpha1", kind, function(i).namespace,
		fmt.Sprintf("%s%s%d", s.pick("thing", "a-rather.long-name-for-a-thing", "t"), s.pick("-", "."), s.serial%(*soakResources*2)),
		map[string]any{"spec": s.spec(i, kind)})
	o.SetLabels(map[string]string{v1alpha1.LabelPurpose: function(i).purpose})
	if s.cluster.API.Get(plural(kind), o.GetNamespace(), o.GetName()) == nil {
		require.NoError(s.t, s.cluster.API.Create(o))
	}
}

// some is the name of a resource of a kind, one that is there if there is any.
func (s *soak) some(i int, kind string) string {
	var names []string
	for _, o := range s.cluster.API.List(plural(kind)) {
		if o.GetNamespace() == function(i).namespace {
			names = append(names, o.GetName())
		}
	}
	if len(names) == 0 {
		return "nowhere"
	}
	return s.pick(names...)
}

// net is a prefix, almost always another one.
func (s *soak) net() string { return fmt.Sprintf("10.%d.%d.0/24", s.rand.IntN(250), s.rand.IntN(250)) }

// spec returns a random spec of a kind.
func (s *soak) spec(i int, kind string) map[string]any {
	switch kind {
	case "FirewallZone":
		return map[string]any{"network": []any{s.pick("ovn-net0", "ovn-net1", "ovn-net2")}, "input": s.pick("ACCEPT", "DROP"), "masq": s.pick("", "0", "1")}
	case "Mwan3Policy":
		return map[string]any{"members": []any{
			map[string]any{"network": s.pick("ovn-net0", "ovn-net1"), "metric": int64(1 + s.rand.IntN(9)), "weight": int64(1)},
			map[string]any{"network": "ovn-net2", "metric": int64(1 + s.rand.IntN(9)), "weight": int64(2)},
		}}
	case "IpsecProposal":
		return map[string]any{"encryption_algorithm": s.pick("aes128", "aes256"), "hash_algorithm": "sha256", "dh_group": s.pick("modp3072", "modp4096")}
	case "FirewallForwarding":
		return map[string]any{"src": s.some(i, "FirewallZone"), "dest": s.some(i, "FirewallZone")}
	case "FirewallRule":
		return map[string]any{"src": s.some(i, "FirewallZone"), "dest_ip": s.net(), "proto": s.pick("tcp", "udp"), "target": s.pick("ACCEPT", "REJECT")}
	case "FirewallSNAT":
		return map[string]any{"src": s.some(i, "FirewallZone"), "dest": s.some(i, "FirewallZone"), "src_ip": s.net(), "src_dip": "1.2.3.4", "proto": "all"}
	case "FirewallDNAT":
		return map[string]any{"src": s.some(i, "FirewallZone"), "src_dip": "1.2.3.4", "dest_ip": "10.5.0.1", "proto": s.pick("tcp", "udp"), "src_dport": fmt.Sprint(1 + s.rand.IntN(9000))}
	case "Mwan3Rule":
		return map[string]any{
			"policy": s.some(i, "Mwan3Policy"), "src_ip": "", "src_port": "", "dest_ip": s.net(), "dest_port": "",
			"proto": s.pick("tcp", "udp", "all"), "family": "ipv4", "sticky": s.pick("", "1"), "timeout": "",
		}
	case "CNFNAT":
		return map[string]any{"src": s.pick("net0", "#default"), "proto": "tcp", "src_dport": fmt.Sprint(1 + s.rand.IntN(9000)), "dest_ip": "10.5.0.1", "dest_port": "80", "target": "DNAT"}
	case "CNFRoute":
		return map[string]any{"dst": s.net(), "gw": "172.16.70.1", "dev": "net0", "table": s.pick("cnf", "default")}
	case "CNFRouteRule":
		return map[string]any{"src": s.net(), "prio": fmt.Sprint(1 + s.rand.IntN(9000)), "table": "40", "not": s.rand.IntN(2) == 0}
	case "NetworkFirewallRule":
		return map[string]any{"src": s.pick("net0", "net1"), "dest_ip": s.net(), "proto": "tcp", "target": "DROP"}
	default:
		return s.peer(i, kind)
	}
}

// peer returns a random IpsecSite or IpsecHost.
func (s *soak) peer(i int, kind string) map[string]any {
	proposal := s.some(i, "IpsecProposal")
	local := "local_subnet"
	if kind == "IpsecHost" {
		local = "local_sourceip"
	}
	connection := func(name string) any {
		return map[string]any{
			"name": name, "conn_type": s.pick("tunnel", "transport"), "mode": "start", local: "172.16.70.0/24",
			"remote_subnet": s.net(), "crypto_proposal": []any{proposal},
		}
	}
	connections := []any{connection("one")}
	if s.rand.IntN(2) == 0 {
		connections = append(connections, connection("an-other"))
	}
	return map[string]any{
		"remote": "10.10.10.35", "authentication_method": "psk", "pre_shared_key": s.pick("key1", "key2"), "crypto_proposal": []any{proposal},
		"connections": connections,
	}
}

// harm makes something fail.
func (s *soak) harm() {
	all := s.cluster.devices.all()
	r := all[s.rand.IntN(len(all))]
	d := r.device
	switch s.rand.IntN(14) {
	case 0:
		d.FailAt(1+s.rand.IntN(9), []simulator.Stage{simulator.BeforeWrite, simulator.BetweenHalves, simulator.AfterWrite}[s.rand.IntN(3)])
	case 1:
		d.Drop()
	case 2:
		d.Delay(time.Duration(s.rand.IntN(3)) * time.Second)
	case 3:
		d.Hang()
	case 4:
		d.Resume()
	case 5:
		d.FailAfter(s.rand.IntN(20))
	case 6:
		r.restarted() // without an event
	case 7:
		d.ExpireSessions()
	case 8:
		s.turn(r, s.pick("stop", "start", "restart", "disconnect", "reconnect"))
	case 9:
		s.turn(r, "replace")
	case 10:
		s.cluster.API.Conflict(1 + s.rand.IntN(20))
	case 11:
		s.apiDown = !s.apiDown
		s.cluster.API.Down(s.apiDown)
	case 12:
		s.cluster.Stop()
		time.Sleep(time.Duration(s.rand.IntN(60)) * time.Second)
		s.cluster.Start()
	case 13:
		for _, sec := range sections(d.Export("firewall", "mwan3")) {
			if sec.typ == "rule" {
				d.RemoveSection(sec.pkg, sec.typ, sec.called())
				break
			}
		}
	}
}

func (s *soak) turn(r *replica, what string) {
	require.NoError(s.t, s.cluster.devices.turn(r, what))
}

// mend ends all faults.
func (s *soak) mend() {
	s.cluster.API.Down(false)
	s.cluster.API.Conflict(0)
	for _, r := range s.cluster.devices.all() {
		r.device.FailAt(0, 0)
		r.device.FailAfter(-1)
		r.device.Delay(0)
		r.device.Resume()
		s.turn(r, "reconnect")
	}
}

// untangle deletes what refers to something that is missing or being deleted, until nothing does.
func (s *soak) untangle() {
	for range 3 {
		for i := range *soakFunctions {
			there := map[string]bool{}
			for _, o := range s.of(function(i).namespace) {
				there[o.GetKind()+" "+o.GetName()] = o.GetDeletionTimestamp() == nil
			}
			for _, o := range s.of(function(i).namespace) {
				for _, ref := range references(o) {
					if !there[ref] {
						s.cluster.API.Delete(plural(o.GetKind()), o.GetNamespace(), o.GetName())
					}
				}
			}
		}
		time.Sleep(time.Minute)
	}
}

// references are the resources that o needs.
func references(o *unstructured.Unstructured) []string {
	var out []string
	add := func(kind, field string) {
		name, _, _ := unstructured.NestedString(o.Object, "spec", field)
		out = append(out, kind+" "+name)
	}
	switch o.GetKind() {
	case "FirewallForwarding", "FirewallSNAT":
		add("FirewallZone", "src")
		add("FirewallZone", "dest")
	case "FirewallRule", "FirewallDNAT":
		add("FirewallZone", "src")
	case "Mwan3Rule":
		add("Mwan3Policy", "policy")
	case "IpsecSite", "IpsecHost":
		connections, _, _ := unstructured.NestedSlice(o.Object, "spec", "connections")
		proposals, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "crypto_proposal")
		for _, c := range connections {
			more, _, _ := unstructured.NestedStringSlice(c.(map[string]any), "crypto_proposal")
			proposals = append(proposals, more...)
		}
		for _, p := range proposals {
			out = append(out, "IpsecProposal "+p)
		}
	}
	return out
}

// judge requires every resource in sync, all replicas of a CNF alike, and no duplicates or dangling references.
func (s *soak) judge() {
	s.t.Helper()
	st := &stage{cluster: s.cluster}
	for i := range *soakFunctions {
		for _, o := range s.of(function(i).namespace) {
			name := o.GetNamespace() + "/" + o.GetName()
			require.NoError(s.t, st.status([]string{o.GetKind(), name, "insync"}), "%s %s", o.GetKind(), name)
		}
	}
	state := s.state()
	for _, r := range s.cluster.devices.all() {
		require.Empty(s.t, faults(r.device.Export()))
		for key, text := range state {
			if namespace, _ := two(key); namespace == r.namespace {
				require.Equal(s.t, text, state[r.key()], "%s and %s", key, r.key())
			}
		}
	}
}

// state is the configuration of the devices, by pod.
func (s *soak) state() map[string]string {
	out := map[string]string{}
	for _, r := range s.cluster.devices.all() {
		out[r.key()] = strings.Join(managedSections(r.device.Export()), "\n")
	}
	return out
}

// resources returns all resources as a user would apply them.
func (s *soak) resources() []resourceText {
	var out []resourceText
	for i := range *soakFunctions {
		for _, o := range s.of(function(i).namespace) {
			next := object(o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName(), map[string]any{"spec": o.Object["spec"]})
			next.SetLabels(o.GetLabels())
			text, err := yaml.Marshal(next.Object)
			require.NoError(s.t, err)
			out = append(out, resourceText{string(text)})
		}
	}
	return out
}
