package ovn_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/seeds"
)

// TestEveryRoadOfLoadBalancersEndsAlike walks random histories of services, nodes, switches and other controllers' rows.
// After every step a read-back finds nothing to do, and the database is what a new one would be.
func TestEveryRoadOfLoadBalancersEndsAlike(t *testing.T) {
	for name, nb := range schemas(t) {
		t.Run(name, func(t *testing.T) {
			seeds.Each(t, "balancing", func(t *testing.T, seed uint64) {
				w := &wander{chance: rand.New(rand.NewPCG(seed, 0)), nb: nb, lbs: map[int]*intent.LoadBalancer{}}
				w.walk(t, 40)
			})
		})
	}
}

// wander is a random history.
type wander struct {
	chance  *rand.Rand
	nb      []byte
	nodes   int
	systems int
	lbs     map[int]*intent.LoadBalancer
	extra   map[string]bool // switches beside the first
	foreign map[string]bool // VIPs of another controller
}

func (w *wander) options() ovn.LoadBalancing {
	return ovn.LoadBalancing{Switches: "*,!join*", Routers: "GR_*", NodeSwitch: "sw-{node}"}
}

func (w *wander) walk(t *testing.T, steps int) {
	r := newRigOn(t, w.nb, "ovn-kubernetes", w.options())
	r.addRouter(t, "blue")
	r.addRouter(t, "GR_n1")
	w.nodes, w.extra, w.foreign = 2, map[string]bool{}, map[string]bool{}
	snap := intent.NewSnapshot()
	for i := range steps {
		if w.step(t, r) {
			r.reached = 0
		}
		snap = w.snapshot(snap)
		r.reconcile(t, snap)
		if i%5 == 4 { // what is read back replaces what the backend remembers
			require.Equal(t, w.fresh(t), w.dump(r), "step %d", i)
			requireNothing(t, r, snap)
		}
	}
	w.lbs = map[int]*intent.LoadBalancer{}
	snap = w.snapshot(snap)
	p := r.reconcile(t, snap)
	require.False(t, p.Full)
	require.Equal(t, w.fresh(t), w.dump(r))
	requireNothing(t, r, snap)
	require.NotContains(t, w.dump(r), "netloom.io")
}

// requireNothing fails the test when a plan from read-back finds something to do, whatever it skips.
func requireNothing(t *testing.T, r *rig, snap *intent.Snapshot) {
	t.Helper()
	p, err := r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.Empty(t, p.Ops, text(t, p, ""))
	r.reached = snap.Revision()
}

// fresh is the dump of a new database that is brought to where this one is.
func (w *wander) fresh(t *testing.T) string {
	r := newRigOn(t, w.nb, "ovn-kubernetes", w.options())
	r.addRouter(t, "blue")
	r.addRouter(t, "GR_n1")
	for _, name := range slices.Sorted(maps.Keys(w.extra)) {
		r.addSwitch(t, name, linked(name)...)
	}
	for _, key := range slices.Sorted(maps.Keys(w.foreign)) {
		w.addForeign(t, r, key)
	}
	snap := w.snapshot(intent.NewSnapshot())
	r.reconcile(t, snap)
	return w.dump(r)
}

func (w *wander) dump(r *rig) string {
	tables := []string{"ACL", "Load_Balancer", "Logical_Switch", "Logical_Router"}
	if w.grouped() {
		tables = append(tables, "Load_Balancer_Group", "Chassis_Template_Var")
	}
	return r.server.Dump(tables...)
}

func (w *wander) grouped() bool { return bytes.Contains(w.nb, []byte(`"Load_Balancer_Group"`)) }

// linked are the routers that a switch is connected to.
func linked(name string) []string {
	return map[string][]string{"blue1": {"blue"}, "join1": {"GR_n1"}}[name]
}

func (w *wander) addForeign(t *testing.T, r *rig, key string) {
	r.transact(t, ovsdb.Insert("Load_Balancer", simulator.UUIDOf("Load_Balancer", key), libovsdb.Row{
		"name": "theirs " + key, "vips": ovsdb.Map(map[string]string{key: "192.0.2.1:1"}),
	}))
}

// step changes one thing. It is true where only a read-back notices.
func (w *wander) step(t *testing.T, r *rig) bool {
	switch n := w.chance.IntN(12); {
	case n < 6:
		i := w.chance.IntN(5)
		w.lbs[i] = w.balancer(i)
	case n < 7:
		delete(w.lbs, w.chance.IntN(5))
	case n < 8:
		w.nodes = 1 + w.chance.IntN(3)
	case n < 9:
		w.systems++
	case n < 11:
		name := []string{"blue1", "sw-n1", "sw-n2", "join1", "other"}[w.chance.IntN(5)]
		if w.extra[name] {
			r.deleteSwitch(t, name, linked(name)...)
			delete(w.extra, name)
		} else {
			r.addSwitch(t, name, linked(name)...)
			w.extra[name] = true
		}
	default:
		key := fmt.Sprintf("10.96.0.%d:80", w.chance.IntN(3))
		if w.foreign[key] {
			r.transact(t, ovsdb.Delete("Load_Balancer", simulator.UUIDOf("Load_Balancer", key)))
			delete(w.foreign, key)
		} else {
			w.addForeign(t, r, key)
			w.foreign[key] = true
		}
		return true
	}
	return false
}

