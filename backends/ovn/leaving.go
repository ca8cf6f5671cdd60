package ovn

import "github.com/netloom/netloom/pkg/intent"

// isolatedIn counts the endpoints that rows read back isolate, in the direction where they are more. It is zero where
// ports are found by external_ids: how many each endpoint has is not known then.
func (b *Backend) isolatedIn(have map[string]*row) int {
	each := len(b.ports.names.templates)
	if each == 0 {
		return 0
	}
	most := 0
	for _, d := range intent.Directions() {
		if pg := have[b.names.uuid(tablePortGroup, string(intent.IsolatedSet(d)))]; pg != nil {
			most = max(most, len(pg.sets["ports"])/each)
		}
	}
	return most
}

// isolatedBy counts the endpoints that a snapshot isolates, in the direction where they are more.
func isolatedBy(s *intent.Snapshot) int {
	most := 0
	for _, d := range intent.Directions() {
		most = max(most, s.Set(intent.IsolatedSet(d)).Len())
	}
	return most
}

// leaving is how many of the isolated endpoints are no endpoints any more although the database still has them: a
// cluster that lost a policy has all its pods, one that cannot be read seems to have none.
func leaving(isolated int, want *intent.Snapshot) int {
	n, counted := want.Endpoints()
	if !counted {
		return 0
	}
	return max(0, isolated-n)
}
