package lint

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// maxSuggestions is how many misspelled labels of one policy are corrected.
const maxSuggestions = 3

// Checker judges single policies against pods and namespaces. It translates a policy, looks at the result, and removes it again, so
// its findings are what netloom would do. It is not safe for concurrent use.
type Checker struct {
	t     *translator.Translator
	costs Costs
}

// NewChecker makes a Checker that knows no pods.
func NewChecker(costs Costs) *Checker {
	return &Checker{translator.New(translator.Options{}), costs}
}

// Put adds or replaces a Pod or a Namespace.
func (c *Checker) Put(o any) error { return c.t.Put(o) }

// Remove removes a Pod or a Namespace.
func (c *Checker) Remove(kind, namespace, name string) { c.t.Remove(kind, namespace, name) }

// Policy judges a NetworkPolicy, in the order of its fields. It keeps nothing of it.
func (c *Checker) Policy(np *networkingv1.NetworkPolicy) []Finding {
	ref := object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}
	defer c.forget(ref)
	x := c.translate(ref, np)
	out := x.problems()
	spell := &speller{view: c.t.View(), left: maxSuggestions}
	if x.selectsNothing() {
		hint := spell.suggest(labelcache.PodLabel, np.Namespace, &np.Spec.PodSelector)
		out = append(out, newFinding(SelectsNothing, ref, "spec.podSelector", "selects no pod at present"+hint))
	}
	out = append(out, blocks(ref, np)...)
	out = append(out, c.costs.of(x)...)
	return append(out, c.parts(ref, np, x.selectsNothing(), spell)...)
}

// ClusterPolicy judges a cluster-wide policy. It keeps nothing of it. It knows no nodes and looks up no names, so it says nothing
// about peers of these kinds.
func (c *Checker) ClusterPolicy(kind string, o metav1.Object) []Finding {
	ref := object.Ref{Kind: kind, Name: o.GetName()}
	defer c.forget(ref)
	x := c.translate(ref, o)
	x.faults = slices.DeleteFunc(x.faults, func(p object.Problem) bool { return strings.HasSuffix(p.Field, ".domainNames") })
	return append(x.problems(), x.clusterWide(c.costs)...)
}

func (c *Checker) forget(ref object.Ref) {
	c.t.Remove(ref.Kind, ref.Namespace, ref.Name)
	c.t.Snapshot()
}

// translate returns what an object becomes, given the present pods.
func (c *Checker) translate(ref object.Ref, o metav1.Object) *translation {
	if c.t.Put(o) != nil {
		return &translation{ref: ref, snapshot: c.t.Snapshot()} // it accepts every policy
	}
	x := &translation{ref: ref, snapshot: c.t.Snapshot()}
	for p := range x.snapshot.Policies() {
		if p.Origin.Ref() == ref {
			x.policies = append(x.policies, p)
		}
	}
	x.order()
	x.faults = slices.DeleteFunc(c.t.Problems(), func(p object.Problem) bool { return p.Ref != ref })
	return x
}

// translation is what a policy became.
type translation struct {
	ref      object.Ref
	snapshot *intent.Snapshot
	policies []*intent.Policy // by direction
	faults   []object.Problem
}

func (x *translation) order() {
	slices.SortFunc(x.policies, func(p, q *intent.Policy) int { return cmp.Compare(p.Direction, q.Direction) })
}

// problems are the findings about what cannot be understood.
func (x *translation) problems() []Finding {
	var out []Finding
	for i := range x.faults {
		out = append(out, problemFinding(&x.faults[i]))
	}
	return out
}

func problemFinding(p *object.Problem) Finding {
	f := newFinding(NotUnderstood, p.Ref, p.Field, p.Message)
	f.Place = p.Place
	return f
}

// selectsNothing reports whether no pod is a subject.
func (x *translation) selectsNothing() bool {
	return len(x.policies) > 0 && x.snapshot.Set(x.policies[0].Subject).Len() == 0
}

// clusterWide judges a cluster-wide policy by what it became.
func (x *translation) clusterWide(costs Costs) []Finding {
	var out []Finding
	if x.selectsNothing() {
		out = append(out, newFinding(SelectsNothing, x.ref, "spec.subject", "selects no pod at present"))
	}
	last := ""
	for _, p := range x.policies {
		field := map[intent.Direction]string{intent.Ingress: ".from", intent.Egress: ".to"}[p.Direction]
		for i := range p.Rules {
			if r := &p.Rules[i]; r.Path != last && r.Peer.Kind == intent.PeerSet && x.isEmpty(r.Peer.Set) {
				last = r.Path // a rule of the object is several if a named port has several numbers
				out = append(out, newFinding(PeerMatchesNothing, x.ref, r.Path+field, "matches nothing at present"))
			}
		}
	}
	return append(out, costs.of(x)...)
}

// isEmpty reports whether a set contains no address.
func (x *translation) isEmpty(id intent.SetID) bool {
	set := x.snapshot.Set(id)
	return set.Len() == 0 && (set == nil || len(set.Prefixes) == 0)
}
