package lb

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
)

// Rows returns what the database has under some UUIDs, as of the last plan that was applied: rows of ours, and those of switches
// and routers with our references alone. For rows that are gone it adds those that referred to them.
func (m *Model) Rows(uuids, gone map[string]bool) nb.Rows {
	out := nb.Rows{}
	places := map[place]bool{}
	for _, b := range m.renderings {
		for uuid, lb := range nb.Among(b.rows, uuids) {
			out.Put(lb.Row)
			places[lb.at] = places[lb.at] || gone[uuid]
		}
	}
	for at, members := range m.members {
		if !m.grouped(at) {
			continue
		}
		if g := m.group(at, nil); uuids[g.UUID] || places[at] {
			out.Put(m.group(at, slices.Sorted(maps.Keys(members))))
		}
	}
	for chassis, vars := range m.vars {
		if m.chassis[chassis] == "" {
			if row := m.templateVars(chassis, "", maps.Clone(vars)); uuids[row.UUID] {
				out.Put(row)
			}
		}
	}
	for _, acl := range nb.Among(m.acls, uuids) {
		out.Put(acl)
	}
	for uuid, host := range m.references {
		if uuids[uuid] || len(gone) > 0 && refersTo(host, gone) {
			out.Put(host)
		}
	}
	return out
}

func refersTo(host *nb.Row, rows map[string]bool) bool {
	for _, uuids := range host.Sets {
		if slices.ContainsFunc(uuids, func(uuid string) bool { return rows[uuid] }) {
			return true
		}
	}
	return false
}

// Repair separates rows of switches, routers and template variables, in which others may write too, from the rest of want and
// have, and returns the ops that repair our part of them. Want is the result of Rows; have was read.
func (m *Model) Repair(want, have nb.Rows) []*nb.Op {
	hosts, found, vars := nb.Rows{}, &Found{references: nb.Rows{}}, []*nb.Row{}
	var hosted []*nb.Row
	for uuid, row := range want {
		if isHost(row) {
			hosts.Put(row)
			delete(want, uuid)
		}
	}
	for uuid, row := range have {
		switch {
		case isHost(row):
			hosted = append(hosted, row)
			delete(have, uuid)
		case row.Table == nb.TableTemplateVars:
			vars = append(vars, row)
			delete(have, uuid)
		}
	}
	have.Put(slices.Collect(maps.Values(m.Find(vars).ours))...)
	found.keepReferences(hosted, m.Owns)
	maps.DeleteFunc(hosts, func(uuid string, _ *nb.Row) bool { // the row was deleted with its references
		return !slices.ContainsFunc(hosted, func(h *nb.Row) bool { return h.UUID == uuid })
	})
	return diffReferences(hosts, found.references)
}

func isHost(r *nb.Row) bool { return r.Table == nb.TableSwitch || r.Table == nb.TableRouter }
