package ovn

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// portEdits holds the endpoints that joined and left the port groups that existed before and stay, and the resulting
// edits of memberships.
type portEdits struct {
	m           *model
	keys        map[intent.SetID]map[object.Key]bool // true joined, false left
	memberships map[membership]membershipEdit
	stays       func(intent.SetID) bool // whether a port group existed before and stays
}

// membership is one entry of memberships.
type membership struct {
	name string
	set  intent.SetID
}

// membershipEdit is what a plan does to a membership.
type membershipEdit struct {
	endpoint object.Key
	joined   bool // it is added; otherwise removed
}

// add records the endpoints that join and leave a group. Ports found by external_ids have no memberships.
func (e *portEdits) add(id intent.SetID, keys map[object.Key]bool) {
	e.keys[id] = keys
	for k, joined := range keys {
		for _, name := range e.m.ports.names.Names(k) {
			e.memberships[membership{name, id}] = membershipEdit{k, joined}
		}
	}
}

// moves lists the ports of endpoints that joined or left and those whose name is new, gone or taken by another port.
// Whether one belongs in a group depends on the name that it has now and on the members that the set has now, whatever
// happened in between. A deleted port has left its groups by itself, since their references are weak.
func (e *portEdits) moves(moved map[string][]string) portMoves {
	moves := portMoves{}
	for id, keys := range e.keys {
		for k, joined := range keys {
			for _, uuid := range e.m.ports.unnamed(k, joined) {
				moves.put(id, uuid, joined)
			}
		}
	}
	for w := range e.memberships {
		e.look(moves, w, moved)
	}
	for name := range moved {
		for _, id := range e.m.memberships[name].sets {
			if e.stays(id) {
				e.look(moves, membership{name, id}, moved)
			}
		}
	}
	return moves
}

// look finds the port that has a name now, and those that had it and were renamed, for one group.
func (e *portEdits) look(moves portMoves, w membership, moved map[string][]string) {
	uuids := moved[w.name]
	if uuid, ok := e.m.ports.client.Port(w.name); ok {
		uuids = append(slices.Clip(uuids), uuid)
	}
	for _, uuid := range uuids {
		name, ok := e.m.ports.client.PortName(uuid)
		if !ok {
			continue
		}
		edit, edited := e.memberships[membership{name, w.set}]
		belongs := edit.joined
		if !edited {
			belongs = slices.Contains(e.m.memberships[name].sets, w.set)
		}
		moves.put(w.set, uuid, belongs)
	}
}

// portMoves are the logical ports that a plan has to check, by group and UUID: true for those that belong in the group.
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

// movedEndpoints returns the endpoints whose logical ports appeared, disappeared or changed.
func (m *model) movedEndpoints(moved map[string][]string) []object.Key {
	var out []object.Key
	for name := range moved {
		if w, ok := m.memberships[name]; ok {
			out = append(out, w.endpoint)
		}
		if k, ok := m.ports.keptNames[name]; ok {
			out = append(out, k)
		}
	}
	return out
}
