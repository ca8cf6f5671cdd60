package translator

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// plainLabels is the number of labels and named ports up to which a pod does not count against the budget of its namespace.
const plainLabels = 64

// opaquePods are the pods with so many labels and named ports that they count, and those of them whose labels exceed a budget. The latter
// are opaque: isolated, selected by no policy and a peer in none.
type opaquePods struct {
	most   int // labels and named ports of one pod
	ledger *budget.Ledger
	large  map[object.Ref]*corev1.Pod // that count
	redo   map[object.Ref]bool        // of these, those whose standing has changed
	opaque map[object.Ref]bool
}

func newOpaquePods(limits budget.Limits, shares budget.Shares) *opaquePods {
	o := &opaquePods{
		most:  cmp.Or(limits[budget.Labels], budget.Default()[budget.Labels]),
		large: map[object.Ref]*corev1.Pod{}, redo: map[object.Ref]bool{}, opaque: map[object.Ref]bool{},
	}
	o.ledger = budget.NewLedger(shares, nil, func(ref object.Ref) { o.redo[ref] = true })
	return o
}

// len counts what is kept for pods.
func (o *opaquePods) len() int { return len(o.large) + len(o.redo) + len(o.opaque) + o.ledger.Len() }

// limit makes an endpoint opaque if its labels and named ports exceed a budget.
func (t *Translator) limit(key object.Key, pod *corev1.Pod, e *labelcache.Endpoint, faults *field.Faults) {
	ref, size := t.podRef(key), len(e.Labels)+len(e.Ports)
	if size <= plainLabels {
		t.unlimit(ref)
		return
	}
	because := t.opaque.beyond(e)
	if because != "" {
		t.unlimit(ref)
	} else if t.opaque.large[ref] = pod; t.standing(ref, pod, size) != budget.Within {
		because = fmt.Sprintf("the pods of namespace %s with more than %d labels and named ports exceed their budget, and this is one of the newest",
			ref.Namespace, plainLabels)
	}
	if because == "" {
		t.setOpaque(ref, false)
		return
	}
	faults.Add("metadata.labels", "%s; no policy selects it, and it is isolated in both directions", because)
	*e = *opaque(e)
	t.setOpaque(ref, true)
}

// beyond says why an endpoint exceeds the budget of one pod; "" if it does not.
func (o *opaquePods) beyond(e *labelcache.Endpoint) string {
	if size := len(e.Labels) + len(e.Ports); size > o.most {
		return fmt.Sprintf("it has %d labels and named ports, more than %d, the limit for one pod", size, o.most)
	}
	return ""
}

func (t *Translator) standing(ref object.Ref, pod *corev1.Pod, size int) budget.Standing {
	standing := t.opaque.ledger.Standing(ref, pod.CreationTimestamp)
	if standing == budget.Beyond {
		return standing
	}
	return t.opaque.ledger.Set(ref, budget.Estimate(budget.Labels, size), nil)
}

// unlimit forgets that a pod has many labels.
func (t *Translator) unlimit(ref object.Ref) {
	t.opaque.ledger.Remove(ref)
	delete(t.opaque.large, ref)
	delete(t.opaque.redo, ref)
	t.setOpaque(ref, false)
}

func (t *Translator) setOpaque(ref object.Ref, is bool) {
	if is {
		t.opaque.opaque[ref] = true
	} else {
		delete(t.opaque.opaque, ref)
	}
}

// limitPods applies the budgets of namespaces to pods.
func (t *Translator) limitPods() {
	for t.opaque.ledger.Settle(); len(t.opaque.redo) > 0; t.opaque.ledger.Settle() {
		redo := t.opaque.redo
		t.opaque.redo = map[object.Ref]bool{}
		for ref := range redo {
			if pod := t.opaque.large[ref]; pod != nil {
				t.putPod(pod)
			}
		}
	}
	t.opaque.ledger.Report(t.problems, t.source.Cluster, "pods", "labels and named ports of pods")
	t.policies.IsolateOpaque(len(t.opaque.opaque) > 0)
}
