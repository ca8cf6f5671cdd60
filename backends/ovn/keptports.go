package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// defaultMinDeleteGuard is the default of Options.MinDeleteGuard.
const defaultMinDeleteGuard = 20

// portGuard limits how many logical ports may leave the isolated groups at once, see Options.
type portGuard struct {
	maxFraction float64
	minPorts    int
}

// portKeeper keeps logical ports in their groups that a full plan would remove although the pods are still selected: this
// happens when logical ports are renamed, and it would leave all pods unprotected at once.
//
// If the names of such ports show which pods they belong to, each is kept for its pod, as if it were found. If they do
// not, and more than a share of the isolated ports would leave while as many pods have no port, all of them stay where
// they are. The rest of the plan is applied.
type portKeeper struct {
	guard portGuard
	names nb.Namer
	want  *intent.Snapshot
	next  *model
	rows  nb.Rows // wanted; the ports of its groups are changed here
	have  nb.Rows
}

// run determines which endpoints have a logical port, and keeps ports that must not leave their groups.
func (k *portKeeper) run() {
	k.next.coverage = coverageOf(k.want, k.next.ports)
	if k.next.coverage.portless.Len() == 0 {
		return
	}
	missing := endpointsOf(k.next.coverage.portless)
	leaving := map[string]string{} // by name
	for _, d := range intent.Directions() {
		for _, uuid := range k.leaving(intent.IsolatedSet(d)) {
			if name, ok := k.next.ports.client.PortName(uuid); ok {
				leaving[name] = uuid
			}
		}
	}
	patterns := guessPatterns(missing, slices.Sorted(maps.Keys(leaving)), func(name string) bool { return leaving[name] != "" })
	hint := hintOf(k.next.ports, k.next.coverage.now, patterns)
	if k.guard.maxFraction < 1 && len(leaving) > 0 {
		k.keepFor(missing, leaving, patterns)
		k.keepUnknown()
	}
	if !k.next.coverage.now.Complete() {
		k.next.coverage.now.Hint = hint
	}
}

// group returns the port group of a set, nil if it has none.
func (k *portKeeper) group(rows nb.Rows, id intent.SetID) *nb.Row {
	return rows[k.names.UUID(nb.TablePortGroup, string(id))]
}

// leaving lists the logical ports that the group of a set would lose, sorted.
func (k *portKeeper) leaving(id intent.SetID) []string {
	want, have := k.group(k.rows, id), k.group(k.have, id)
	if want == nil || have == nil {
		return nil // it is created or deleted as a whole
	}
	return nb.Difference(have.Sets["ports"], want.Sets["ports"])
}

// keepFor keeps for missing endpoints the ports whose names match them by the patterns.
func (k *portKeeper) keepFor(missing []object.Key, leaving map[string]string, patterns []guess) {
	kept, names := map[object.Key][]string{}, map[string]object.Key{}
	for _, e := range missing {
		for _, p := range patterns {
			name := p.template.fill(e)
			if uuid := leaving[name]; uuid != "" && !slices.Contains(kept[e], uuid) {
				kept[e], names[name] = append(kept[e], uuid), e
			}
		}
		slices.Sort(kept[e])
		if len(kept[e]) == 0 {
			delete(kept, e)
		}
	}
	if len(kept) == 0 {
		return
	}
	k.next.ports.kept, k.next.ports.keptNames = kept, names
	for subject := range k.next.groups {
		if pg := k.group(k.rows, subject); pg != nil {
			pg.Sets["ports"] = k.next.ports.cover(k.want.Set(subject), k.next.memberships)
		}
	}
	k.next.coverage = coverageOf(k.want, k.next.ports)
}

// keepUnknown leaves the ports of unknown pods where they are, if too many would leave while as many pods have none.
func (k *portKeeper) keepUnknown() {
	kept := map[string]bool{}
	for _, d := range intent.Directions() {
		id := intent.IsolatedSet(d)
		had, leaving := len(k.group(k.have, id).Set("ports")), k.leaving(id)
		lost := min(len(leaving), k.missingIn(id))
		if had >= k.guard.minPorts && float64(lost) > k.guard.maxFraction*float64(had) {
			for _, uuid := range leaving {
				kept[uuid] = true
			}
		}
	}
	if len(kept) == 0 {
		return
	}
	for subject := range k.next.groups {
		if k.missingIn(subject) == 0 {
			continue
		}
		stays := slices.DeleteFunc(k.leaving(subject), func(uuid string) bool { return !kept[uuid] })
		if len(stays) > 0 {
			pg := k.group(k.rows, subject)
			pg.Sets["ports"] = slices.Concat(pg.Sets["ports"], stays)
			slices.Sort(pg.Sets["ports"])
		}
	}
	k.next.coverage.now.Held = len(kept)
}

// missingIn counts the members of a set that have no logical port.
func (k *portKeeper) missingIn(id intent.SetID) int {
	return k.next.coverage.portless.In(k.want.Set(id)).Len()
}
