package lb

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// vip is an address, protocol and port of a load balancer. If a switch has two load balancers with the same one, it is undefined which
// applies.
type vip struct {
	protocol intent.Protocol
	at       netip.AddrPort
}

func vipOf(f *intent.Frontend) vip { return vip{f.Protocol, netip.AddrPortFrom(f.Addr, f.Port)} }

// Found is what a read-back found about load balancing: our rows, and rows of others that affect ours.
type Found struct {
	ours       nb.Rows             // of Load_Balancer, Load_Balancer_Group and Chassis_Template_Var
	others     []*nb.Row           // of Load_Balancer
	groups     map[string]bool     // the names of others' groups
	chassis    map[string]string   // others' rows of template variables, by chassis
	shared     nb.Rows             // our part of them
	references nb.Rows             // our rows that switches and routers refer to
	values     map[string][]string // of template variables, on one chassis or another
}

// Find sorts the rows of nb.LoadBalancerTables.
func (t *Target) Find(rows []*nb.Row) *Found {
	f := &Found{
		ours: nb.Rows{}, groups: map[string]bool{}, chassis: map[string]string{}, shared: nb.Rows{}, references: nb.Rows{},
		values: map[string][]string{},
	}
	for _, r := range rows {
		switch r.Table {
		case nb.TableLoadBalancer:
			if r.Owner() == t.Names.Owner {
				f.ours.Put(r)
			} else {
				f.others = append(f.others, r)
			}
		case nb.TableLoadBalancerGroup:
			if r.UUID == t.Names.UUID(nb.TableLoadBalancerGroup, r.Name) {
				f.ours.Put(r)
			} else {
				f.groups[r.Name] = true
			}
		case nb.TableTemplateVars:
			f.sortVars(t.Names, r)
		}
	}
	return f
}

// sortVars separates our variables from others'. One of our rows is recognized by its UUID.
func (f *Found) sortVars(names nb.Namer, r *nb.Row) {
	vars := map[string]string{}
	for name, value := range r.Maps[nb.ColumnVariables] {
		ours := strings.HasPrefix(name, names.Variables()+"_")
		if ours {
			vars[name] = value
		}
		if _, err := netip.ParseAddr(value); ours && err != nil {
			continue // backends, which differ by chassis: they are not part of a VIP
		}
		if !slices.Contains(f.values[name], value) {
			f.values[name] = append(f.values[name], value)
		}
	}
	r.Maps[nb.ColumnVariables] = vars
	r.Name, _ = r.Fields["chassis"].(string)
	if r.UUID == names.UUID(nb.TableTemplateVars, r.Name) {
		f.ours.Put(r)
		return
	}
	f.chassis[r.Name] = r.UUID
	r.Fields = backends.Fields{}
	f.shared.Put(r)
}

// Owned counts the rows that are ours, and the load balancers among them.
func (f *Found) Owned() (rows, loadBalancers int) {
	for _, r := range f.ours {
		if !othersOnly(r) {
			rows++
		}
		if r.Table == nb.TableLoadBalancer {
			loadBalancers++
		}
	}
	return rows, loadBalancers
}

// othersOnly reports whether a row of template variables that we created no longer has anything of ours and is left to others.
func othersOnly(r *nb.Row) bool {
	return r.Table == nb.TableTemplateVars && r.Owner() == "" && len(r.Maps[nb.ColumnVariables]) == 0
}

// keepReferences takes the references to rows for which ours is true from rows of switches and routers.
func (f *Found) keepReferences(rows []*nb.Row, ours func(uuid string) bool) {
	for _, r := range rows {
		found := false
		for column, uuids := range r.Sets {
			r.Sets[column] = slices.DeleteFunc(uuids, func(u string) bool { return !ours(u) })
			found = found || len(r.Sets[column]) > 0
		}
		if found {
			f.references.Put(r)
		}
	}
}

// hasDerived reports whether some row without our mark has a UUID of the kind that our rows have and other rows rarely do.
func (f *Found) hasDerived() bool {
	const version, name = 14, '5' // the position of a UUID's version, and the version of those made from a name (RFC 9562)
	return slices.ContainsFunc(f.others, func(r *nb.Row) bool { return len(r.UUID) > version && r.UUID[version] == name })
}

// adopt takes the rows without our mark that have one of the UUIDs: only we derive those, so they lost their mark. It
// returns the VIPs of all others, and the names of their rows.
//
// If two owners have written one VIP at the same time, the first by name keeps it: otherwise both would give it up, and
// both would take it again.
func (f *Found) adopt(owner string, uuids map[string]bool) map[vip]string {
	ours := map[vip]bool{}
	for _, r := range f.ours {
		for _, v := range f.vips(r) {
			ours[v] = true
		}
	}
	foreign := map[vip]string{}
	for _, r := range f.others {
		if uuids[r.UUID] {
			f.ours.Put(r)
			continue
		}
		for _, v := range f.vips(r) {
			if ours[v] && r.Owner() > owner {
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
func (f *Found) vips(r *nb.Row) []vip {
	var out []vip
	for key := range r.Maps["vips"] {
		for _, at := range f.addresses(key) {
			out = append(out, vip{protocolNamed(r.Fields["protocol"]), at})
		}
	}
	return out
}

// addresses returns the address and port of a VIP's key, or those that its variables have on some chassis. It returns
// nothing if the key has no port or cannot be parsed.
func (f *Found) addresses(key string) []netip.AddrPort {
	if at, err := netip.ParseAddrPort(key); err == nil {
		return []netip.AddrPort{at}
	}
	i := strings.LastIndexByte(key, ':')
	if !strings.HasPrefix(key, "^") || i < 0 {
		return nil
	}
	var out []netip.AddrPort
	for _, host := range f.expand(key[:i]) {
		for _, port := range f.expand(key[i+1:]) {
			a, err := netip.ParseAddr(strings.Trim(host, "[]"))
			n, err2 := strconv.ParseUint(port, 10, 16)
			if err == nil && err2 == nil {
				out = append(out, netip.AddrPortFrom(a, uint16(n)))
			}
		}
	}
	return out
}

// expand returns a text, or the values of a variable.
func (f *Found) expand(text string) []string {
	if name, ok := strings.CutPrefix(text, "^"); ok {
		return f.values[name]
	}
	return []string{text}
}

// protocolNamed parses Load_Balancer.protocol, which defaults to TCP.
func protocolNamed(name any) intent.Protocol {
	for _, p := range []intent.Protocol{intent.UDP, intent.SCTP} {
		if name == p.String() {
			return p
		}
	}
	return intent.TCP
}
