package ovn

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// changesSince lists the changes to handle. It returns a reason if everything has to be read back instead.
func (b *Backend) changesSince(want *intent.Snapshot, since intent.Revision) ([]intent.Change, backends.ReadBack) {
	m := b.model
	switch {
	case since == 0 || m == nil || m.snapshot.Revision() != since:
		return nil, backends.ReadBackLost
	case len(b.keep) > 0:
		return nil, backends.ReadBackKept
	case m.epoch != b.client.Epoch():
		return nil, backends.ReadBackReconnect
	case (m.unavailable != nil) != isUnavailable(want):
		return nil, backends.ReadBackUnavailable
	case b.ports.names.key != "" && len(b.moved) > 0:
		return nil, backends.ReadBackPorts // the ports' external_ids do not show whose they were
	case m.memberships.renamedAway(b.moved, b.client):
		return nil, backends.ReadBackPorts // which of such ports stay in their groups depends on all of them together: see portKeeper
	}
	changes := want.ChangesFrom(m.snapshot)
	for _, c := range changes {
		if c.Families {
			return nil, backends.ReadBackFamilies
		}
		if slices.ContainsFunc(c.Sets, func(id intent.SetID) bool { return m.refersTo(id) && hasOwnMembers(want.Set(id)) }) {
			return nil, backends.ReadBackLost // the translator never changes the prefixes of a set
		}
	}
	return changes, ""
}

// hasOwnMembers reports whether a set exists and is not composite. Rules with parts name the sets of the parts, so no row refers to a
// composite set.
func hasOwnMembers(set *intent.Set) bool { return set != nil && set.UnionOf == nil }
