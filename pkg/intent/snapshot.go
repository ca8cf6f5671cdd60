package intent

import (
	"iter"
	"net/netip"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// Snapshot is the whole desired state at one revision. It is immutable and safe for concurrent use.
type Snapshot struct {
	revision  Revision
	families  Families
	sets      *iradix.Tree[*Set]
	policies  *iradix.Tree[*Policy]
	ranked    *iradix.Tree[*Policy] // those that are not of TierNetworkPolicy, by Policy.rank
	balancers balancers
	nodes     *iradix.Tree[*Node]
	devices   deviceTable
	unknown   Areas
	ahead     []Ahead
	log       []Change // the changes of the last len(log) revisions, oldest first
	weight    int      // of the log
}

// NewSnapshot returns the empty snapshot, of revision zero: nothing is isolated.
func NewSnapshot() *Snapshot {
	return &Snapshot{
		sets: iradix.New[*Set](), policies: iradix.New[*Policy](), ranked: iradix.New[*Policy](), balancers: newBalancers(),
		nodes: iradix.New[*Node](), devices: newDevices(),
	}
}

// Revision numbers s.
func (s *Snapshot) Revision() Revision { return s.revision }

// Families returns the address families that endpoints of the cluster have. A backend may leave out anything that only affects endpoints of
// a family that no endpoint has; this does not apply to prefixes.
func (s *Snapshot) Families() Families { return s.families }

// Set finds a set, nil if there is none with that ID.
func (s *Snapshot) Set(id SetID) *Set {
	v, _ := s.sets.Get([]byte(id))
	return s.resolved(v)
}

// Policy finds a policy, nil if there is none with that ID.
func (s *Snapshot) Policy(id PolicyID) *Policy {
	v, _ := s.policies.Get([]byte(id))
	return v
}

// Node finds a node, nil if there is none with that name.
func (s *Snapshot) Node(name string) *Node {
	v, _ := s.nodes.Get([]byte(name))
	return v
}

// Nodes yields every node, ordered by name.
func (s *Snapshot) Nodes() iter.Seq[*Node] { return values(s.nodes) }

// Sets yields every set, ordered by ID.
func (s *Snapshot) Sets() iter.Seq[*Set] {
	return func(yield func(*Set) bool) {
		s.sets.Root().Walk(func(_ []byte, set *Set) bool { return !yield(s.resolved(set)) })
	}
}

// Policies yields every policy, ordered by ID.
func (s *Snapshot) Policies() iter.Seq[*Policy] { return values(s.policies) }

// Ranked yields the policies of a tier in order of precedence, see Policy.Compare. It yields none of TierNetworkPolicy, which
// has no such order.
func (s *Snapshot) Ranked(t Tier) iter.Seq[*Policy] {
	return func(yield func(*Policy) bool) {
		s.ranked.Root().WalkPrefix([]byte{byte(t)}, func(_ []byte, p *Policy) bool { return !yield(p) })
	}
}

// Tiered reports whether some policy is of TierAdmin or TierBaseline.
func (s *Snapshot) Tiered() bool {
	for _, t := range []Tier{TierAdmin, TierBaseline} {
		for range s.Ranked(t) {
			return true
		}
	}
	return false
}

func values[T any](t *iradix.Tree[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		t.Root().Walk(func(_ []byte, v T) bool { return !yield(v) })
	}
}

// Since lists the changes after revision r, oldest first. It returns false if s does not remember that far back, or r
// is not in its past: see ChangesFrom.
func (s *Snapshot) Since(r Revision) ([]Change, bool) {
	if r == 0 || r > s.revision || s.revision-r > Revision(len(s.log)) {
		return nil, false
	}
	return s.log[len(s.log)-int(s.revision-r):], true //nolint:gosec // at most the length of the log, as just seen
}

// A snapshot remembers at least this many changes, once that many were made, unless their total weight is more than
// maxWeight. The changes since a snapshot that is further behind are found by comparing: see ChangesFrom.
const (
	remembered = 1024
	maxWeight  = 100_000
)

// Builder makes the successor of a snapshot. It is not safe for concurrent use, and a snapshot has one successor.
type Builder struct {
	from      *Snapshot
	families  Families
	sets      *iradix.Txn[*Set]
	policies  *iradix.Txn[*Policy]
	ranked    *iradix.Txn[*Policy]
	balancers *balancersTxn
	nodes     *iradix.Txn[*Node]
	devices   *devicesTxn
	unknown   Areas
	ahead     []Ahead
	change    Change
	variant   bool // what is made has no history
}

// Next starts the successor of s.
func (s *Snapshot) Next() *Builder {
	return &Builder{
		from: s, families: s.families, sets: s.sets.Txn(), policies: s.policies.Txn(), ranked: s.ranked.Txn(),
		balancers: s.balancers.txn(), nodes: s.nodes.Txn(), devices: s.devices.txn(), unknown: s.unknown, ahead: s.ahead,
	}
}

// Variant starts a snapshot for what-if questions about s. Unlike Next, it may be called any number of times and
// while another goroutine makes the successor of s: the result has no history, and must not be written to a target.
func (s *Snapshot) Variant() *Builder {
	b := s.Next()
	b.variant = true
	return b
}

// SetFamilies sets the address families that endpoints have.
func (b *Builder) SetFamilies(f Families) {
	b.families = f
	b.change.Families = f != b.from.families
}

// CreateSet adds a set, or replaces one by a composite set, or the other way around.
func (b *Builder) CreateSet(set *Set) {
	b.sets.Insert([]byte(set.ID), set.stored())
	b.change.Sets = append(b.change.Sets, set.ID)
}

// DropSet removes a set, if it is there.
func (b *Builder) DropSet(id SetID) {
	if _, ok := b.sets.Delete([]byte(id)); ok {
		b.change.Sets = append(b.change.Sets, id)
	}
}

// UpdateMembers replaces the members of the set with delta's ID and records the change. It panics if there is no such
// set, or it is composite: callers create a set before changing it.
func (b *Builder) UpdateMembers(m Members, delta SetDelta) {
	old, ok := b.sets.Get([]byte(delta.ID))
	if !ok {
		panic("intent: members of unknown set " + string(delta.ID))
	}
	if old.UnionOf != nil {
		panic("intent: a composite set has no members of its own: " + string(delta.ID))
	}
	set := *old
	set.Members = m
	b.sets.Insert([]byte(delta.ID), &set)
	b.change.Members = append(b.change.Members, delta)
}

// UpdatePrefixes replaces the prefixes of a set and records the change. It panics if there is no such set.
func (b *Builder) UpdatePrefixes(id SetID, prefixes []netip.Prefix) {
	old, ok := b.sets.Get([]byte(id))
	if !ok {
		panic("intent: prefixes of unknown set " + string(id))
	}
	delta := SetDelta{ID: id}
	delta.setPrefixes(old.Prefixes, prefixes)
	if delta.weight() == 0 {
		return
	}
	set := *old
	set.Prefixes = prefixes
	b.sets.Insert([]byte(id), &set)
	b.change.Members = append(b.change.Members, delta)
}

// PutPolicy adds a policy or rewrites the one of the same ID.
func (b *Builder) PutPolicy(p *Policy) {
	if old, had := b.policies.Insert([]byte(p.ID), p); had {
		b.unrank(old)
	}
	if p.Tier != TierNetworkPolicy {
		b.ranked.Insert(p.rank(), p)
	}
	b.change.Policies = append(b.change.Policies, p.ID)
}

// DropPolicy removes a policy, if it is there.
func (b *Builder) DropPolicy(id PolicyID) {
	if old, had := b.policies.Delete([]byte(id)); had {
		b.unrank(old)
		b.change.Policies = append(b.change.Policies, id)
	}
}

func (b *Builder) unrank(p *Policy) {
	if p.Tier != TierNetworkPolicy {
		b.ranked.Delete(p.rank())
	}
}

// PutNode adds a node or rewrites the one of the same name.
func (b *Builder) PutNode(n *Node) {
	b.nodes.Insert([]byte(n.Name), n)
	b.change.Nodes = append(b.change.Nodes, n.Name)
}

// DropNode removes a node, if it is there.
func (b *Builder) DropNode(name string) {
	if _, ok := b.nodes.Delete([]byte(name)); ok {
		b.change.Nodes = append(b.change.Nodes, name)
	}
}

// Commit ends the builder. If nothing changed, it returns the snapshot it started from, with the same revision.
func (b *Builder) Commit() *Snapshot {
	c := b.change
	if c.empty() {
		return b.from
	}
	next := &Snapshot{
		revision:  b.from.revision + 1,
		families:  b.families,
		sets:      b.sets.Commit(),
		policies:  b.policies.Commit(),
		ranked:    b.ranked.Commit(),
		balancers: b.balancers.commit(),
		nodes:     b.nodes.Commit(),
		devices:   b.devices.commit(),
		unknown:   b.unknown,
		ahead:     b.ahead,
	}
	if !b.variant {
		next.log, next.weight = remember(b.from.log, b.from.weight, c)
	}
	return next
}

// remember appends c to log without changing what an older snapshot sees of it, and returns the total weight. Old changes
// are dropped only once there are twice as many as needed, so the cost is constant on average.
func remember(log []Change, weight int, c Change) ([]Change, int) {
	weight += c.weight()
	if len(log) < 2*remembered && weight <= maxWeight {
		return append(log, c), weight
	}
	keep, kept := len(log), c.weight()
	for keep > 0 && len(log)-keep < remembered-1 && kept+log[keep-1].weight() <= maxWeight/2 {
		keep--
		kept += log[keep].weight()
	}
	return append(slices.Clone(log[keep:]), c), kept
}

// SetCount counts the sets.
func (s *Snapshot) SetCount() int { return s.sets.Len() }

// PolicyCount counts the policies.
func (s *Snapshot) PolicyCount() int { return s.policies.Len() }
