package connections

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Report is what is allowed. Everything that it does not list is denied, or left out by the filter.
type Report struct {
	// Groups are the ends of connections, each in one group, in the order of their first members; those outside come last. Without a filter,
	// workloads without connections are among them.
	Groups []Group `json:"groups"`
	// Connections are what passes between groups, in their order; none between two groups outside, on which no policy decides.
	Connections []Connection `json:"connections"`
	// NodeAccess means that there are nodes, which reach the pods that run on them whatever policies say. That is not among Connections.
	NodeAccess bool `json:"nodeAccess,omitempty"`
	// Unaddressed are the pods that are not listed because they have no address, in order.
	Unaddressed []string `json:"unaddressed,omitempty"`
	// Undecided are the other clusters whose pods are listed: their own policies are not considered.
	Undecided []string `json:"undecided,omitempty"`

	spaces map[string]int // all ends by namespace, also those that the filter leaves out
}

// Group is ends that allow the same with all others: workloads and pods, or addresses outside.
type Group struct {
	ID      int            `json:"id"`                // from 1
	Ends    []End          `json:"ends,omitempty"`    // by name
	Outside []netip.Prefix `json:"outside,omitempty"` // addresses that belong to no pod; the fewest prefixes, in order
	pods    int
}

// End is a workload all of whose pods allow the same, or a single pod.
type End struct {
	// Name is namespace/kind/name of a workload, such as shop/deploy/web, or namespace/name of a pod, with the cluster before it if that is
	// another one.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Pods is the number of its pods; 0 if it is not known how many a cluster would create.
	Pods int `json:"pods,omitempty"`
	// Keys are its pods, with those that stand for others, in order; at least one.
	Keys []object.Key `json:"-"`
}

// Connection is what passes from each end of one group to each of another, or to each other one of the same group. A pod is not its own
// peer.
type Connection struct {
	From  int    `json:"from"` // the ID of a group
	To    int    `json:"to"`
	Ports string `json:"ports"` // in the format of Ports
	// Family is IPv4 or IPv6 if ends with both allow different ports over the two; "" otherwise.
	Family string `json:"family,omitempty"`

	traffic *reach.Traffic
}

// Traffic is what Ports formats.
func (c *Connection) Traffic() reach.Traffic {
	if c.traffic == nil {
		return reach.Traffic{}
	}
	return *c.traffic
}

// Filter says which connections to list. The zero value is all.
type Filter struct {
	From, To []world.End   // the sources and destinations; nil means all
	Of       []world.End   // one of them is the source or the destination; nil means any
	Port     reach.Traffic // only what is in it is listed; empty means all
	// Policed leaves out pairs of ends on which no policy decides: none selects the source for egress or the destination for ingress.
	Policed bool
}

// all reports whether nothing is left out.
func (f *Filter) all() bool {
	return f.From == nil && f.To == nil && f.Of == nil && f.Port.Empty() && !f.Policed
}

// PortFilter is the traffic to a port.
func PortFilter(p name.Port) reach.Traffic {
	if p.Protocol == intent.ICMP {
		return reach.Traffic{Other: true}
	}
	return reach.TrafficOf(intent.Ports{Ranges: []intent.PortRange{{Protocol: p.Protocol, First: p.Number, Last: p.Number}}})
}

// Of lists what a state allows.
func Of(w *world.World, f Filter) Report {
	s := newSurvey(w, &f)
	m := newMatrix(s)
	out := Report{Unaddressed: s.unaddressed, Undecided: s.undecided, NodeAccess: s.nodes, spaces: s.spaces()}
	out.Groups, out.Connections = m.list()
	return out
}

// group finds a group by its ID.
func (r *Report) group(id int) *Group {
	if id < 1 || id > len(r.Groups) {
		return nil
	}
	return &r.Groups[id-1]
}

func sortEnds(ends []End) {
	slices.SortFunc(ends, func(a, b End) int { return cmp.Compare(a.Name, b.Name) })
}

// Empty reports whether there is no pod whose connections could be listed.
func (r *Report) Empty() bool { return len(r.spaces) == 0 }
