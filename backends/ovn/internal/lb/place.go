package lb

import (
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// reach is where in a network a load balancer works.
type reach uint8

const (
	onBoth reach = iota
	onSwitches
	onRouters
)

// suffix returns the part of a group's name for its reach.
func (r reach) suffix() string { return [...]string{"", "-switch", "-router"}[r] }

// place is where load balancers are put.
type place struct {
	network string
	reach   reach
	node    string // only on this node's own switch and router; "" is on all
}

// at narrows the switches and routers of a network to those of a place.
func (s *Settings) at(p place, h hosts) (switches, routers []ovsdb.Datapath) {
	if p.reach != onRouters {
		switches = h.switches
	}
	if p.reach != onSwitches {
		routers = h.routers
	}
	if p.node == "" {
		return switches, routers
	}
	return named(switches, strings.ReplaceAll(s.NodeSwitch, NodePlaceholder, p.node)),
		named(routers, strings.ReplaceAll(s.NodeRouter, NodePlaceholder, p.node))
}

func named(list []ovsdb.Datapath, name string) []ovsdb.Datapath {
	var out []ovsdb.Datapath
	for _, d := range list {
		if d.Name == name {
			out = append(out, d)
		}
	}
	return out
}

// groups are the Load_Balancer_Groups of a database.
type groups struct {
	*Target
	taken map[string]bool // names of the groups of others
}

// grouped reports whether load balancers in a place are in a group, which switches and routers refer to.
func (g groups) grouped(p place) bool {
	return p.node == "" && g.Schema.HasColumn(nb.TableLoadBalancerGroup, nb.ColumnLoadBalancer) &&
		g.Schema.HasColumn(nb.TableSwitch, nb.ColumnLoadBalancerGroup) && g.Schema.HasColumn(nb.TableRouter, nb.ColumnLoadBalancerGroup)
}

// groupName returns the name of the group of a place. A name that another owner has taken is not used.
func (g groups) groupName(p place) string {
	name := g.Settings.Group + p.reach.suffix()
	if p.network != "" {
		name += "_" + p.network
	}
	if g.taken[name] {
		name = g.Names.Symbol(name, name)
	}
	return name
}

// group returns the row of the group of a place. The table has no external_ids: the row is recognized by its UUID, which only
// we derive from its name.
func (g groups) group(p place, members []string) *nb.Row {
	name := g.groupName(p)
	return &nb.Row{
		Table: nb.TableLoadBalancerGroup, UUID: g.Names.UUID(nb.TableLoadBalancerGroup, name), Name: name,
		Fields: backends.Fields{"name": name}, Sets: map[string][]string{nb.ColumnLoadBalancer: members},
	}
}
