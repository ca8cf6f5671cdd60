package ovn

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// portMoves are the logical ports that a plan has to look at, by group and UUID: true for those that belong in the group.
type portMoves map[intent.SetID]map[string]bool

func (m portMoves) put(id intent.SetID, uuid string, belongs bool) {
	if m[id] == nil {
		m[id] = map[string]bool{}
	}
	m[id][uuid] = m[id][uuid] || belongs
}

// split lists what to add to a group and what to remove from it.
func (m portMoves) split(id intent.SetID) (add, remove []string) {
	for uuid, belongs := range m[id] {
		if belongs {
			add = append(add, uuid)
		} else {
			remove = append(remove, uuid)
		}
	}
	return add, remove
}

// wish is one entry of wishes.
type wish struct {
	name string
	set  intent.SetID
}

// movedPorts lists, for the groups that stood before and still stand, the ports of endpoints that joined or left and those
// whose name is new, gone or another port's. Whether one belongs in a group depends on the name that it has now and on
// the members that the set has now, whatever happened in between. A deleted port has left its groups by itself: they
// refer to it weakly.
func (p *planner) movedPorts() portMoves {
	moves, edits := portMoves{}, p.wishEdits()
	for id, d := range p.deltas {
		if p.ports.names.key == "" || !p.stands(id) {
			continue
		}
		for k, joined := range d.keys {
			for _, uuid := range p.ports.uuids(k) {
				moves.put(id, uuid, joined)
			}
		}
	}
	for w := range edits {
		p.look(moves, edits, w)
	}
	for name := range p.moved {
		for _, id := range p.m.wishes[name] {
			if p.stands(id) {
				p.look(moves, edits, wish{name, id})
			}
		}
	}
	return moves
}

// wishEdits are the names that this plan adds to the wishes of a group, true, and removes from them, false. There are none
// where ports are found by external_ids.
func (p *planner) wishEdits() map[wish]bool {
	edits := map[wish]bool{}
	for id, d := range p.deltas {
		if !p.stands(id) {
			continue
		}
		for k, joined := range d.keys {
			for _, name := range p.ports.names.Names(k) {
				edits[wish{name, id}] = joined
			}
		}
	}
	return edits
}

// look takes down the port that has a name now, and those that had it and took another, for one group.
func (p *planner) look(moves portMoves, edits map[wish]bool, w wish) {
	uuids := p.moved[w.name]
	if uuid, ok := p.client.Port(w.name); ok {
		uuids = append(slices.Clip(uuids), uuid)
	}
	for _, uuid := range uuids {
		name, ok := p.client.PortName(uuid)
		if !ok {
			continue
		}
		belongs, edited := edits[wish{name, w.set}]
		if !edited {
			belongs = slices.Contains(p.m.wishes[name], w.set)
		}
		moves.put(w.set, uuid, belongs)
	}
}
