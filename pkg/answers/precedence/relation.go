package precedence

import (
	"net/netip"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// analysis is the state of the analysis of one object. Each question about two sets is answered once.
type analysis struct {
	snapshot   *intent.Snapshot
	left       int // of the budget
	incomplete bool
	members    map[subject][]object.Key
	all        map[intent.SetID][]netip.Addr
	known      map[relation]bool
}

func newAnalysis(s *intent.Snapshot, budget int) analysis {
	return analysis{
		snapshot: s, left: budget, members: map[subject][]object.Key{}, all: map[intent.SetID][]netip.Addr{},
		known: map[relation]bool{},
	}
}

// subject is the sets whose common members a rule applies to; "" is every endpoint.
type subject [2]intent.SetID

// relation is a question about two subjects, or the sets of two peers.
type relation struct {
	a, b   subject
	within bool // whether all of b is in a, and not only some
	peers  bool
}

// spend takes some of the budget.
func (a *analysis) spend(n int) {
	if a.left -= n; a.left < 0 {
		a.incomplete = true
	}
}

func subjectOf(r *rule) subject {
	if r.of == nil {
		return subject{r.Subject, ""}
	}
	return subject{r.of.Subject, r.Subject}
}

// subjects lists the endpoints that a rule applies to.
func (a *analysis) subjects(r *rule) []object.Key {
	of := subjectOf(r)
	if keys, known := a.members[of]; known {
		return keys
	}
	keys := []object.Key{}
	if set := a.snapshot.Set(of[0]); set != nil && set.Members != nil {
		for e := range set.Members.All() {
			if a.spend(1); a.incomplete {
				break
			}
			if of[1] == "" || a.snapshot.Set(of[1]).HasKey(e.Key) {
				keys = append(keys, e.Key)
			}
		}
	}
	a.members[of] = keys
	return keys
}

// holdsSubjects reports whether a rule applies to every endpoint that another applies to.
func (a *analysis) holdsSubjects(holder, r *rule) bool {
	return a.compareSubjects(relation{a: subjectOf(holder), b: subjectOf(r), within: true}, r)
}

// sharesSubjects reports whether two rules apply to a common endpoint.
func (a *analysis) sharesSubjects(r, o *rule) bool {
	return a.compareSubjects(relation{a: subjectOf(o), b: subjectOf(r)}, r)
}

func (a *analysis) compareSubjects(q relation, r *rule) bool {
	if q.a == q.b {
		return true
	}
	answer, known := a.known[q]
	if known {
		return answer
	}
	in := func(k object.Key) bool {
		a.spend(1)
		return a.snapshot.Set(q.a[0]).HasKey(k) && (q.a[1] == "" || a.snapshot.Set(q.a[1]).HasKey(k))
	}
	answer = a.compare(q.within, len(a.subjects(r)), func(i int) bool { return in(a.subjects(r)[i]) })
	a.known[q] = answer
	return answer
}

// compare asks about elements until the answer about all, or about any, is known. If the budget is exhausted, it returns that not all are
// in but some are: then nothing is reported as covered.
func (a *analysis) compare(all bool, n int, in func(int) bool) bool {
	for i := range n {
		if a.incomplete {
			return !all
		}
		if in(i) != all {
			return !all
		}
	}
	return all
}

// addrs lists the addresses of the members of a set.
func (a *analysis) addrs(id intent.SetID) []netip.Addr {
	addrs, known := a.all[id]
	if !known {
		if a.incomplete {
			return nil
		}
		set := a.snapshot.Set(id)
		if a.spend(set.Len()); a.incomplete {
			return nil
		}
		addrs = set.Addrs()
		a.all[id] = addrs
	}
	return addrs
}

// holdsPeers reports whether a peer matches all addresses of the members of another one's set.
func (a *analysis) holdsPeers(holder, p intent.Peer) bool { return a.comparePeers(holder, p, true) }

// sharesPeers reports whether a peer matches some address of the members of another one's set.
func (a *analysis) sharesPeers(o, p intent.Peer) bool { return a.comparePeers(o, p, false) }

func (a *analysis) comparePeers(holder, p intent.Peer, all bool) bool {
	switch {
	case holder.Kind == intent.PeerAny || holder == p:
		return true
	case holder.Kind != intent.PeerSet:
		return false
	}
	q := relation{a: subject{holder.Set}, b: subject{p.Set}, within: all, peers: true}
	answer, known := a.known[q]
	if !known {
		addrs, set := a.addrs(p.Set), a.snapshot.Set(holder.Set)
		answer = a.compare(all, len(addrs), func(i int) bool {
			a.spend(1)
			return set.Contains(addrs[i])
		})
		a.known[q] = answer
	}
	return answer
}
