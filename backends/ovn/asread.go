package ovn

import (
	"reflect"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// asRead returns the coverage before a plan from read-back is applied: endpoints whose isolating rows are not in the target as they
// are wanted are missing.
func (c *coverage) asRead(names nb.Namer, m *model, rows, have nb.Rows) backends.Coverage {
	var missing []backends.Gap
	for id := range c.governing {
		g := m.groups[id]
		if g == nil {
			continue
		}
		uuid := names.UUID(nb.TablePortGroup, string(id))
		wanted, there := rows[uuid], have[uuid]
		if there == nil || !g.deniesIn(there, have) || !g.namesIn(names, rows, have) {
			missing = append(missing, c.gapsOf(m, id, wanted.Name, nil)...)
		} else if lost := nb.Difference(wanted.Set("ports"), there.Set("ports")); len(lost) > 0 {
			missing = append(missing, c.gapsOf(m, id, wanted.Name, lost)...)
		}
	}
	now := c.now
	now.Missing = now.Missing.With(missing, nil)
	return now
}

// gapsOf lists the governed members of a set that have one of some ports, sorted, or all of them for nil.
func (c *coverage) gapsOf(m *model, id intent.SetID, group string, ports []string) []backends.Gap {
	set := m.snapshot.Set(id)
	if set == nil || set.Members == nil {
		return nil
	}
	among := func(port string) bool { _, ok := slices.BinarySearch(ports, port); return ok }
	var out []backends.Gap
	for e := range set.Members.All() {
		if c.governed[e.Key] != 0 && (ports == nil || slices.ContainsFunc(m.ports.uuids(e.Key), among)) {
			out = append(out, backends.Gap{Endpoint: e.Key, Lacks: "intact port group " + group})
		}
	}
	return out
}

// deniesIn reports whether rows have the ACLs of g that deny, and its port group refers to them.
func (g *group) deniesIn(pg *nb.Row, have nb.Rows) bool {
	for uuid, acl := range g.acls {
		if acl.Fields["action"] == nb.ActionDrop && (!sameEffect(acl, have[uuid]) || !slices.Contains(pg.Set(nb.ColumnACLs), uuid)) {
			return false
		}
	}
	return true
}

// namesIn reports whether rows have all addresses of the sets that ACLs of g name. It does not check which of them deny.
func (g *group) namesIn(names nb.Namer, want, have nb.Rows) bool {
	for ref := range g.peers {
		uuid := names.UUID(nb.TableAddressSet, ref.id())
		if len(nb.Difference(want[uuid].Set("addresses"), have[uuid].Set("addresses"))) > 0 {
			return false
		}
	}
	return true
}

// sameEffect reports whether a row has the effect of the wanted ACL.
func sameEffect(want, have *nb.Row) bool {
	if have == nil {
		return false
	}
	for _, column := range []string{"action", "direction", "priority", "match", "tier", "options"} {
		if value, ok := want.Fields[column]; ok && !reflect.DeepEqual(value, have.Fields[column]) {
			return false
		}
	}
	return true
}

// openedBy lists the endpoints that are not isolated, or not denied what they should be, if some rows are not as the model has them;
// nil rows are all.
func (m *model) openedBy(names nb.Namer, touched map[string]*touched) backends.Gaps {
	var all []backends.Gap
	seen := map[object.Key]bool{}
	for id := range m.coverage.governing {
		g := m.groups[id]
		if g == nil || touched != nil && !g.isAmong(names, touched) {
			continue
		}
		for _, gap := range m.coverage.gapsOf(m, id, names.PortGroup(id), nil) {
			if !seen[gap.Endpoint] {
				seen[gap.Endpoint] = true
				all = append(all, gap)
			}
		}
	}
	return backends.Gaps{}.With(all, nil)
}

// isAmong reports whether rows include the port group of g, one of its ACLs that deny, or an address set that its ACLs name.
func (g *group) isAmong(names nb.Namer, rows map[string]*touched) bool {
	if rows[names.UUID(nb.TablePortGroup, string(g.subject))] != nil {
		return true
	}
	for ref := range g.peers {
		if rows[names.UUID(nb.TableAddressSet, ref.id())] != nil {
			return true
		}
	}
	for uuid := range rows {
		if acl := g.acls[uuid]; acl != nil && acl.Fields["action"] == nb.ActionDrop {
			return true
		}
	}
	return false
}
