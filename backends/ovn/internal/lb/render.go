package lb

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// maxAffinity is the longest Load_Balancer.options:affinity_timeout, in seconds (ovn-nb(5)).
const maxAffinity = 65535

// scope distinguishes the rows of one load balancer: by their options and by where they are attached.
type scope uint8

// The scopes: addresses that exist only within the network; addresses that can be reached from outside; addresses of
// nodes that serve what is on the node; and addresses that treat clients inside and outside differently, on switches and
// on routers.
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

// reach returns where the rows of a scope are put.
func (s scope) reach() reach {
	return [...]reach{scopeSwitch: onSwitches, scopeRouter: onRouters}[s]
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

// rendering is what one load balancer renders to. The zero value is for none.
type rendering struct {
	network    string
	rows       map[string]placed            // by UUID
	vars       map[string]map[string]string // template variables by chassis
	acls       nb.Rows                      // on switches: they deny sources
	nodal      bool                         // it depends on the nodes
	restricted bool                         // some frontend denies sources, whether or not it could be rendered
	skips      []backends.Skip
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
	node     string          // of a row for only one node; else ""
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

// renderer turns load balancers into rows. It is pure.
type renderer struct {
	*Target
	want     *intent.Snapshot
	topology *Topology
	foreign  map[vip]string // the VIPs of others and the names of their rows

	networks map[string]hosts // those that were looked up
	nodes    []chassis        // nil until needed
}

func newRenderer(t *Target, want *intent.Snapshot, top *Topology) *renderer {
	return &renderer{Target: t, want: want, topology: top, networks: map[string]hosts{}}
}

// chassis lists the nodes by the names of their chassis, each name once.
func (r *renderer) chassis() []chassis {
	if r.nodes == nil {
		r.nodes = []chassis{}
		for n := range r.want.Nodes() {
			r.nodes = append(r.nodes, chassis{cmp.Or(n.SystemID, n.Name), n})
		}
		slices.SortStableFunc(r.nodes, func(a, b chassis) int { return cmp.Compare(a.name, b.name) })
		r.nodes = slices.CompactFunc(r.nodes, func(a, b chassis) bool { return a.name == b.name })
	}
	return r.nodes
}

// onlyNode returns the node if there is exactly one, as in the database of one node; otherwise nil. What depends on the node is the same
// everywhere then, so it needs no variable: ovn-northd recomputes everything for each changed one (ADR 44).
func (r *renderer) onlyNode() *intent.Node {
	var only *intent.Node
	for n := range r.want.Nodes() {
		if only != nil {
			return nil
		}
		only = n
	}
	return only
}

// hosts finds what belongs to a network, once.
func (r *renderer) hosts(network string) hosts {
	h, ok := r.networks[network]
	if !ok {
		h = r.Settings.hosts(network, r.topology)
		r.networks[network] = h
	}
	return h
}

// writer renders one load balancer.
type writer struct {
	*renderer
	*rendering
	lb      *intent.LoadBalancer
	byKey   map[rowKey]*nb.Row
	perNode variables
	hashed  bool // some row has affinity by a hash
	crowd   crowd
	texts   map[audience]string // of backends that several frontends have
}

// audience is backends and the family of a frontend that sends to them.
type audience struct {
	backends intent.Backends
	family   intent.Families
}

// render renders a load balancer; nil renders to nothing.
func (r *renderer) render(lb *intent.LoadBalancer) *rendering {
	if lb == nil {
		return nil
	}
	w := &writer{
		renderer: r, lb: lb, byKey: map[rowKey]*nb.Row{}, texts: map[audience]string{}, perNode: variables{names: r.Names, id: lb.ID},
		rendering: &rendering{network: lb.Network, rows: map[string]placed{}},
	}
	if !r.Schema.Has(nb.TableLoadBalancer) {
		w.skip("the database has no load balancers")
		return w.rendering
	}
	if !r.Settings.Networks.allow(lb.Network) {
		w.network = "" // its switches and routers need not be found
		w.skip("logical network %q is not among those that Services may name (setting ovn-service-networks)", lb.Network)
		return w.rendering
	}
	if !r.Settings.HashAffinity {
		w.skips = append(w.skips, affinityLimit(lb)...)
	}
	var denying []*intent.Frontend
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		w.restricted = w.restricted || len(f.Denied) > 0
		if !w.expressible(f) {
			continue
		}
		w.skipUnspecified(f)
		for _, p := range partsOf(f) {
			w.frontend(f, p)
		}
		if len(f.Denied) > 0 {
			denying = append(denying, f)
		}
	}
	w.skips = append(w.skips, w.crowd.skips(lb)...)
	if w.hashed {
		w.skip("session affinity by the hash of the client's address holds only while the backends stay the same")
	}
	w.vars, w.acls = w.perNode.values, r.denials(lb, denying)
	return w.rendering
}

// LimitOf reports what no database can express: a session affinity that is too long, and too many backends that are the same on every node.
func LimitOf(lb *intent.LoadBalancer) []backends.Skip {
	var c crowd
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		for _, p := range partsOf(f) {
			if !f.PerNode(p.inside) {
				c.note(f, usable(f.Choose(nil, p.inside)).Len())
			}
		}
	}
	return append(c.skips(lb), affinityLimit(lb)...)
}

