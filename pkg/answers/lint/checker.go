package lint

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/answers/precedence"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// maxSuggestions is how many misspelled labels of one policy are corrected.
const maxSuggestions = 3

// maxComparisons is how many rules, pods and addresses of others a single policy is compared with.
const maxComparisons = precedence.Budget / 4

// Checker judges single policies against pods, namespaces and other policies. It translates a policy, looks at the result, and
// restores what was before, so its findings are what netloom would do. It is not safe for concurrent use.
type Checker struct {
	t        *translator.Translator
	costs    Costs
	policies map[object.Ref]metav1.Object // that exist
	staging  map[string]map[string]string // the annotations of namespaces, by name
	hosts    *hostPods
	labels   *vocabulary

	makers    *Makers         // nil if all pods are known
	inhabited map[string]bool // the namespaces with pods; they matter with makers only
}

// NewChecker makes a Checker that knows no objects.
func NewChecker(costs Costs) *Checker { return newChecker(costs, translator.Options{}) }

// newBriefChecker makes a Checker for many policies, after which it is gone. It keeps what they select.
func newBriefChecker(costs Costs) *Checker {
	return newChecker(costs, translator.Options{KeepSets: true, Undivided: costs.MaxFlows == 0})
}

func newChecker(costs Costs, opts translator.Options) *Checker {
	return &Checker{
		t: translator.New(opts), costs: costs, policies: map[object.Ref]metav1.Object{},
		staging: map[string]map[string]string{}, hosts: newHostPods(), labels: &vocabulary{},
	}
}

// CheckerKinds lists the kinds of objects that a Checker holds.
func CheckerKinds() []string {
	return []string{
		object.KindPod, object.KindNamespace, object.KindNetworkPolicy, object.KindClusterNetworkPolicy, object.KindAdminNetworkPolicy,
		object.KindBaselineAdminNetworkPolicy,
	}
}

// Put adds or replaces an object of one of CheckerKinds.
func (c *Checker) Put(kind string, o metav1.Object) error {
	if object.IsPolicy(kind) {
		c.policies[object.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = o
	}
	if kind == object.KindNamespace {
		c.staging[o.GetName()] = o.GetAnnotations()
	}
	c.hosts.put(o)
	c.relabel(kind)
	return c.t.Put(o)
}

// Remove removes an object of one of CheckerKinds.
func (c *Checker) Remove(ref object.Ref) {
	delete(c.policies, ref)
	if ref.Kind == object.KindNamespace {
		delete(c.staging, ref.Name)
	}
	c.hosts.remove(ref)
	c.relabel(ref.Kind)
	c.t.Remove(ref.Kind, ref.Namespace, ref.Name)
}

// relabel forgets the labels that exist when an object with labels changes.
func (c *Checker) relabel(kind string) {
	if !object.IsPolicy(kind) {
		c.labels = &vocabulary{}
	}
}

// Prepare translates what changed, so that the next policy need not wait for that.
func (c *Checker) Prepare() { c.t.Snapshot() }

// Judgment is what a Checker found.
type Judgment struct {
	Findings []Finding
	// Incomplete means that the policy was not compared with all others, since there are too many rules, or pods.
	Incomplete bool
}

// Policy judges a NetworkPolicy, in the order of its fields; one that is staged as if it were enforced. It keeps nothing of it.
func (c *Checker) Policy(np *networkingv1.NetworkPolicy) Judgment {
	ref := object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}
	defer c.restore(ref)
	if c.isStaged(np) {
		np = np.DeepCopy()
		enforce(np)
	}
	x := c.translate(ref, np)
	out := x.problems()
	spell := &speller{view: c.t.View(), vocabulary: c.labels, left: maxSuggestions}
	if x.selectsNothing() {
		out = append(out, c.unselected(ref, np, spell))
	}
	out = append(out, blocks(ref, np)...)
	out = append(out, c.costs.of(x)...)
	ordered, incomplete := x.ordered(true)
	out = append(out, ordered...)
	return Judgment{append(out, c.parts(ref, np, x.selectsNothing(), spell)...), incomplete}
}

// ClusterPolicy judges a cluster-wide policy. It does not store the policy. It knows no nodes and does not resolve names, so it reports
// nothing about peers of these kinds.
func (c *Checker) ClusterPolicy(kind string, o metav1.Object) Judgment {
	ref := object.Ref{Kind: kind, Name: o.GetName()}
	defer c.restore(ref)
	if staged, ok := o.(runtime.Object); ok && object.IsStaged(o.GetAnnotations(), nil) {
		o, _ = staged.DeepCopyObject().(metav1.Object) // every policy is one
		enforce(o)
	}
	x := c.translate(ref, o)
	x.faults = slices.DeleteFunc(x.faults, func(p object.Problem) bool { return strings.HasSuffix(p.Field, ".domainNames") })
	ordered, incomplete := x.ordered(!hasUnknownPeers(o))
	return Judgment{slices.Concat(x.problems(), x.clusterWide(c.costs, c.makers), ordered), incomplete}
}