// snapshot is the successor of a snapshot that says what w has.
func (w *wander) snapshot(from *intent.Snapshot) *intent.Snapshot {
	b := from.Next()
	for i := range 3 {
		name := fmt.Sprintf("n%d", i+1)
		n := intent.Node{Name: name, Zone: []string{"east", "west", ""}[i], Addrs: []netip.Addr{nodeAddr(i, 4), nodeAddr(i, 6)}}
		if i == 1 && w.systems%2 == 1 {
			n.SystemID = "chassis-2"
		}
		old := from.Node(name)
		switch {
		case i >= w.nodes:
			b.DropNode(name)
		case old == nil || old.SystemID != n.SystemID:
			b.PutNode(&n)
		}
	}
	for i := range 5 {
		id := intent.LoadBalancerID(fmt.Sprintf("Service/shop/s%d", i))
		switch lb := w.lbs[i]; {
		case lb == nil:
			b.DropLoadBalancer(id)
		case from.LoadBalancer(id) != lb:
			b.PutLoadBalancer(lb)
		}
	}
	return b.Commit()
}

func nodeAddr(i, family int) netip.Addr {
	if family == 4 {
		return netip.AddrFrom4([4]byte{172, 18, 0, byte(i + 1)})
	}
	return netip.MustParseAddr(fmt.Sprintf("fd00:18::%d", i+1))
}

// balancer makes up a load balancer.
func (w *wander) balancer(i int) *intent.LoadBalancer {
	one := func(in int) bool { return w.chance.IntN(in) == 0 }
	lb := service(fmt.Sprintf("s%d", i))
	lb.RejectEmpty = !one(4)
	if one(3) {
		lb.Affinity = []uint32{100, 100_000}[w.chance.IntN(2)]
	}
	if one(4) {
		lb.Network = []string{"blue", "nowhere"}[w.chance.IntN(2)]
	}
	family := 4
	if one(3) {
		family = 6
	}
	backends := w.backends(family)
	proto := []intent.Protocol{intent.TCP, intent.UDP}[w.chance.IntN(2)]
	cluster := intent.Frontend{Addr: vipAddr("96", i, family), Port: 80, Kind: intent.ClusterAddress}
	if one(3) {
		cluster.Locality = intent.NodeOfFlow
	}
	list := []intent.Frontend{cluster}
	if one(2) {
		f := intent.Frontend{Addr: vipAddr("97", i, family), Port: 80, Kind: intent.IngressAddress}
		if one(2) {
			f.Locality = intent.NodeOfOutsideFlow
		}
		if one(2) {
			f.Denied = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd01::/64")}
		}
		list = append(list, f)
	}
	if one(2) {
		for n := range w.nodes {
			f := intent.Frontend{Addr: nodeAddr(n, family), Port: uint16(30000 + i), Kind: intent.NodePort, Node: fmt.Sprintf("n%d", n+1)}
			if lb.Affinity > 0 {
				f.Locality = intent.NodeOfFrontend
			}
			list = append(list, f)
		}
	}
	for j := range list {
		list[j].Protocol, list[j].Backends, list[j].Path = proto, backends, "spec.ports[0]"
	}
	slices.SortFunc(list, func(a, b intent.Frontend) int { return a.Compare(&b) })
	lb.Frontends = list
	return lb
}

func vipAddr(kind string, i, family int) netip.Addr {
	if family == 4 {
		return netip.MustParseAddr(fmt.Sprintf("10.%s.0.%d", kind, i))
	}
	return netip.MustParseAddr(fmt.Sprintf("fd%s::%d", kind, i+1))
}

func (w *wander) backends(family int) intent.Backends {
	hints := w.chance.IntN(4)
	var out []intent.Backend
	for i := range w.chance.IntN(4) {
		b := backend(fmt.Sprintf("10.0.0.%d:8080", i+1), fmt.Sprintf("n%d", 1+w.chance.IntN(3)))
		if family == 6 {
			b.Addr = netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1))
		}
		switch hints {
		case 1:
			b.ForNodes = []string{b.Node}
		case 2:
			b.ForZones = []string{"east"}
		}
		b.Draining = w.chance.IntN(5) == 0
		out = append(out, b)
	}
	return intent.NewBackends(out...)
}
