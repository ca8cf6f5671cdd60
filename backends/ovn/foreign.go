package ovn

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// vip is an address, protocol and port that is balanced. OVN does as it likes where a switch has two load balancers of one.
type vip struct {
	protocol intent.Protocol
	at       netip.AddrPort
}

func vipOf(f *intent.Frontend) vip { return vip{f.Protocol, netip.AddrPortFrom(f.Addr, f.Port)} }

// surroundings is what a read-back found about load balancing: rows of ours, and what of others concerns us.
type surroundings struct {
	ours    nb.Rows             // of Load_Balancer, Load_Balancer_Group and Chassis_Template_Var, by UUID
	others  []*nb.Row           // of Load_Balancer
	taken   map[string]bool     // the names of others' groups
	chassis map[string]string   // others' rows of template variables, by chassis
	shared  nb.Rows             // what of ours is in them, by UUID
	hosts   nb.Rows             // what of ours switches and routers refer to, by UUID
	values  map[string][]string // what template variables hold, on one chassis or another
}

func newSurroundings() *surroundings {
	return &surroundings{
		ours: nb.Rows{}, taken: map[string]bool{}, chassis: map[string]string{},
		shared: nb.Rows{}, hosts: nb.Rows{}, values: map[string][]string{},
	}
}

// abandoned says whether a row of template variables that we made was left to others: nothing in it is ours any more.
func (s *surroundings) abandoned(r *nb.Row) bool {
	return r.Owner() == "" && len(r.Maps[nb.ColumnVariables]) == 0
}

// surround reads back what there is about load balancing, but for hosts.
func (b *Backend) surround(ctx context.Context, schema ovsdb.Schema) (*surroundings, error) {
	s := newSurroundings()
	for _, table := range nb.LoadBalancerTables() {
		rows, err := b.read(ctx, schema, table, nil)
		if err != nil {
			return nil, err
		}
		for _, native := range rows {
			s.sort(b.names, nb.Decode(table, native))
		}
	}
	return s, nil
}

// sort puts a row where it belongs.
func (s *surroundings) sort(names nb.Namer, r *nb.Row) {
	switch r.Table {
	case nb.TableLoadBalancer:
		if r.Owner() == names.Owner {
			s.ours[r.UUID] = r
			return
		}
		s.others = append(s.others, r)
	case nb.TableLoadBalancerGroup:
		if r.UUID == names.UUID(nb.TableLoadBalancerGroup, r.Name) {
			s.ours[r.UUID] = r
			return
		}
		s.taken[r.Name] = true
	case nb.TableTemplateVars:
		s.sortVars(names, r)
	}
}

// sortVars tells our variables from others'. A row of ours is known by its UUID.
func (s *surroundings) sortVars(names nb.Namer, r *nb.Row) {
	vars := map[string]string{}
	for name, value := range r.Maps[nb.ColumnVariables] {
		ours := strings.HasPrefix(name, names.Variables()+"_")
		if ours {
			vars[name] = value
		}
		if _, err := netip.ParseAddr(value); ours && err != nil {
			continue // backends, which differ by chassis: no VIP is made of them
		}
		if !slices.Contains(s.values[name], value) {
			s.values[name] = append(s.values[name], value)
		}
	}
	r.Maps[nb.ColumnVariables] = vars
	r.Name, _ = r.Fields["chassis"].(string)
	if r.UUID == names.UUID(nb.TableTemplateVars, r.Name) {
		s.ours[r.UUID] = r
		return
	}
	s.chassis[r.Name] = r.UUID
	r.Fields = backends.Fields{}
	s.shared[r.UUID] = r
}

// derived says whether some row that is not marked as ours has a UUID of the kind that ours have, and others' seldom.
func (s *surroundings) derived() bool {
	const version, name = 14, '5' // where a UUID says how it was made, and what it says of one made from a name (RFC 9562)
	return slices.ContainsFunc(s.others, func(r *nb.Row) bool { return len(r.UUID) > version && r.UUID[version] == name })
}

// claims settles whose the VIPs are that are not marked as ours: those of rows in want are, for only we derive their
// UUIDs, and lost their mark. It returns the VIPs of all others, and the names of their rows.
//
// Of two owners that have written one VIP at the same time the first by name keeps it: they would both give it up, and
// both take it again.
func (s *surroundings) claims(owner string, want map[intent.LoadBalancerID]*balancer) map[vip]string {
	known := map[string]bool{}
	for _, b := range want {
		for uuid := range b.rows {
			known[uuid] = true
		}
	}
	held := map[vip]bool{}
	for _, r := range s.ours {
		for _, v := range s.vips(r) {
			held[v] = true
		}
	}
	foreign := map[vip]string{}
	for _, r := range s.others {
		if known[r.UUID] {
			s.ours[r.UUID] = r
			continue
		}
		rival := r.Owner()
		for _, v := range s.vips(r) {
			if held[v] && rival > owner {
				continue
			}
			if name, ok := foreign[v]; !ok || r.Name < name {
				foreign[v] = r.Name
			}
		}
	}
	return foreign
}

// vips lists the VIPs of a row.
func (s *surroundings) vips(r *nb.Row) []vip {
	var out []vip
	for key := range r.Maps["vips"] {
		for _, at := range s.addresses(key) {
			out = append(out, vip{protocolNamed(r.Fields["protocol"]), at})
		}
	}
	return out
}

// addresses are what the key of a VIP stands for: one address and port, or those that variables have on some chassis. It
// is nothing where the key has no port or cannot be read.
func (s *surroundings) addresses(key string) []netip.AddrPort {
	if at, err := netip.ParseAddrPort(key); err == nil {
		return []netip.AddrPort{at}
	}
	i := strings.LastIndexByte(key, ':')
	if !strings.HasPrefix(key, "^") || i < 0 {
		return nil
	}
	var out []netip.AddrPort
	for _, host := range s.expand(key[:i]) {
		for _, port := range s.expand(key[i+1:]) {
			a, err := netip.ParseAddr(strings.Trim(host, "[]"))
			n, err2 := strconv.ParseUint(port, 10, 16)
			if err == nil && err2 == nil {
				out = append(out, netip.AddrPortFrom(a, uint16(n)))
			}
		}
	}
	return out
}

// expand is what a text or a variable stands for.
func (s *surroundings) expand(text string) []string {
	if name, ok := strings.CutPrefix(text, "^"); ok {
		return s.values[name]
	}
	return []string{text}
}

// protocolNamed reads Load_Balancer.protocol, where nothing is TCP.
func protocolNamed(name any) intent.Protocol {
	for _, p := range []intent.Protocol{intent.UDP, intent.SCTP} {
		if name == p.String() {
			return p
		}
	}
	return intent.TCP
}
