package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// maxProblems is how many problems are listed.
const maxProblems = 100

// Overview is a state at a glance.
type Overview struct {
	Cluster       string           `json:"cluster,omitempty"`
	Revision      intent.Revision  `json:"revision"`
	Number        uint64           `json:"number"`
	At            time.Time        `json:"at"`   // when the snapshot was made
	Pods          int              `json:"pods"` // of the own cluster
	OtherClusters []OtherCluster   `json:"otherClusters,omitempty"`
	Policies      int              `json:"policies"`
	Sets          int              `json:"sets"`
	Services      int              `json:"services"`
	Problems      []object.Problem `json:"problems"`
	MoreProblems  int              `json:"moreProblems,omitempty"`
	CNFs          int              `json:"cnfs,omitempty"`
	DeviceIntents int              `json:"deviceIntents,omitempty"`
	// Unknown lists what is unknown because it cannot be read.
	Unknown []string `json:"unknown,omitempty"`
	// Isolation is how many pods of each namespace NetworkPolicies isolate: those with the most that none isolates first.
	Isolation      []Isolation `json:"isolation"`
	MoreNamespaces int         `json:"moreNamespaces,omitempty"`
}

// OtherCluster is another cluster of the set: its pods are peers only.
type OtherCluster struct {
	Name string `json:"name"`
	Pods int    `json:"pods"`
}

// maxNamespaces is for how many namespaces the overview counts pods.
const maxNamespaces = 100

// Isolation is how many pods of a namespace NetworkPolicies isolate. Everything may send to the others, or they to everything,
// unless a cluster-wide policy denies it.
type Isolation struct {
	Namespace string `json:"namespace"`
	Pods      int    `json:"pods"`    // with an address
	Ingress   int    `json:"ingress"` // of these, the ones isolated for ingress
	Egress    int    `json:"egress"`
}

// open counts the directions in which pods are not isolated.
func (i Isolation) open() int { return 2*i.Pods - i.Ingress - i.Egress }

// isolation counts the isolated pods of every namespace.
func (g *ground) isolation() []Isolation {
	out := []Isolation{}
	for i := range g.pods {
		p := &g.pods[i]
		if n := len(out); n == 0 || out[n-1].Namespace != p.Key.Namespace { // pods are ordered by key
			out = append(out, Isolation{Namespace: p.Key.Namespace})
		}
		of := &out[len(out)-1]
		of.Pods++
		for d, count := range map[intent.Direction]*int{intent.Ingress: &of.Ingress, intent.Egress: &of.Egress} {
			if !slices.ContainsFunc(p.classes, func(c int) bool { return !g.classes[c].Isolated(0, d) }) {
				*count++
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Isolation) int { return cmp.Compare(b.open(), a.open()) })
	return out
}

func (h *Handler) overview(_ *http.Request, b *board) (any, error) {
	s := &b.state
	out := &Overview{
		Cluster: s.Cluster, Revision: s.Snapshot.Revision(), Number: s.Number, At: s.At, Pods: b.ground().own,
		Policies: len(b.policyList()), Sets: s.Snapshot.SetCount(), Services: len(s.Objects.Services),
		Problems: []object.Problem{}, Unknown: append(world.Unknown(s.Snapshot), s.Reading.Doubts()...),
	}
	others := b.ground().others
	for _, name := range sortedKeys(others) {
		out.OtherClusters = append(out.OtherClusters, OtherCluster{name, others[name]})
	}
	for range s.Snapshot.CNFs() {
		out.CNFs++
	}
	for range s.Snapshot.DeviceIntents() {
		out.DeviceIntents++
	}
	shown, more := cut(s.Problems, maxProblems)
	out.Problems, out.MoreProblems = append(out.Problems, shown...), more
	out.Isolation, out.MoreNamespaces = cut(b.ground().isolation(), maxNamespaces)
	return out, nil
}
