package backendtest

import (
	"slices"
	"testing"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// CNF is a target that is a CNF, and less than a database: packets come by, but it knows no
// endpoints. The contract lets go of what that cannot be held against:
//
//   - Snapshots have its CNF, every policy is for the scope of that, and there are no load balancers and nodes, which
//     is for others; so nothing is asked about VIPs.
//   - Endpoints and probes are of its Families.
//   - Flows are judged by their addresses alone. An address that several endpoints hold is one thing.
//   - It has no transactions and no fields of many values. One event may be several writes and other verbs than Mutate,
//     as long as it is a small part of what is owned. What a plan opens and cuts is looked at after every write as well.
type CNF interface {
	// CNF is the CNF of every snapshot.
	CNF() *intent.CNF
	// Families are those of packets.
	Families() intent.Families
}

// cnfOf is the target as a CNF, nil when it is none.
func cnfOf(t *testing.T, fresh Factory) CNF {
	t.Helper()
	e, _ := fresh(t).(CNF)
	return e
}

// see is s as the target can be asked for it.
func (c *contract) see(s *State) *State {
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
	seen.Policies = slices.Clone(s.Policies)
	for i := range seen.Policies {
		seen.Policies[i].CNFs = c.cnf.CNF().Scope
	}
	return &seen
}

// probes are Probes as the target can be asked about them.
func (c *contract) probes(states ...*State) []intent.Flow {
	flows := Probes(states...)
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

// A CNF's writes are many and alike, and to ask it about a packet is to walk through its rules. So of either only some are
// looked at, others each time.
const (
	fewerFlows  = 41
	fewerWrites = 4
)

// some is flows, or those of a CNF that it is asked about the n-th time.
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

// following is which write goes wrong after the k-th did: the next, or one further on.
func (c *contract) following(k int) int {
	if c.cnf == nil || k < fewerWrites {
		return k + 1
	}
	return k + k*k/fewerWrites
}

// advanceCNFs makes the CNFs of b those of s.
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

// anonymous is a flow of which only the addresses are known, where the target knows no more.
func anonymous(target Target, f intent.Flow) intent.Flow {
	if _, is := target.(CNF); is {
		f.Src.Key, f.Dst.Key, f.Node = object.Key{}, object.Key{}, ""
	}
	return f
}
