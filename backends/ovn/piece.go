package ovn

import (
	"cmp"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// A piece is the part of a group that comes from one policy, or from none, as isolation does: ACLs and what they refer to. It is immutable. A group is
// put together from pieces, so that a change of one policy does not render the others.
type piece struct {
	policy *intent.Policy // nil if it is of none
	// dependent is whether the rows of the policy depend on more than the policy, see isIndependent.
	dependent bool
	rows      []*nb.Row // ACLs, by UUID
	peers     []addressSetRef
	meters    []uint32
	also      map[string][]string // further rules of the policy that an ACL stands for, by its UUID
}

// id returns the ID of the policy, "" if there is none.
func (p *piece) id() intent.PolicyID {
	if p.policy == nil {
		return ""
	}
	return p.policy.ID
}

// row returns an ACL; nil if the piece does not have it.
func (p *piece) row(uuid string) *nb.Row {
	i, there := slices.BinarySearchFunc(p.rows, uuid, func(r *nb.Row, uuid string) int { return cmp.Compare(r.UUID, uuid) })
	if !there {
		return nil
	}
	return p.rows[i]
}

// comparePieces orders those that have the same ACL: the first gives it its name. That is the oldest policy, as a new one then does not change
// the row.
func comparePieces(a, b *piece) int {
	if a.policy == nil || b.policy == nil {
		return cmp.Compare(a.id(), b.id())
	}
	return cmp.Or(cmp.Compare(a.policy.Created, b.policy.Created), cmp.Compare(a.policy.ID, b.policy.ID))
}

// isIndependent reports whether the rows of a policy depend on the policy alone and nothing has to be reported about it. Cluster-wide policies
// have a place among others; the rows of a denial depend on the addresses from which pods reach themselves. A change in how peers match
// causes a read-back (see Backend.changesSince).
func isIndependent(p *intent.Policy) bool {
	return p.Tier == intent.TierNetworkPolicy && !slices.ContainsFunc(p.Rules, func(rule intent.Rule) bool {
		return rule.Action != intent.Allow || inexpressible(&rule) != ""
	})
}

// draft collects what a piece is to have.
type draft struct {
	subject intent.SetID
	acls    nb.Rows // by UUID
	peers   map[addressSetRef]bool
	meters  map[uint32]bool
	also    map[string][]string // see piece
}

func newDraft(subject intent.SetID) *draft {
	return &draft{subject: subject, acls: nb.Rows{}, peers: map[addressSetRef]bool{}, meters: map[uint32]bool{}}
}

// share adds one more rule to an ACL.
func (d *draft) share(with *nb.Row, acl *nb.ACL) {
	if acl.Origin == with.Origin {
		return
	}
	if d.also == nil {
		d.also = map[string][]string{}
	}
	d.also[with.UUID] = append(d.also[with.UUID], acl.IDs[nb.KeyRule])
}

// piece returns the finished piece of a policy, which may be nil.
func (d *draft) piece(of *intent.Policy) *piece {
	return &piece{
		policy: of,
		rows:   slices.SortedFunc(maps.Values(d.acls), func(a, b *nb.Row) int { return cmp.Compare(a.UUID, b.UUID) }),
		peers:  slices.Collect(maps.Keys(d.peers)),
		meters: slices.Collect(maps.Keys(d.meters)),
		also:   d.also,
	}
}

// group renders the group of subject, which may have no ACLs.
func (r *renderer) group(subject intent.SetID, policies []*intent.Policy) *group {
	var pieces []*piece
	if p := r.base(subject); p != nil {
		pieces = append(pieces, p)
	}
	for _, policy := range policies {
		if p := r.piece(subject, policy); p != nil {
			pieces = append(pieces, p)
		}
	}
	return groupOf(subject, pieces...)
}

// base renders what the group of subject has of no policy; nil if that is nothing.
func (r *renderer) base(subject intent.SetID) *piece {
	d := newDraft(subject)
	for _, direction := range intent.Directions() {
		if subject == intent.IsolatedSet(direction) && r.want.Set(subject) != nil {
			r.isolate(d, direction)
		}
		if subject == intent.StagedSet(direction) && r.want.Set(subject) != nil {
			r.logStaged(d, direction)
		}
	}
	if len(d.acls) == 0 {
		return nil
	}
	return d.piece(nil)
}

// piece renders what the group of subject has of a policy; nil if that is nothing and stays so.
func (r *renderer) piece(subject intent.SetID, p *intent.Policy) *piece {
	d := newDraft(subject)
	r.policy(d, p)
	independent := r.isIndependent(p)
	if len(d.acls) == 0 && independent {
		return nil
	}
	out := d.piece(p)
	out.dependent = !independent
	return out
}

// isIndependent is isIndependent, determined once for each policy: there may be as many subjects as rules.
func (r *renderer) isIndependent(p *intent.Policy) bool {
	is, known := r.independent[p]
	if !known {
		if r.independent == nil {
			r.independent = map[*intent.Policy]bool{}
		}
		is = isIndependent(p)
		r.independent[p] = is
	}
	return is
}
