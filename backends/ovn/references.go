package ovn

import (
	"slices"

	"github.com/netloom/netloom/backends"
)

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

// showReferences puts names for the UUIDs in references to load balancers in what people read of ops.
func showReferences(ops []backends.Op, names map[string]string) {
	for i := range ops {
		switch ops[i].Kind {
		case tableBalancers, tableSwitch, tableRouter:
		default:
			continue
		}
		for _, fields := range []backends.Fields{ops[i].Before, ops[i].After} {
			for column, value := range fields {
				if uuids, ok := value.([]string); ok {
					fields[column] = named(uuids, names)
				}
			}
		}
	}
}

// named puts names for UUIDs that have one, and sorts.
func named(uuids []string, names map[string]string) []string {
	out := make([]string, len(uuids))
	for i, uuid := range uuids {
		out[i] = uuid
		if name := names[uuid]; name != "" {
			out[i] = name
		}
	}
	slices.Sort(out)
	return out
}
