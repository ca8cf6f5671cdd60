package advice

import (
	"fmt"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
)

// most is how many warnings one policy gets.
const most = 10

// Adviser holds the objects that policies are judged by. New makes one. All methods are safe for concurrent use.
type Adviser struct {
	mu      sync.Mutex
	checker *lint.Checker
}

// New makes an Adviser that knows no objects.
func New(costs lint.Costs) *Adviser { return &Adviser{checker: lint.NewChecker(costs)} }

// Kinds lists the kinds of objects that an Adviser holds.
func Kinds() []string { return lint.CheckerKinds() }

// Put adds or replaces an object of one of Kinds.
func (a *Adviser) Put(kind string, o metav1.Object) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.checker.Put(kind, o)
}

// Remove removes an object of one of Kinds.
func (a *Adviser) Remove(ref object.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checker.Remove(ref)
}

// Prepare translates what changed, so that the next review need not wait for that.
func (a *Adviser) Prepare() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checker.Prepare()
}

// Advise lists what the author of a policy may not have meant. It keeps nothing of the policy.
func (a *Adviser) Advise(np *networkingv1.NetworkPolicy) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return warnings(object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}, np, a.checker.Policy(np))
}

// AdviseCluster is Advise for cluster-wide policies of a kind.
func (a *Adviser) AdviseCluster(kind string, o metav1.Object) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return warnings(object.Ref{Kind: kind, Name: o.GetName()}, o, a.checker.ClusterPolicy(kind, o))
}

// warnings formats what the annotation of a policy does not accept of some findings, and what is wrong with the annotation.
func warnings(ref object.Ref, o metav1.Object, judged lint.Judgment) []string {
	ignores, faults := lint.IgnoresOf(ref, o.GetAnnotations(), object.Place{})
	var out []string
	for _, f := range append(lint.Accept(judged.Findings, ignores), faults...) {
		if f.Ignored == "" {
			out = append(out, f.Text())
		}
	}
	if judged.Incomplete {
		out = append(out, "spec: not compared with all other policies: there are too many rules, or pods, to compare")
	}
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}
