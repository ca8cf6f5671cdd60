package translator

import (
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
)

// remotes are the pods and namespaces of other clusters as far as the budget of their cluster goes. Those beyond it match no policy.
type remotes struct {
	ledger     *budget.Ledger
	pods       map[object.Key]*podEntry         // refused, as they would be
	namespaces map[object.Ref]*corev1.Namespace // refused
	redo       map[object.Ref]bool              // whose standing has changed
}

func newRemotes(shares budget.Shares) *remotes {
	r := &remotes{pods: map[object.Key]*podEntry{}, namespaces: map[object.Ref]*corev1.Namespace{}, redo: map[object.Ref]bool{}}
	r.ledger = budget.NewLedger(shares, budget.EndpointsOfLabel, func(ref object.Ref) { r.redo[ref] = true })
	r.ledger.Group = "cluster"
	return r
}

// len counts what is kept for objects.
func (r *remotes) len() int { return len(r.pods) + len(r.namespaces) + len(r.redo) + r.ledger.Len() }

// remoteRef is how the ledger knows an object of another cluster: those of a cluster share a budget, whatever their namespace, because
// whoever runs the cluster decides what it has.
func remoteRef(kind string, key object.Key) object.Ref {
	return object.Ref{Kind: kind, Namespace: key.Cluster, Name: key.Namespace + "/" + key.Name}
}

func keyOfRemote(ref object.Ref) object.Key {
	namespace, name, _ := strings.Cut(ref.Name, "/")
	return object.Key{Cluster: ref.Namespace, Namespace: namespace, Name: name}
}

// fits reports whether an object of another cluster is within the budget, with these labels and further items.
func (r *remotes) fits(ref object.Ref, created metav1.Time, labels map[string]string, others ...string) bool {
	delete(r.redo, ref)
	if r.ledger.Standing(ref, created) == budget.Beyond {
		return false
	}
	terms := make([]string, 0, len(labels))
	for k, v := range labels {
		terms = append(terms, unique.Make(k+"="+v).Value()) // most of them are those of other pods, too
	}
	text := 0
	for _, o := range others {
		text += len(o)
	}
	return r.ledger.Set(ref, budget.EstimateRemote(len(labels)+len(others), text), terms) == budget.Within
}

// forget removes an object.
func (r *remotes) forget(ref object.Ref) {
	r.ledger.Remove(ref)
	delete(r.redo, ref)
	delete(r.namespaces, ref)
	delete(r.pods, keyOfRemote(ref))
}

// putRemotePod puts a pod of another cluster into the label cache, as one without known labels if it does not fit in.
func (t *Translator) putRemotePod(key object.Key, created metav1.Time, is *podEntry) {
	e := is.endpoint
	others := make([]string, 0, len(e.Ports)+len(e.Addrs))
	for i := range e.Ports {
		others = append(others, e.Ports[i].Name)
	}
	for range e.Addrs {
		others = append(others, "")
	}
	if e.Opaque || t.remotes.fits(remoteRef(object.KindPod, key), created, e.Labels, others...) {
		delete(t.remotes.pods, key)
		t.putEndpoint(key, is)
		return
	}
	t.remotes.pods[key] = is
	t.putEndpoint(key, &podEntry{endpoint: opaque(e), problems: is.problems, leaving: is.leaving})
}

// opaque is an endpoint whose labels are not known.
func opaque(e *labelcache.Endpoint) *labelcache.Endpoint {
	return &labelcache.Endpoint{Key: e.Key, Addrs: e.Addrs, Node: e.Node, Opaque: true}
}

// putRemoteNamespace makes a namespace of another cluster known, if it fits in.
func (t *Translator) putRemoteNamespace(cluster string, ns *corev1.Namespace) {
	ref := remoteRef(object.KindNamespace, object.Key{Cluster: cluster, Name: ns.Name})
	if t.remotes.fits(ref, ns.CreationTimestamp, ns.Labels) {
		delete(t.remotes.namespaces, ref)
		t.cache.SetNamespace(cluster, ns.Name, t.source.InSet(cluster, ns).Labels)
		return
	}
	t.remotes.namespaces[ref] = ns
	t.cache.DeleteNamespace(cluster, ns.Name)
}

func (t *Translator) dropRemoteNamespace(cluster, name string) {
	t.remotes.forget(remoteRef(object.KindNamespace, object.Key{Cluster: cluster, Name: name}))
	t.cache.DeleteNamespace(cluster, name)
}

// limitRemotes applies the budgets of other clusters.
func (t *Translator) limitRemotes() {
	r := t.remotes
	for r.ledger.Settle(); len(r.redo) > 0; r.ledger.Settle() {
		redo := r.redo
		r.redo = map[object.Ref]bool{}
		for ref := range redo {
			t.putRemoteAgain(ref)
		}
	}
	r.ledger.Report(t.problems, t.source.Cluster, "peers", "pods and namespaces")
}

// putRemoteAgain looks again at an object whose standing has changed.
func (t *Translator) putRemoteAgain(ref object.Ref) {
	key := keyOfRemote(ref)
	if ref.Kind == object.KindNamespace {
		ns := t.remotes.namespaces[ref]
		if of := t.others[key.Cluster]; ns == nil && of != nil {
			ns = of.namespaces[key.Name]
		}
		if ns != nil {
			t.putRemoteNamespace(key.Cluster, ns)
		}
		return
	}
	is := t.remotes.pods[key]
	if is == nil {
		is = t.pods.byKey[key]
	}
	if is != nil {
		t.putRemotePod(key, t.remotes.ledger.Created(ref), &podEntry{endpoint: is.endpoint, problems: is.problems, leaving: is.leaving})
	}
}
