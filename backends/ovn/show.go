package ovn

import "github.com/netloom/netloom/backends"

// names are what people call the rows that others refer to, by UUID.
func names(lists ...map[string]*row) map[string]string {
	out := map[string]string{}
	for _, rows := range lists {
		for uuid, r := range rows {
			out[uuid] = r.name
		}
	}
	return out
}

// show is ops for people. Names are those of rows that load balancer groups, switches and routers refer to, by UUID.
func (b *Backend) show(ops []*op, names map[string]string) []backends.Op {
	name := func(table, column, uuid string) string {
		switch table {
		case tablePortGroup:
			if column == "ports" {
				return b.ports.nameOf(uuid)
			}
		case tableBalancers, tableSwitch, tableRouter:
			if known := names[uuid]; known != "" {
				return known
			}
		}
		return uuid
	}
	out := make([]backends.Op, len(ops))
	for i, o := range ops {
		out[i] = o.show(name)
	}
	return out
}
