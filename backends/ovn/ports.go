package ovn

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// portFinder looks up logical ports in the database.
type portFinder struct {
	client *ovsdb.Client
	names  PortNames
	// kept are the UUIDs of logical ports that endpoints had when other names were looked up, and keptNames their owners.
	// Both are nil if there are none, see portKeeper.
	kept      map[object.Key][]string
	keptNames map[string]object.Key
}

// uuids lists the logical ports of an endpoint that exist, sorted: those of its names, else those that are kept for it.
func (f portFinder) uuids(k object.Key) []string { return f.uuidsOf(k, f.names.Names(k)) }

// uuidsOf is uuids for an endpoint with these names.
func (f portFinder) uuidsOf(k object.Key, names []string) []string {
	out := f.namedAs(k, names)
	if len(out) == 0 {
		out = f.keptFor(k)
	}
	return out
}

// named lists the logical ports of an endpoint that have the expected names, sorted.
func (f portFinder) named(k object.Key) []string { return f.namedAs(k, f.names.Names(k)) }

// namedAs is named for an endpoint with these names.
func (f portFinder) namedAs(k object.Key, names []string) []string {
	var out []string
	if f.names.key != "" {
		for _, p := range f.client.PortsByExternalID(f.names.key, f.names.value.fill(k)) {
			out = append(out, p.UUID)
		}
		slices.Sort(out)
		return out
	}
	for _, name := range names {
		if uuid, ok := f.client.Port(name); ok {
			out = append(out, uuid)
		}
	}
	slices.Sort(out)
	return out
}

// keptFor lists the logical ports that are kept for an endpoint and still exist, sorted.
func (f portFinder) keptFor(k object.Key) []string {
	var out []string
	for _, uuid := range f.kept[k] {
		if _, ok := f.client.PortName(uuid); ok {
			out = append(out, uuid)
		}
	}
	return out
}

// has reports whether an endpoint has a logical port.
func (f portFinder) has(k object.Key) bool { return len(f.uuids(k)) > 0 }

// onlyKept reports whether the only logical ports of an endpoint are those that are kept for it.
func (f portFinder) onlyKept(k object.Key) bool { return len(f.keptFor(k)) > 0 && len(f.named(k)) == 0 }

// cover lists the logical ports of all members of a set, sorted, and records in w the names under which the ports of
// members may appear later.
func (f portFinder) cover(set *intent.Set, w memberships) []string {
	if set == nil || set.Members == nil {
		return nil
	}
	out := make([]string, 0, set.Len())
	for e := range set.Members.All() {
		names := f.names.Names(e.Key)
		for _, name := range names {
			w.add(name, e.Key, set.ID)
		}
		out = append(out, f.uuidsOf(e.Key, names)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// gap describes what an endpoint lacks in the database; false if it has a logical port.
func (f portFinder) gap(k object.Key) (backends.Gap, bool) {
	if f.has(k) {
		return backends.Gap{}, false
	}
	return backends.Gap{Endpoint: k, Lacks: "logical port " + f.expected(k)}, true
}

// expected describes the logical port that is looked up for an endpoint.
func (f portFinder) expected(k object.Key) string {
	if f.names.key != "" {
		return "with external_ids:" + f.names.key + "=" + f.names.value.fill(k)
	}
	return strings.Join(f.names.Names(k), " or ")
}

// unnamed lists the ports of an endpoint that joined or left a group and that are not found by its names: those found by
// external_ids, and those that are kept for it while it has no other.
func (f portFinder) unnamed(k object.Key, joined bool) []string {
	found, kept := f.named(k), f.keptFor(k)
	if joined && len(found) > 0 {
		kept = nil
	}
	if f.names.key == "" {
		return kept
	}
	return append(found, kept...)
}

// nameOf returns the name of the port with a UUID, or the UUID if there is no such port.
func (f portFinder) nameOf(uuid string) string {
	if name, ok := f.client.PortName(uuid); ok {
		return name
	}
	return uuid
}

// memberships maps names of logical ports to the groups in which the ports belong once they exist. It only has ports found
// by name. A port is in few groups.
type memberships map[string]wanted

// wanted is where a logical port belongs.
type wanted struct {
	endpoint object.Key
	sets     []intent.SetID
}

func (w memberships) add(name string, endpoint object.Key, set intent.SetID) {
	if sets := w[name].sets; !slices.Contains(sets, set) {
		w[name] = wanted{endpoint, append(sets, set)}
	}
}

func (w memberships) remove(name string, set intent.SetID) {
	left := slices.DeleteFunc(w[name].sets, func(id intent.SetID) bool { return id == set })
	if len(left) == 0 {
		delete(w, name)
		return
	}
	w[name] = wanted{w[name].endpoint, left}
}

// drop removes the group of a set, which is as cover or the last edits left it.
func (w memberships) drop(set *intent.Set, names PortNames) {
	if set == nil || set.Members == nil {
		return
	}
	for e := range set.Members.All() {
		for _, name := range names.Names(e.Key) {
			w.remove(name, set.ID)
		}
	}
}

// renamedAway reports whether several ports were renamed and left wanted names unused. A single one may have been given
// to something else; several suggest a different naming pattern.
func (w memberships) renamedAway(moved map[string][]string, client *ovsdb.Client) bool {
	lost := 0
	for name, left := range moved {
		if _, there := client.Port(name); len(left) > 0 && !there && len(w[name].sets) > 0 {
			lost++
		}
	}
	return lost > 1
}
