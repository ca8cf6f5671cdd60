package ovn

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
)

// show returns ops for display. Names are those of rows that load balancer groups, switches and routers refer to, by UUID.
func show(ops []*nb.Op, ports portFinder, names map[string]string) []backends.Op {
	name := func(table, column, uuid string) string {
		switch table {
		case nb.TablePortGroup:
			if column == "ports" {
				return ports.nameOf(uuid)
			}
		case nb.TableLoadBalancerGroup, nb.TableSwitch, nb.TableRouter:
			if known := names[uuid]; known != "" {
				return known
			}
		}
		return uuid
	}
	out := make([]backends.Op, len(ops))
	for i, o := range ops {
		out[i] = o.Show(name)
	}
	return out
}
