package ovn

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// maxAffinity is the longest Load_Balancer.options:affinity_timeout, in seconds (ovn-nb(5)).
const maxAffinity = 65535

// scope says what the rows of one load balancer differ by: their options and where they are put.
type scope uint8

// The scopes: addresses that exist within the network alone; addresses that the world is to find; addresses of nodes that
// serve what is on the node; and addresses that treat clients inside and outside differently, on switches and on routers.
const (
	scopeCluster scope = iota + 1
	scopeExternal
	scopeLocal
	scopeSwitch
	scopeRouter
)

func (s scope) String() string {
	return [...]string{"none", "cluster", "external", "local", "switch", "router"}[s]
}

// reach is where the rows of a scope are put.
func (s scope) reach() reach {
	switch s {
	case scopeSwitch:
		return onSwitches
	case scopeRouter:
		return onRouters
	case scopeCluster, scopeExternal, scopeLocal:
	}
	return onBoth
}

// part is one of the ways in which a frontend is rendered: in which scope, and for clients inside or outside.
type part struct {
	scope  scope
	inside bool
}

// partsOf lists the ways in which f is rendered.
func partsOf(f *intent.Frontend) []part {
	external := f.Kind == intent.ExternalAddress || f.Kind == intent.IngressAddress
	switch {
	case f.Locality == intent.NodeOfFrontend:
		return []part{{scopeLocal, true}}
	case f.Locality == intent.NodeOfOutsideFlow:
		return []part{{scopeSwitch, true}, {scopeRouter, false}}
	case external:
		return []part{{scopeExternal, true}}
	default:
		return []part{{scopeCluster, true}}
	}
}

// balancer is what one load balancer renders to.
type balancer struct {
	network string
	rows    map[string]placed            // by UUID
	vars    map[string]map[string]string // template variables by chassis
	bars    nb.Rows                      // the ACLs on switches that keep sources away, by UUID
	nodal   bool                         // it depends on the nodes
	barred  bool                         // some frontend denies sources, whether or not it could be rendered
	skips   []backends.Skip
}

// placed is a row of Load_Balancer and where it is put.
type placed struct {
	*nb.Row
	at place
}

// rowKey names a row among those of its load balancer.
type rowKey struct {
	protocol intent.Protocol
	scope    scope
	family   intent.Families // of a row with template variables; else zero
	node     string          // of a row for one node alone; else ""
}

func (k rowKey) String() string {
	s := k.protocol.String() + ":" + k.scope.String()
	if k.family != 0 {
		s += ":node:" + nb.FamilyName(k.family)
	}
	if k.node != "" {
		s += ":node:" + k.node
	}
	return s
}

// balancerWriter renders one load balancer.
type balancerWriter struct {
	*renderer
	*balancer
	lb    *intent.LoadBalancer
	byKey map[rowKey]*nb.Row
	pools map[string][]pool
	loose bool // affinity is less than asked for
}

// balancer renders a load balancer; nil is none.
func (r *renderer) balancer(lb *intent.LoadBalancer) *balancer {
	if lb == nil {
		return nil
	}
	w := &balancerWriter{
		renderer: r, lb: lb, byKey: map[rowKey]*nb.Row{}, pools: map[string][]pool{},
		balancer: &balancer{network: lb.Network, rows: map[string]placed{}, bars: nb.Rows{}},
	}
	if !r.schema.Has(nb.TableLoadBalancer) {
		w.skip("the database has no load balancers")
		return w.balancer
	}
	if !r.balancing.networks.allow(lb.Network) {
		w.network = "" // nobody has to look for its switches and routers
		w.skip("logical network %q is not among those that Services may name (setting ovn-service-networks)", lb.Network)
		return w.balancer
	}
	if lb.Affinity > maxAffinity && r.balancing.affinity == AffinityTimeout {
		w.skip("session affinity of %d s is kept for %d s, the longest there is", lb.Affinity, maxAffinity)
	}
	var barred []*intent.Frontend
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		w.barred = w.barred || len(f.Denied) > 0
		if !w.expressible(f) {
			continue
		}
		w.tellUnspecified(f)
		for _, p := range partsOf(f) {
			w.frontend(f, p)
		}
		if len(f.Denied) > 0 {
			barred = append(barred, f)
		}
	}
	if w.loose {
		w.skip("session affinity by the hash of the client's address holds only while the backends stay the same")
	}
	w.bar(barred)
	return w.balancer
}

func (w *balancerWriter) skip(format string, args ...any) {
	w.balancer.skips = append(w.balancer.skips, backends.Skip{Intent: string(w.lb.ID), Reason: fmt.Sprintf(format, args...)})
}

// expressible says whether a frontend can be written, and takes note of why not.
func (w *balancerWriter) expressible(f *intent.Frontend) bool {
	switch f.Protocol {
	case intent.TCP, intent.UDP, intent.SCTP:
	case intent.ICMP, intent.ICMPv6:
		fallthrough
	default:
		w.skip("%s: protocol %s is not balanced", f, f.Protocol)
		return false
	}
	if whose, taken := w.foreign[vipOf(f)]; taken {
		w.skip("%s: load balancer %q, which is not ours, has it", f, whose)
		return false
	}
	if len(f.Denied) > 0 && !w.enforceable(w.lb.Network) {
		w.skip("%s: a router that balances has no switch where sources could be kept away", f)
		return false
	}
	return true
}