func affinityLimit(lb *intent.LoadBalancer) []backends.Skip {
	if lb.Affinity <= maxAffinity {
		return nil
	}
	return []backends.Skip{{Intent: string(lb.ID), Reason: fmt.Sprintf("session affinity of %d s is limited to %d s, the maximum", lb.Affinity, maxAffinity)}}
}

func (w *writer) skip(format string, args ...any) {
	w.skips = append(w.skips, backends.Skip{Intent: string(w.lb.ID), Reason: fmt.Sprintf(format, args...)})
}

// expressible reports whether a frontend can be written, and adds a skip if not.
func (w *writer) expressible(f *intent.Frontend) bool {
	switch f.Protocol {
	case intent.TCP, intent.UDP, intent.SCTP:
	case intent.ICMP, intent.ICMPv6:
		fallthrough
	default:
		w.skip("%s: OVN does not load balance protocol %s", f, f.Protocol)
		return false
	}
	if name, taken := w.foreign[vipOf(f)]; taken {
		w.skip("%s: another owner's load balancer %q has this VIP", f, name)
		return false
	}
	if len(f.Denied) > 0 && w.hosts(w.lb.Network).unguarded {
		w.skip("%s: its source ranges cannot be enforced, a router of its network has no logical switch", f)
		return false
	}
	return true
}

// frontend writes one frontend in one way.
func (w *writer) frontend(f *intent.Frontend, p part) {
	key := rowKey{protocol: f.Protocol, scope: p.scope}
	at := place{network: w.lb.Network, reach: p.scope.reach()}
	vip, only := netip.AddrPortFrom(f.Addr, f.Port).String(), w.onlyNode()
	switch {
	case !f.PerNode(p.inside):
		w.put(key, at, vip, w.value(f, f.Choose(nil, p.inside)))
	case only != nil:
		w.nodal = true
		w.put(key, at, vip, w.value(f, f.Choose(only, p.inside)))
	case w.templates():
		w.nodal = true
		key.family = intent.FamilyOf(f.Addr)
		if len(w.chassis()) == 0 {
			w.skip("%s: its backends depend on the node, and no node is known", f)
		}
		value := w.value(f, intent.Backends{}) // without any backends it is the same everywhere
		if f.Backends.Len() > 0 {
			value = "^" + w.perNode.pool(w.chassis(), f, p.inside, func(n *intent.Node) string { return w.value(f, f.Choose(n, p.inside)) })
		}
		w.put(key, at, w.perNode.vip(w.chassis(), f), value)
	default:
		w.nodal = true
		for n := range w.want.Nodes() {
			key.node, at.node = n.Name, n.Name
			w.put(key, at, vip, w.value(f, f.Choose(n, p.inside)))
		}
	}
}

// value formats the chosen backends. If there are no backends at all, the value is empty and OVN rejects flows; if none
// of them was chosen, it is a backend that never answers, so that flows are dropped.
func (w *writer) value(f *intent.Frontend, chosen intent.Backends) string {
	at := audience{chosen, intent.FamilyOf(f.Addr)}
	text, known := w.texts[at]
	if !known {
		text = joined(w.crowd.admit(f, usable(chosen)))
		w.texts[at] = text
	}
	switch {
	case text != "":
		return text
	case f.Backends.Len() == 0 && w.lb.RejectEmpty:
		return ""
	default:
		return unreachable(intent.FamilyOf(f.Addr))
	}
}

