package ovn

import (
	"cmp"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// group is what one subject renders to: the ACLs of its port group, and what they refer to.
type group struct {
	subject intent.SetID
	acls    nb.Rows // by UUID
	peers   map[addressSetRef]bool
	meters  map[uint32]bool
	also    map[string]map[string]bool // further sources of an ACL, by its UUID, see notes
	sharers sharers                    // of a shared group; nil for others
	pieces  map[*intent.Policy]*group  // what it has of each of several policies, see renderer.piece; not changed any more
}

// addressSetRef names one address set row.
type addressSetRef struct {
	set    intent.SetID
	family intent.Families
}

// portGroupRef names the row of the port group of a set in model.bare: it is of no family.
func portGroupRef(set intent.SetID) addressSetRef { return addressSetRef{set: set} }

func newGroup(subject intent.SetID) *group {
	return &group{subject: subject, acls: nb.Rows{}, peers: map[addressSetRef]bool{}, meters: map[uint32]bool{}}
}

// subjectsOf lists the sets whose port groups have ACLs of p.
func subjectsOf(p *intent.Policy) []intent.SetID {
	subjects := []intent.SetID{p.Subject}
	seen := map[intent.SetID]bool{p.Subject: true}
	for i := range p.Rules {
		if s := subjectOf(p, &p.Rules[i]); !seen[s] {
			seen[s] = true
			subjects = append(subjects, s)
		}
	}
	return subjects
}

// hasACLs reports whether there are ACLs of a policy alone: for its rules, or to log what it drops.
func hasACLs(p *intent.Policy) bool {
	return len(p.Rules) > 0 || p.Isolates && p.Log.Deny != intent.SeverityNone
}

func subjectOf(p *intent.Policy, rule *intent.Rule) intent.SetID {
	return cmp.Or(rule.Subject, p.Subject)
}

// size returns how many rows there are for the group besides its port group and what it shares with others.
func (g *group) size() int {
	if len(g.also) > 0 {
		return len(g.acls) + 1
	}
	return len(g.acls)
}

// share adds one more source to a row. The first in order gives the row its name.
func (g *group) share(acl *nb.Row, origin string) {
	if origin == acl.Origin {
		return
	}
	if g.also == nil {
		g.also = map[string]map[string]bool{}
	}
	if g.also[acl.UUID] == nil {
		g.also[acl.UUID] = map[string]bool{}
	}
	g.also[acl.UUID][origin] = true
}
