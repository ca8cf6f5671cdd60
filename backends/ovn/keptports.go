package ovn

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// defaultMinDeleteGuard is Options.MinDeleteGuard where nothing is given.
const defaultMinDeleteGuard = 20

// keeper keeps logical ports in their groups that a full plan would take out although the pods are still selected: that
// is what other names of logical ports than before look like, and it would open every pod at once.
//
// Where the names of such ports tell which pods they belong to, each is kept for its pod, as if it were found. Where they
// do not, and more than a share of the isolated ports would leave while as many pods have no port, all of them stay where
// they are. Everything else of the plan is carried out.
type keeper struct {
	*Backend
	want *intent.Snapshot
	next *model
	rows nb.Rows // wanted, by UUID; the ports of its groups are changed here
	have nb.Rows
}

// coverAll works out which endpoints have a logical port, and keeps ports that must not leave their groups.
func (b *Backend) coverAll(r *renderer, next *model, rows, have nb.Rows) {
	next.coverage = coverageOf(r.want, b.ports)
	if next.coverage.portless.Len() > 0 {
		k := &keeper{Backend: b, want: r.want, next: next, rows: rows, have: have}
		k.run()
	}
	b.publish(next.coverage.now)
}

func (k *keeper) run() {
	missing := endpointsOf(k.next.coverage.portless)
	leaving := map[string]string{} // by name
	for _, d := range intent.Directions() {
		for _, uuid := range k.leaving(intent.IsolatedSet(d)) {
			if name, ok := k.client.PortName(uuid); ok {
				leaving[name] = uuid
			}
		}
	}
	patterns := guessPatterns(missing, sortedKeys(leaving), func(name string) bool { return leaving[name] != "" })
	hint := k.hint(patterns)
	if k.maxDelete < 1 && len(leaving) > 0 {
		k.keepFor(missing, leaving, patterns)
		k.hold()
	}
	if !k.next.coverage.now.Complete() {
		k.next.coverage.now.Hint = hint
	}
}

func endpointsOf(gaps backends.Gaps) []object.Key {
	out := make([]object.Key, 0, gaps.Len())
	for gap := range gaps.All() {
		out = append(out, gap.Endpoint)
	}
	return out
}

// leaving lists the logical ports that the group of a set would lose, sorted.
func (k *keeper) leaving(id intent.SetID) []string {
	uuid := k.names.UUID(nb.TablePortGroup, string(id))
	want, have := k.rows[uuid], k.have[uuid]
	if want == nil || have == nil {
		return nil // it is made or deleted as a whole
	}
	return nb.Difference(have.Sets["ports"], want.Sets["ports"])
}

// keepFor keeps for missing endpoints the ports that have their names, by patterns.
func (k *keeper) keepFor(missing []object.Key, leaving map[string]string, patterns []guess) {
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
	k.ports.kept, k.ports.keptNames = kept, names
	for subject := range k.next.groups {
		if pg := k.rows[k.names.UUID(nb.TablePortGroup, string(subject))]; pg != nil {
			pg.Sets["ports"] = k.ports.cover(k.want.Set(subject), k.next.wishes)
		}
	}
	k.next.coverage = coverageOf(k.want, k.ports)
}

// hold leaves the ports of unknown pods where they are, if too many would leave while as many pods have none.
func (k *keeper) hold() {
	held := map[string]bool{}
	for _, d := range intent.Directions() {
		id := intent.IsolatedSet(d)
		had := 0
		if pg := k.have[k.names.UUID(nb.TablePortGroup, string(id))]; pg != nil {
			had = len(pg.Sets["ports"])
		}
		leaving := k.leaving(id)
		lost := min(len(leaving), k.missingIn(id))
		if had >= k.minGuard && float64(lost) > k.maxDelete*float64(had) {
			for _, uuid := range leaving {
				held[uuid] = true
			}
		}
	}
	if len(held) == 0 {
		return
	}
	for subject := range k.next.groups {
		if k.missingIn(subject) == 0 {
			continue
		}
		stays := slices.DeleteFunc(k.leaving(subject), func(uuid string) bool { return !held[uuid] })
		if len(stays) > 0 {
			pg := k.rows[k.names.UUID(nb.TablePortGroup, string(subject))]
			pg.Sets["ports"] = append(pg.Sets["ports"], stays...)
			slices.Sort(pg.Sets["ports"])
		}
	}
	k.next.coverage.now.Held = len(held)
}

// missingIn counts the members of a set that have no logical port.
func (k *keeper) missingIn(id intent.SetID) int {
	return k.next.coverage.portless.In(k.want.Set(id)).Len()
}