// restore puts the policy that exists, if there is one, in place of one that was judged.
func (c *Checker) restore(ref object.Ref) {
	if o, exists := c.policies[ref]; !exists || c.t.Put(o) != nil {
		c.t.Remove(ref.Kind, ref.Namespace, ref.Name)
	}
	c.t.Snapshot()
}

// ordered finds rules that have no effect because others take precedence. Egress as a whole is judged only if all peers are known.
func (x *translation) ordered(known bool) (out []Finding, incomplete bool) {
	if !x.snapshot.Tiered() {
		return nil, false
	}
	report := precedence.Of(x.snapshot, x.ref, maxComparisons)
	for i := range report.Findings {
		if f := &report.Findings[i]; known || f.Kind != precedence.Overridden || f.Direction != intent.Egress {
			out = append(out, orderFinding(x.snapshot, x.ref, f))
		}
	}
	return out, report.Incomplete
}

// hasUnknownPeers reports whether a policy has peers that match something unknown to a Checker. Only egress peers can be such.
func hasUnknownPeers(o metav1.Object) bool {
	switch p := o.(type) {
	case *policyv1alpha2.ClusterNetworkPolicy:
		return slices.ContainsFunc(p.Spec.Egress, func(r policyv1alpha2.ClusterNetworkPolicyEgressRule) bool {
			return slices.ContainsFunc(r.To, func(to policyv1alpha2.ClusterNetworkPolicyEgressPeer) bool {
				return to.Nodes != nil || len(to.DomainNames) > 0
			})
		})
	case *policyv1alpha1.AdminNetworkPolicy:
		return slices.ContainsFunc(p.Spec.Egress, func(r policyv1alpha1.AdminNetworkPolicyEgressRule) bool {
			return slices.ContainsFunc(r.To, func(to policyv1alpha1.AdminNetworkPolicyEgressPeer) bool {
				return to.Nodes != nil || len(to.DomainNames) > 0
			})
		})
	case *policyv1alpha1.BaselineAdminNetworkPolicy:
		return slices.ContainsFunc(p.Spec.Egress, func(r policyv1alpha1.BaselineAdminNetworkPolicyEgressRule) bool {
			return slices.ContainsFunc(r.To, func(to policyv1alpha1.BaselineAdminNetworkPolicyEgressPeer) bool { return to.Nodes != nil })
		})
	default:
		return false
	}
}

// translate returns what an object becomes, given the present pods.
func (c *Checker) translate(ref object.Ref, o metav1.Object) *translation {
	if c.t.Put(o) != nil {
		return &translation{ref: ref, snapshot: c.t.Snapshot()} // it accepts every policy
	}
	x := &translation{ref: ref, snapshot: c.t.Snapshot()}
	of := intent.Origin{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	for _, d := range intent.Directions() {
		if p := x.snapshot.Policy(intent.NewPolicyID(of, d)); p != nil {
			x.policies = append(x.policies, p)
		}
	}
	x.faults = c.t.ProblemsOf(ref)
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

// clusterWide judges a cluster-wide policy by what it became. With makers there may be pods that are not known.
func (x *translation) clusterWide(costs Costs, makers *Makers) []Finding {
	missing := func(rule, field, message string) Finding {
		if makers != nil {
			return newFinding(UnknownPods, x.ref, field, message+" that is known, but perhaps pods of other namespaces")
		}
		return newFinding(rule, x.ref, field, message+" at present")
	}
	var out []Finding
	if x.selectsNothing() {
		out = append(out, missing(SelectsNothing, "spec.subject", "selects no pod"))
	}
	last := ""
	for _, p := range x.policies {
		field := map[intent.Direction]string{intent.Ingress: ".from", intent.Egress: ".to"}[p.Direction]
		for i := range p.Rules {
			if r := &p.Rules[i]; r.Path != last && r.Peer.Kind == intent.PeerSet && x.isEmpty(r.Peer.Set) {
				last = r.Path // a rule of the object is several if a named port has several numbers
				out = append(out, missing(PeerMatchesNothing, r.Path+field, "matches nothing"))
			}
		}
	}
	return append(out, costs.of(x)...)
}

// isEmpty reports whether a set contains no address, and no name whose addresses DNS knows.
func (x *translation) isEmpty(id intent.SetID) bool {
	set := x.snapshot.Set(id)
	return set.Len() == 0 && (set == nil || len(set.Prefixes)+len(set.Hosts) == 0)
}
