package ovn

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// portFinder looks up logical ports in the database.
type portFinder struct {
	client *ovsdb.Client
	names  PortNames
}

// uuids lists the logical ports of an endpoint that exist, sorted.
func (f portFinder) uuids(k intent.Key) []string {
	if f.names.key != "" {
		var out []string
		for _, p := range f.client.PortsByExternalID(f.names.key, f.names.value.fill(k)) {
			out = append(out, p.UUID)
		}
		slices.Sort(out)
		return out
	}
	var out []string
	for _, name := range f.names.Names(k) {
		if uuid, ok := f.client.Port(name); ok {
			out = append(out, uuid)
		}
	}
	slices.Sort(out)
	return out
}

// cover lists the logical ports of all members of a set, sorted, and notes in w the names that members may yet appear
// under.
func (f portFinder) cover(set *intent.Set, w wishes) []string {
	if set == nil || set.Members == nil {
		return nil
	}
	out := make([]string, 0, set.Len())
	for e := range set.Members.All() {
		if f.names.key != "" {
			out = append(out, f.uuids(e.Key)...)
			continue
		}
		for _, t := range f.names.templates {
			name := t.fill(e.Key)
			w.add(name, set.ID)
			if uuid, ok := f.client.Port(name); ok {
				out = append(out, uuid)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// showNames puts names for the UUIDs of ports in what people read of ops.
func (f portFinder) showNames(ops []backends.Op) {
	for i := range ops {
		if ops[i].Kind != tablePortGroup {
			continue
		}
		for _, fields := range []backends.Fields{ops[i].Before, ops[i].After} {
			if uuids, ok := fields["ports"].([]string); ok {
				fields["ports"] = f.namesOf(uuids)
			}
		}
	}
}

// namesOf names ports, sorted. One that is not there any more keeps its UUID.
func (f portFinder) namesOf(uuids []string) []string {
	out := make([]string, len(uuids))
	for i, uuid := range uuids {
		out[i] = uuid
		if name, ok := f.client.PortName(uuid); ok {
			out[i] = name
		}
	}
	slices.Sort(out)
	return out
}

// wishes says in which groups a logical port belongs once it appears. Only ports found by name are in it. A port is in
// few groups.
type wishes map[string][]intent.SetID

func (w wishes) add(name string, set intent.SetID) {
	if !slices.Contains(w[name], set) {
		w[name] = append(w[name], set)
	}
}

func (w wishes) remove(name string, set intent.SetID) {
	left := slices.DeleteFunc(w[name], func(id intent.SetID) bool { return id == set })
	if len(left) == 0 {
		delete(w, name)
		return
	}
	w[name] = left
}

// drop forgets a group altogether.
func (w wishes) drop(set intent.SetID) {
	for name := range w {
		w.remove(name, set)
	}
}