// frontend writes one frontend in one way.
func (w *balancerWriter) frontend(f *intent.Frontend, p part) {
	key := rowKey{protocol: f.Protocol, scope: p.scope}
	at := place{network: w.lb.Network, reach: p.scope.reach()}
	vip := netip.AddrPortFrom(f.Addr, f.Port).String()
	switch {
	case !f.PerNode(p.inside):
		w.put(key, at, vip, w.value(f, f.Choose(nil, p.inside)))
	case w.templates():
		w.nodal = true
		key.family = intent.FamilyOf(f.Addr)
		if len(w.chassis()) == 0 {
			w.skip("%s: it is served by node, and no node is known", f)
		}
		value := w.value(f, nil) // with no backend at all it is the same everywhere
		if len(f.Backends) > 0 {
			value = "^" + w.pool(f, p.inside)
		}
		w.put(key, at, w.templateVIP(f), value)
	default:
		w.nodal = true
		for n := range w.want.Nodes() {
			key.node, at.node = n.Name, n.Name
			w.put(key, at, vip, w.value(f, f.Choose(n, p.inside)))
		}
	}
}

// value spells the backends that were chosen. Without any, no backend at all is refused by OVN, while none of those there
// are is a backend that never answers: such flows are to be dropped.
func (w *balancerWriter) value(f *intent.Frontend, chosen []intent.Backend) string {
	var targets []string
	for i := range chosen {
		// The unspecified address as a backend makes the switch refuse every flow of the chassis (measured on 23.03).
		if a := chosen[i].Addr; a.IsValid() && !a.IsUnspecified() && a.Is4() == f.Addr.Is4() {
			targets = append(targets, chosen[i].AddrPort().String())
		}
	}
	switch {
	case len(targets) > 0:
		return strings.Join(targets, ",")
	case len(f.Backends) == 0 && w.lb.RejectEmpty:
		return ""
	default:
		return nowhere(intent.FamilyOf(f.Addr))
	}
}

// tellUnspecified takes note of a backend that value leaves out.
func (w *balancerWriter) tellUnspecified(f *intent.Frontend) {
	for i := range f.Backends {
		if b := &f.Backends[i]; b.Addr.IsUnspecified() {
			w.skip("%s: backend %s is left out, no packet can be sent to an unspecified address", f, b.AddrPort())
		}
	}
}

// nowhere is a backend that no packet reaches and that leaves no network: a router drops what is for a loopback address of
// IPv4, and looks in vain for the neighbour with a link-local address of IPv6.
func nowhere(f intent.Families) string {
	if f == intent.IPv6 {
		return "[fe80::9]:9"
	}
	return "127.0.0.9:9"
}

// put writes a VIP into the row of a key.
func (w *balancerWriter) put(key rowKey, at place, vip, value string) {
	lb := w.byKey[key]
	if lb == nil {
		lb = w.row(key)
		w.byKey[key] = lb
		w.rows[lb.UUID] = placed{lb, at}
	}
	lb.Maps["vips"][vip] = value
}

// row is the row of a key, without VIPs.
func (w *balancerWriter) row(key rowKey) *nb.Row {
	o := w.lb.Origin
	id := string(w.lb.ID) + "|" + key.String()
	ids := nb.SourceIDs(o)
	ids[nb.KeyOwner], ids[nb.KeyID], ids[nb.KeyScope] = w.names.Owner, id, key.scope.String()
	if p := w.lb.HealthCheckPort; p != 0 {
		ids[nb.KeyHealth] = strconv.Itoa(int(p))
	}
	name := nb.ObjectName(o) + ":" + key.String()
	out := &nb.Row{
		Table: nb.TableLoadBalancer, UUID: w.names.UUID(nb.TableLoadBalancer, id), Name: name, Origin: o.String(),
		Fields: backends.Fields{
			"name": name, "protocol": key.protocol.String(), "options": w.options(key), "external_ids": ids,
		},
		Maps: map[string]map[string]string{"vips": {}},
	}
	if w.schema.HasColumn(nb.TableLoadBalancer, nb.ColumnSelection) {
		out.Sets = map[string][]string{nb.ColumnSelection: nil}
		if w.hashes(key) {
			out.Sets[nb.ColumnSelection] = []string{"ip_dst", "ip_src"}
			w.loose = true
		}
	}
	nb.Restrict(w.schema, nb.TableLoadBalancer, out.Fields)
	return out
}

// hashes says whether a client stays with a backend by the hash of its address, instead of being remembered for a time.
// With template variables the latter makes flows that chassis cannot read (measured on 23.03).
func (w *balancerWriter) hashes(key rowKey) bool {
	return w.lb.Affinity > 0 && (key.family != 0 || w.balancing.affinity == AffinityHash)
}

// options are Load_Balancer.options. Those that an older OVN does not know it ignores.
func (w *balancerWriter) options(key rowKey) map[string]string {
	out := map[string]string{
		"neighbor_responder": "none",
		"hairpin_snat_ip":    w.balancing.hairpinOption(),
	}
	if w.lb.RejectEmpty {
		out["reject"] = "true"
	}
	if key.scope == scopeExternal || key.scope == scopeRouter {
		out["neighbor_responder"] = "reachable"
	}
	if key.scope == scopeLocal || key.scope == scopeRouter {
		out["skip_snat"] = "true" // the backend is to see who sent it
	}
	if key.protocol == intent.UDP {
		out["ct_flush"] = "true" // a client without connections would stay with a backend that is gone
	}
	if key.family != 0 {
		out["template"], out["address-family"] = "true", "ipv"+nb.FamilyName(key.family)[1:]
	}
	if w.lb.Affinity > 0 && !w.hashes(key) {
		out["affinity_timeout"] = fmt.Sprint(min(w.lb.Affinity, maxAffinity))
	}
	return out
}
