package backendtest

import (
	"slices"
	"testing"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// CNF is a target that is a CNF, which is less than a database: it sees packets, but knows no endpoints. The contract
// does not require what such a target cannot do:
//
//   - Snapshots have its CNF, every policy is for its scope, and there are no load balancers and nodes, which are for
//     other targets; so no flow goes to a VIP.
//   - Endpoints and probes are of its Families.
//   - Flows are judged only by their addresses. An address that several endpoints have counts as one party.
//   - It has no transactions and no fields with many values. One event may take several writes and verbs other than
//     Mutate, as long as it is a small part of what is owned. What a plan opens and cuts is checked after every write as
//     well.
type CNF interface {
	// CNF returns the CNF of every snapshot.
	CNF() *intent.CNF
	// Families returns the address families of its packets.
	Families() intent.Families
}

// cnfOf returns the target as a CNF, nil if it is not one.
func cnfOf(t *testing.T, fresh Factory) CNF {
	t.Helper()
	e, _ := fresh(t).(CNF)
	return e
}

// see returns the part of s that the target can express.
func (c *contract) see(s *State) *State {
	if c.stepwise {
		return Stepped(s)
	}
	if c.cnf == nil {
		return s
	}
	seen := *s
	seen.LoadBalancers, seen.Nodes = nil, nil
	seen.CNFs = []*intent.CNF{c.cnf.CNF()}
	seen.Endpoints = slices.Clone(s.Endpoints)
	for i := range seen.Endpoints {
		e := &seen.Endpoints[i]
		e.Addrs = nil
		for _, a := range s.Endpoints[i].Addrs {
			if c.cnf.Families().Has(intent.FamilyOf(a)) {
				e.Addrs = append(e.Addrs, a)
			}
		}
	}
	seen.Policies = PoliciesFor(s, c.cnf.CNF().Scope)
	return &seen
}

// PoliciesFor returns the policies of s as CNFs of a scope may have them: none of an ordered tier.
func PoliciesFor(s *State, scope intent.Scope) []intent.Policy {
	var out []intent.Policy
	for _, p := range s.Policies {
		if !p.Tier.Ordered() {
			p.CNFs, p.Tier = scope, intent.TierNetworkPolicy
			out = append(out, p)
		}
	}
	return out
}

// probes returns those of Probes that the target can judge.
func (c *contract) probes(states ...*State) []intent.Flow {
	flows := Probes(states...)
	if c.stepwise {
		flows = slices.DeleteFunc(flows, func(f intent.Flow) bool { return besideFrontends(f, states) })
	}
	if c.cnf == nil {
		return flows
	}
	known := map[intent.Flow]bool{}
	return slices.DeleteFunc(flows, func(f intent.Flow) bool {
		f.Src.Key, f.Dst.Key, f.Node = object.Key{}, object.Key{}, ""
		twice := known[f]
		known[f] = true
		return twice || !c.cnf.Families().Has(intent.FamilyOf(f.Src.Addr))
	})
}

// A CNF takes many similar writes, and judging a packet means walking through its rules, so only some of both are
// checked, different ones each time.
const (
	fewerFlows  = 41
	fewerWrites = 4
)

// some returns flows, or for a CNF those that are checked the n-th time.
func (c *contract) some(flows []intent.Flow, n int) []intent.Flow {
	if c.cnf == nil {
		return flows
	}
	var out []intent.Flow
	for i := n % fewerFlows; i < len(flows); i += fewerFlows {
		out = append(out, flows[i])
	}
	return out
}

// following returns which write fails after the k-th did: the next one or a later one, if there are many.
func (c *contract) following(k int) int {
	if c.cnf == nil && !c.stepwise || k < fewerWrites {
		return k + 1
	}
	return k + k*k/fewerWrites
}

// advanceCNFs gives b the CNFs of s.
func advanceCNFs(b *intent.Builder, from *intent.Snapshot, s *State) {
	for _, g := range s.CNFs {
		if from.CNF(g.ID) != g {
			b.PutCNF(g)
		}
	}
	for g := range from.CNFs() {
		if !slices.Contains(s.CNFs, g) {
			b.DropCNF(g.ID)
		}
	}
}

// anonymous returns f with nothing but its addresses if the target knows no more.
func anonymous(target Target, f intent.Flow) intent.Flow {
	if _, is := target.(CNF); is {
		f.Src.Key, f.Dst.Key, f.Node = object.Key{}, object.Key{}, ""
	}
	return f
}