// usable returns the chosen backends whose address can be written. With the unspecified address as a backend, the switch rejects every flow
// of the chassis (measured on 23.03). It is the first of its family, so the others are not visited.
func usable(chosen intent.Backends) intent.Backends {
	for b := range chosen.All() {
		if b.Addr.IsValid() && !b.Addr.IsUnspecified() {
			break
		}
		chosen = chosen.Without(b.AddrPort())
	}
	return chosen
}

// skipUnspecified reports a backend that value leaves out.
func (w *writer) skipUnspecified(f *intent.Frontend) {
	for b := range f.Backends.All() {
		if !b.Addr.IsUnspecified() {
			return // it would be the first
		}
		w.skip("%s: backend %s is left out, no packet can be sent to an unspecified address", f, b.AddrPort())
	}
}

// unreachable returns a backend that no packet reaches and for which none leaves the network: a router drops packets to
// an IPv4 loopback address, and finds no neighbor with the IPv6 link-local address.
func unreachable(f intent.Families) string {
	if f == intent.IPv6 {
		return "[fe80::9]:9"
	}
	return "127.0.0.9:9"
}

// put writes a VIP into the row of a key.
func (w *writer) put(key rowKey, at place, vip, value string) {
	lb := w.byKey[key]
	if lb == nil {
		lb = w.row(key)
		w.byKey[key] = lb
		w.rows[lb.UUID] = placed{lb, at}
	}
	lb.Maps["vips"][vip] = value
}

// row returns the row of a key, without VIPs.
func (w *writer) row(key rowKey) *nb.Row {
	o := w.lb.Origin
	id := string(w.lb.ID) + "|" + key.String()
	ids := nb.SourceIDs(o)
	ids[nb.KeyOwner], ids[nb.KeyID], ids[nb.KeyScope] = w.Names.Owner, id, key.scope.String()
	if p := w.lb.HealthCheckPort; p != 0 {
		ids[nb.KeyHealth] = strconv.Itoa(int(p))
	}
	name := nb.ObjectName(o) + ":" + key.String()
	out := &nb.Row{
		Table: nb.TableLoadBalancer, UUID: w.Names.UUID(nb.TableLoadBalancer, id), Name: name, Origin: o.String(),
		Fields: backends.Fields{
			"name": name, "protocol": key.protocol.String(), "options": w.options(key), nb.ColumnExternalIDs: ids,
		},
		Maps: map[string]map[string]string{"vips": {}},
	}
	if w.Schema.HasColumn(nb.TableLoadBalancer, nb.ColumnSelection) {
		out.Sets = map[string][]string{nb.ColumnSelection: nil}
		if w.hashes(key) {
			out.Sets[nb.ColumnSelection] = []string{"ip_dst", "ip_src"}
			w.hashed = true
		}
	}
	nb.Restrict(w.Schema, nb.TableLoadBalancer, out.Fields)
	return out
}

// hashes reports whether a client stays with a backend by the hash of its address, instead of being remembered for a
// time. With template variables the latter makes flows that chassis cannot parse (measured on 23.03).
func (w *writer) hashes(key rowKey) bool {
	return w.lb.Affinity > 0 && (key.family != 0 || w.Settings.HashAffinity)
}

// options returns Load_Balancer.options. An older OVN ignores those that it does not know.
func (w *writer) options(key rowKey) map[string]string {
	out := map[string]string{
		"neighbor_responder": "none",
		"hairpin_snat_ip":    w.hairpinOption(),
	}
	if w.lb.RejectEmpty {
		out["reject"] = "true"
	}
	if key.scope == scopeExternal || key.scope == scopeRouter {
		out["neighbor_responder"] = "reachable"
	}
	if key.scope == scopeLocal || key.scope == scopeRouter {
		out["skip_snat"] = "true" // the backend has to see the client's address
	}
	if key.protocol == intent.UDP {
		out["ct_flush"] = "true" // otherwise a client without connections would stay with a deleted backend
	}
	if key.family != 0 {
		out["template"], out["address-family"] = "true", "ipv"+nb.FamilyName(key.family)[1:]
	}
	if w.lb.Affinity > 0 && !w.hashes(key) {
		out["affinity_timeout"] = fmt.Sprint(min(w.lb.Affinity, maxAffinity))
	}
	return out
}
