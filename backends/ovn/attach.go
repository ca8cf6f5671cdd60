package ovn

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// reach says what of a network balances.
type reach uint8

const (
	onBoth reach = iota
	onSwitches
	onRouters
)

// suffix is what the name of a group says of its reach.
func (r reach) suffix() string { return [...]string{"", "-switch", "-router"}[r] }

// place is where load balancers are put.
type place struct {
	network string
	reach   reach
	node    string // on this node's own switch and router alone; "" is on all
}

// needsLinks says whether hosts of a network looks at links between switches and routers.
func (b *balancing) needsLinks(network string) bool {
	return network != "" && !b.switches.names(network)
}

// at narrows hosts to those of a place.
func (b *balancing) at(p place, h hosts) (switches, routers []ovsdb.Datapath) {
	if p.reach != onRouters {
		switches = h.switches
	}
	if p.reach != onSwitches {
		routers = h.routers
	}
	if p.node == "" {
		return switches, routers
	}
	return called(switches, strings.ReplaceAll(b.nodeSwitch, placeNode, p.node)),
		called(routers, strings.ReplaceAll(b.nodeRouter, placeNode, p.node))
}

func called(list []ovsdb.Datapath, name string) []ovsdb.Datapath {
	var out []ovsdb.Datapath
	for _, d := range list {
		if d.Name == name {
			out = append(out, d)
		}
	}
	return out
}

// hairpinOption is Load_Balancer.options:hairpin_snat_ip.
func (b *balancing) hairpinOption() string {
	parts := make([]string, len(b.hairpin))
	for i, a := range b.hairpin {
		parts[i] = a.String()
	}
	return strings.Join(parts, " ")
}

// grouped says whether what is put in a place is in a group there, which switches and routers refer to.
func (r *renderer) grouped(p place) bool {
	return p.node == "" && r.schema.HasColumn(nb.TableLoadBalancerGroup, nb.ColumnLoadBalancer) &&
		r.schema.HasColumn(nb.TableSwitch, nb.ColumnLoadBalancerGroup) && r.schema.HasColumn(nb.TableRouter, nb.ColumnLoadBalancerGroup)
}

// groupName is the name of the group of a place. One that another has taken is left to it.
func (r *renderer) groupName(p place) string {
	name := r.balancing.group + p.reach.suffix()
	if p.network != "" {
		name += "_" + p.network
	}
	if r.taken[name] {
		name = r.names.Symbol(name, name)
	}
	return name
}

// balancerGroup is the row of the group of a place. The table has no external_ids: its UUID, which only we derive from its
// name, says that it is ours.
func (r *renderer) balancerGroup(p place, members []string) *nb.Row {
	name := r.groupName(p)
	return &nb.Row{
		Table: nb.TableLoadBalancerGroup, UUID: r.names.UUID(nb.TableLoadBalancerGroup, name), Name: name,
		Fields: backends.Fields{"name": name}, Sets: map[string][]string{nb.ColumnLoadBalancer: members},
	}
}

// hosts finds what belongs to a network, once.
func (r *renderer) hosts(network string) hosts {
	h, ok := r.known[network]
	if !ok {
		h = r.balancing.hosts(network, r.topology)
		r.known[network] = h
	}
	return h
}

// enforceable says whether sources can be kept away from the frontends of a network.
func (r *renderer) enforceable(network string) bool { return !r.hosts(network).blind }

// attachments are the references to rows of ours that switches and routers ought to have: rows of others, by UUID, with
// nothing in them but these; and the places for which there is none. Members are the load balancers of each place, where
// no group stands for them, and bars the ACLs of each network.
func (r *renderer) attachments(members map[place][]string, bars map[string][]string) (nb.Rows, map[place]bool) {
	out, homeless := nb.Rows{}, map[place]bool{}
	for p, uuids := range members {
		column := nb.ColumnLoadBalancer
		if r.grouped(p) {
			column, uuids = nb.ColumnLoadBalancerGroup, []string{r.balancerGroup(p, nil).UUID}
		}
		switches, routers := r.balancing.at(p, r.hosts(p.network))
		if len(switches)+len(routers) == 0 {
			homeless[p] = true
		}
		refer(out, nb.TableSwitch, switches, column, uuids)
		refer(out, nb.TableRouter, routers, column, uuids)
	}
	for network, uuids := range bars {
		refer(out, nb.TableSwitch, r.hosts(network).doors, nb.ColumnACLs, uuids)
	}
	for _, host := range out {
		for column, uuids := range host.Sets {
			slices.Sort(uuids)
			host.Sets[column] = slices.Compact(uuids)
		}
	}
	return out, homeless
}

// refer adds references to the rows of a list.
func refer(out nb.Rows, table string, list []ovsdb.Datapath, column string, uuids []string) {
	if len(uuids) == 0 {
		return
	}
	for _, d := range list {
		host := out[d.UUID]
		if host == nil {
			host = &nb.Row{Table: table, UUID: d.UUID, Name: d.Name, Sets: map[string][]string{}}
			out[d.UUID] = host
		}
		host.Sets[column] = append(host.Sets[column], uuids...)
	}
}

// diffAttachments lists what makes have into want. Rows of others are neither made nor removed.
func diffAttachments(want, have nb.Rows) []*nb.Op {
	var ops []*nb.Op
	hosts := maps.Clone(have)
	maps.Copy(hosts, want)
	for uuid, host := range hosts {
		columns := map[string]bool{}
		for _, side := range []*nb.Row{want[uuid], have[uuid]} {
			if side != nil {
				for c := range side.Sets {
					columns[c] = true
				}
			}
		}
		for c := range columns {
			wanted, there := want[uuid].Set(c), have[uuid].Set(c)
			add, remove := nb.Difference(wanted, there), nb.Difference(there, wanted)
			if len(add)+len(remove) > 0 {
				ops = append(ops, nb.Mutate(host, c, add, remove))
			}
		}
	}
	slices.SortFunc(ops, func(a, b *nb.Op) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Name, b.Name))
	})
	return ops
}
