package ovn

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
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
		if !p.stands(id) {
			continue
		}
		for k, joined := range d.keys {
			for _, uuid := range p.unnamedPorts(k, joined) {
				moves.put(id, uuid, joined)
			}
		}
	}
	for w := range edits {
		p.look(moves, edits, w)
	}
	for name := range p.moved {
		for _, id := range p.m.wishes[name].sets {
			if p.stands(id) {
				p.look(moves, edits, wish{name, id})
			}
		}
	}
	return moves
}

// unnamedPorts lists the ports of an endpoint that joined or left a group and that are not found by its names: those found
// by external_ids, and those that are kept for it while it has no other.
func (p *planner) unnamedPorts(k object.Key, joined bool) []string {
	named, kept := p.ports.named(k), p.ports.keptFor(k)
	if joined && len(named) > 0 {
		kept = nil
	}
	if p.ports.names.key == "" {
		return kept
	}
	return append(named, kept...)
}

// movedEndpoints are the endpoints whose logical ports came, went or changed.
func (p *planner) movedEndpoints() []object.Key {
	var out []object.Key
	for name := range p.moved {
		if w, ok := p.m.wishes[name]; ok {
			out = append(out, w.endpoint)
		}
		if k, ok := p.ports.keptNames[name]; ok {
			out = append(out, k)
		}
	}
	return out
}

// wishEdit is what a plan does to a wish.
type wishEdit struct {
	endpoint object.Key
	joined   bool // it is added; otherwise removed
}

// wishEdits are the names that this plan adds to the wishes of a group and removes from them. There are none where ports
// are found by external_ids.
func (p *planner) wishEdits() map[wish]wishEdit {
	edits := map[wish]wishEdit{}
	for id, d := range p.deltas {
		if !p.stands(id) {
			continue
		}
		for k, joined := range d.keys {
			for _, name := range p.ports.names.Names(k) {
				edits[wish{name, id}] = wishEdit{k, joined}
			}
		}
	}
	return edits
}

// look takes down the port that has a name now, and those that had it and took another, for one group.
func (p *planner) look(moves portMoves, edits map[wish]wishEdit, w wish) {
	uuids := p.moved[w.name]
	if uuid, ok := p.client.Port(w.name); ok {
		uuids = append(slices.Clip(uuids), uuid)
	}
	for _, uuid := range uuids {
		name, ok := p.client.PortName(uuid)
		if !ok {
			continue
		}
		edit, edited := edits[wish{name, w.set}]
		belongs := edit.joined
		if !edited {
			belongs = slices.Contains(p.m.wishes[name].sets, w.set)
		}
		moves.put(w.set, uuid, belongs)
	}
}
