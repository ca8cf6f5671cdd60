package lb

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// attach computes what switches and routers have to refer to.
func (r *renderer) attach(d *delta) attachments {
	out := attachments{references: nb.Rows{}, acls: nb.Rows{}, unattached: map[place]bool{}, version: r.topology.Version}
	for at := range d.places() {
		if d.size(at) == 0 {
			continue
		}
		column, uuids := nb.ColumnLoadBalancerGroup, []string{d.m.group(at, nil).UUID}
		if !d.m.grouped(at) {
			column, uuids = nb.ColumnLoadBalancer, d.after(at)
		}
		switches, routers := r.Settings.at(at, r.hosts(at.network))
		if len(switches)+len(routers) == 0 {
			out.unattached[at] = true
		}
		refer(out.references, nb.TableSwitch, switches, column, uuids)
		refer(out.references, nb.TableRouter, routers, column, uuids)
	}
	byNetwork, acls := d.acls()
	for network, uuids := range byNetwork {
		refer(out.references, nb.TableSwitch, r.hosts(network).entries, nb.ColumnACLs, uuids)
	}
	for _, host := range out.references {
		for column, uuids := range host.Sets {
			slices.Sort(uuids)
			host.Sets[column] = slices.Compact(uuids)
		}
		for _, uuid := range host.Sets[nb.ColumnACLs] {
			out.acls[uuid] = acls[uuid] // the database removes ACLs that nothing refers to
		}
	}
	return out
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

// diffReferences lists the ops that turn have into want. Rows of others are neither created nor removed.
func diffReferences(want, have nb.Rows) []*nb.Op {
	var ops []*nb.Op
	hosts := maps.Clone(have)
	maps.Copy(hosts, want)
	for uuid, host := range hosts {
		for _, c := range []string{nb.ColumnACLs, nb.ColumnLoadBalancer, nb.ColumnLoadBalancerGroup} {
			wanted, there := want[uuid].Set(c), have[uuid].Set(c)
			add, remove := nb.Difference(wanted, there), nb.Difference(there, wanted)
			if len(add)+len(remove) > 0 {
				ops = append(ops, nb.Mutate(host, c, add, remove))
			}
		}
	}
	return ops
}
