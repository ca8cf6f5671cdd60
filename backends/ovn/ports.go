package ovn

import (
	"slices"

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
		for _, p := range f.client.PortsByExternalID(f.names.key, fill(f.names.value, k)) {
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

// of lists the logical ports of all members of a set, sorted.
func (f portFinder) of(set *intent.Set) []string {
	if set == nil || set.Members == nil {
		return nil
	}
	out := make([]string, 0, set.Len())
	for e := range set.Members.All() {
		out = append(out, f.uuids(e.Key)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wishes says in which groups a logical port belongs once it appears. Only ports found by name are in it.
type wishes map[string]map[intent.SetID]bool

func (w wishes) add(names []string, set intent.SetID) {
	for _, n := range names {
		if w[n] == nil {
			w[n] = map[intent.SetID]bool{}
		}
		w[n][set] = true
	}
}

func (w wishes) remove(names []string, set intent.SetID) {
	for _, n := range names {
		delete(w[n], set)
		if len(w[n]) == 0 {
			delete(w, n)
		}
	}
}

// drop forgets a group altogether.
func (w wishes) drop(set intent.SetID) {
	for n := range w {
		w.remove([]string{n}, set)
	}
}
